#include "common/net/config_fetch.hpp"

#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/auth/auth_config.hpp"
#include "common/auth/crypto.hpp"
#include "common/net/rpc_client.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::net {
namespace {

tl::unexpected<Error> refuse(std::string why) {
  return failure(ErrorCode::kAuthentication, std::move(why));
}

// A host and what follows its colon, if it has one. "[::1]:6817" and "[::1]" are written so; a bare
// "::1" has no port.
struct HostPort {
  std::string_view host;
  std::string_view port;
  bool has_port = false;
};

HostPort split_host(std::string_view text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const size_t colon = bracket == std::string_view::npos ? text.find(':') : text.find(':', bracket);
  const bool bare_ipv6 = bracket == std::string_view::npos && colon != text.rfind(':');
  if (colon == std::string_view::npos || bare_ipv6) return {text, {}, false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

Result<std::string> parse_server(std::string_view text) {
  const auto refuse = [text] {
    return failure(ErrorCode::kInvalidConfig, fmt::format("\"{}\" is no HOST or HOST:PORT", text));
  };
  const HostPort parts = split_host(text);
  const auto port = parts.has_port ? to_number<uint16_t>(parts.port) : kUsualControllerPort;
  const bool closed =
      !parts.host.starts_with('[') || (parts.host.ends_with(']') && parts.host.size() > 2);
  if (parts.host.empty() || !closed || !port || *port == 0) return refuse();
  if (parts.host.find_first_of(" \t/@\"'") != std::string_view::npos) return refuse();
  const bool bare_ipv6 =
      !parts.host.starts_with('[') && parts.host.find(':') != std::string_view::npos;
  return bare_ipv6 ? fmt::format("[{}]:{}", parts.host, *port)
                   : fmt::format("{}:{}", parts.host, *port);
}

ClientOptions client_options(const ConfigServer& server, std::shared_ptr<AuthProvider> auth) {
  ClientOptions options;
  options.addresses = server.addresses;
  options.receiver = std::string(kController);
  options.auth = std::move(auth);
  options.tls = server.tls;
  options.signed_answers = options.auth != nullptr;
  return options;
}

// The socket without links, if it is root's, this user's own, or munged's, in folders where nobody
// else can put another in its place: else that one would answer instead of the daemon that is
// meant. A missing one is said to be so by who needs it.
std::optional<std::string> own_socket(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return std::nullopt;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread has begun, or asks for users
  const passwd* munge = ::getpwnam("munge");
  bool is_there = false;  // what the folder holds of the path
  for (fs::path part = real; !part.empty(); part = part.parent_path()) {
    struct stat about {};
    if (::stat(part.c_str(), &about) == 0) {
      const bool trusted = about.st_uid == 0 || about.st_uid == ::geteuid() ||
                           (munge != nullptr && about.st_uid == munge->pw_uid);
      const bool open = S_ISDIR(about.st_mode) && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
      // as in /tmp: nobody else may rename it
      const bool kept = is_there && (about.st_mode & S_ISVTX) != 0;
      if (!trusted || (open && !kept)) return std::nullopt;
      is_there = true;
    }
    if (part == part.parent_path()) break;
  }
  return real.string();
}

// Of what was told nothing is believed that could make another answer look like the controller's.
Result<std::shared_ptr<AuthProvider>> proof_for(const ConfigServer& server,
                                                const protocol::PingReply& told) {
  ClusterConfig config;
  config.config_path = server.config_path;
  config.cluster_name = told.cluster;
  config.auth_type = told.auth_type;
  const bool by_key = told.auth_type == "auth/slurm";
  // Whose the key's file may be is no secret: it stands where only this host's administrator can
  // put one.
  config.slurm_user_id = by_key ? told.slurm_user : server.slurm_user;
  if (!told.auth_socket.empty()) config.auth_info = "socket=" + told.auth_socket;
  AuthOptions options = auth_options(config);
  options.own_token_socket = true;
  if (server.holds_key) options.token_socket.clear();
  if (!by_key && ::access(options.key_file.c_str(), F_OK) == 0) {
    return refuse(
        fmt::format("it says {}, but this host has the key of auth/slurm ({}): it is not believed",
                    told.auth_type, options.key_file));
  }
  if (!by_key && server.auth_type == "auth/slurm") {
    return refuse(
        fmt::format("it says {}, but it proved itself by auth/slurm before: it is not believed",
                    told.auth_type));
  }
  if (!by_key && !options.munge_socket.empty()) {
    const auto own = own_socket(options.munge_socket);
    if (!own)
      return refuse(options.munge_socket + " is another user's, or could be: it is not asked");
    options.munge_socket = *own;
  }
  return make_auth(options);
}

struct FoundProof {
  std::shared_ptr<AuthProvider> auth;
  std::string doubt;  // what may be the reason for a refusal
};

Result<FoundProof> find_proof(const ConfigServer& server) {
  if (server.auth != nullptr) return FoundProof{server.auth, {}};
  RpcClient unproved(client_options(server, nullptr));
  const auto told = unproved.call<protocol::PingReply>(protocol::PingRequest{}, server.timeout);
  if (!told) return tl::unexpected<Error>(told.error());
  auto auth = proof_for(server, *told);
  if (!auth) return tl::unexpected<Error>(std::move(auth.error()));
  FoundProof proof{std::move(*auth), {}};
  if (told->auth_type == "auth/munge" && told->slurm_user != server.slurm_user) {
    proof.doubt = fmt::format(
        "; it says that its SlurmUser is uid {}, while this host takes it for uid {} "
        "(slurmd --conf-server-user, SLURM_CONF_SERVER_USER)",
        told->slurm_user, server.slurm_user);
  }
  return proof;
}

Result<protocol::FetchConfigReply> ask(const ConfigServer& server) {
  auto proof = find_proof(server);
  if (!proof) return tl::unexpected<Error>(std::move(proof.error()));
  RpcClient controller(client_options(server, std::move(proof->auth)));
  auto reply =
      controller.call<protocol::FetchConfigReply>(protocol::FetchConfigRequest{}, server.timeout);
  if (!reply && reply.error().code == ErrorCode::kAuthentication)
    return refuse(reply.error().text + proof->doubt);
  if (!reply) return reply;
  if (Status ok = check_fetched(*reply); !ok) return tl::unexpected<Error>(std::move(ok.error()));
  return reply;
}

}  // namespace

Result<std::vector<std::string>> parse_conf_servers(std::string_view text) {
  std::vector<std::string> addresses;
  for (const auto& part : split(text, ',')) {
    Result<std::string> address = parse_server(trim(part));
    if (!address) return tl::unexpected<Error>(std::move(address.error()));
    addresses.push_back(std::move(*address));
  }
  if (addresses.empty()) return failure(ErrorCode::kInvalidConfig, "no host is named");
  return addresses;
}

Result<protocol::FetchConfigReply> fetch_config(const ConfigServer& server) {
  auto reply = ask(server);
  if (reply) return reply;
  const std::string why = reply.error().text.empty() ? "no answer" : reply.error().text;
  return failure(reply.error().code, fmt::format("no configuration from {}: {}",
                                                 fmt::join(server.addresses, ","), why));
}

Status check_fetched(const protocol::FetchConfigReply& reply) {
  if (Status ok = check_config_files(reply.files); !ok) return ok;
  if (config_digest(reply.files) != reply.digest)
    return failure(ErrorCode::kBadRequest, "the configuration did not arrive as it was sent");
  return {};
}

std::string config_digest(const std::vector<ConfigFile>& files) {
  std::string all;
  for (const ConfigFile& file : files) all += sha256_of({file.name, file.text});
  return sha256_of({all});
}

}  // namespace sluice::net
