// See client.hpp.
#include "cli/shared/client.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/config_files/load.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/os/back_off.hpp"
#include "common/net/address.hpp"
#include "common/auth/auth_config.hpp"
#include "common/net/config_fetch.hpp"
#include "common/net/rpc_client.hpp"
#include "common/net/srv_records.hpp"
#include "common/net/tls_config.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

// The controllers in their order; with a range of ports, the first one's.
std::vector<std::string> controller_addresses(const ClusterConfig& config) {
  std::vector<std::string> out;
  const std::string port = ":" + std::to_string(config.slurmctld_port);
  if (!config.slurmctld_addr.empty()) out.push_back(config.slurmctld_addr + port);
  else
    for (const ControllerHost& host : config.controllers) out.push_back(host.address + port);
  return out;
}

constexpr std::string_view kAccountingService = "Accounting/";

}  // namespace

struct Client::Parts {
  ClusterConfig config;
  // made at the first call: to the controller, and to the accounting daemon
  std::unique_ptr<net::RpcClient> rpc, accounting;
  // by address, made at the first call
  std::map<std::string, std::unique_ptr<net::RpcClient>> agents;
  std::shared_ptr<net::AuthProvider> auth;  // null: not made yet, or auth_error
  std::shared_ptr<net::TlsTrust> tls;       // null: nothing is encrypted, or not opened yet
  Error auth_error{ErrorCode::kOk, {}};
  bool nodes_read = false;
  bool keeps_asking = false;
  bool told_unresolved = false;  // said once, however often it is asked again
  bool bears_token = false;      // SLURM_JWT
  bool fetches_token = false;    // an answer holds one
  std::atomic<bool> told_exposed = false;

  void warn_of_exposure(const std::string& address) {
    if (told_exposed.exchange(true)) return;
    std::fprintf(
        stderr,
        "%s: warning: SLURM_JWT %s %s in plain text: whoever reads it on its way may use it until it expires "
        "(TLSType=tls/s2n encrypts)\n",
        program_invocation_short_name, bears_token ? "goes to" : "comes from", address.c_str());
  }
  // The service that a method is of says who answers it.
  net::RpcClient& connection(std::string_view method) {
    if (method.starts_with(kAccountingService)) {
      if (accounting == nullptr)
        accounting = connect(accounting_addresses(config), std::string(net::kAccountingDaemon));
      return *accounting;
    }
    if (rpc == nullptr) rpc = connect(controller_addresses(config), std::string(net::kController));
    return *rpc;
  }
  net::RpcClient& agent(const NodeConfig& node) {
    const std::string address = node.address + ":" + std::to_string(node.port);
    auto& known = agents[address];
    if (known == nullptr) known = connect({address}, node.name);
    return *known;
  }
  std::unique_ptr<net::RpcClient> connect(std::vector<std::string> addresses,
                                          std::string receiver) {
    if (auth == nullptr) {
      const char* token = std::getenv("SLURM_JWT");
      bears_token = token != nullptr && *token != '\0';
      auto made = bears_token ? Result<std::shared_ptr<net::AuthProvider>>(net::use_jwt(token))
                              : net::make_auth(net::auth_options(config));
      if (made) auth = *made;
      else auth_error = made.error();
    }
    if (tls == nullptr) {
      auto trust = net::tls_trust(config);
      if (trust) tls = std::move(*trust);
      else auth_error = trust.error();
    }
    net::ClientOptions options;
    options.addresses = std::move(addresses);
    options.receiver = std::move(receiver);
    options.connect_timeout = config.tcp_timeout;
    options.auth = auth;
    options.tls = tls;
    if (bears_token || fetches_token)
      options.exposes_token = [this](const std::string& address) { warn_of_exposure(address); };
    return std::make_unique<net::RpcClient>(std::move(options));
  }
  [[nodiscard]] Duration timeout_or_usual(Duration timeout) const {
    return timeout > Duration(0) ? timeout : config.message_timeout;
  }
};

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open() {
  const std::string path = readable_config_path();
  if (path.empty()) return open_from_controller();
  Result<ClusterConfig> config = load_global_config(path);
  if (!config) return tl::unexpected<Error>(config.error());
  return open(std::move(*config));
}

// This host has no slurm.conf.
Result<Client> Client::open_from_controller() {
  if (const char* named = std::getenv("SLURM_CONF"); named != nullptr && *named != '\0') {
    return failure(ErrorCode::kNotFound,
                   fmt::format("Unable to process configuration file {}: {}", named,
                               errno_text(::access(named, R_OK) != 0 ? errno : ENOENT)));
  }
  const std::string servers = config_servers({}, {});
  Result<std::vector<std::string>> addresses = std::vector<std::string>();
  if (!servers.empty()) addresses = net::parse_conf_servers(servers);
  else if (lacks_config()) addresses = net::controllers_in_dns();
  if (!addresses)
    return failure(addresses.error().code,
                   "SLURM_CONF_SERVER=" + servers + ": " + addresses.error().text);
  if (addresses->empty())
    return failure(ErrorCode::kNotFound, "Could not establish a configuration source");
  const auto expected = expected_controller();
  if (!expected) return tl::unexpected<Error>(expected.error());
  auto tls = net::local_tls_trust(kUsualConfigPath);
  if (!tls) return tl::unexpected<Error>(tls.error());
  const auto fetched = net::fetch_config({.addresses = std::move(*addresses),
                                          .config_path = kUsualConfigPath,
                                          .tls = std::move(*tls),
                                          .slurm_user = expected->slurm_user,
                                          .auth_type = expected->auth_type});
  if (!fetched) return tl::unexpected<Error>(fetched.error());
  Result<ClusterConfig> config = load_config(fetched->files, kUsualConfigPath);
  if (!config) return tl::unexpected<Error>(config.error());
  Result<Client> client = open(std::move(*config));
  client->parts_->nodes_read = true;
  return client;
}

Result<Client> Client::open(ClusterConfig config) {
  auto parts = std::make_unique<Parts>();
  parts->config = std::move(config);
  return Client(std::move(parts));
}

void Client::keep_asking(bool yes) { parts_->keeps_asking = yes; }

void Client::expect_token() { parts_->fetches_token = true; }

void Client::wait_for_answers(Duration timeout) { parts_->config.message_timeout = timeout; }

const ClusterConfig& Client::config() const { return parts_->config; }

const std::vector<NodeConfig>& Client::nodes() {
  if (!parts_->nodes_read && parts_->config.nodes.empty()) {
    Result<ClusterConfig> all = load_config(parts_->config.config_path);
    if (all) parts_->config.nodes = std::move(all->nodes);
  }
  parts_->nodes_read = true;
  return parts_->config.nodes;
}

const std::vector<NodeConfig>& Client::nodes_with_dynamic() {
  auto known = call<protocol::QueryConfigReply>(protocol::QueryConfigRequest{});
  if (!known) return nodes();
  parts_->nodes_read = true;
  parts_->config.nodes = std::move(known->config.nodes);
  return parts_->config.nodes;
}

namespace {

// A cause in the network's words is for logs; a user sees Slurm's sentence, and before it which
// name nobody knows.
Error for_user(Error error, bool& told) {
  if (error.text.find(net::kUnresolved) != std::string::npos && !std::exchange(told, true)) {
    std::fprintf(stderr, "%s: error: %s\n", program_invocation_short_name, error.text.c_str());
  }
  switch (error.code) {
    case ErrorCode::kUnreachable:
    case ErrorCode::kTimedOut: error.text.clear(); break;
    default: break;
  }
  return error;
}

}  // namespace

namespace {

// What only looks at things.
bool may_be_repeated(std::string_view path) {
  const std::string_view method = net::short_method_name(path);
  constexpr std::string_view kMethods[] = {"BatchScript", "DescribeStep", "Explain", "Ping"};
  return method.starts_with("Query") || std::ranges::find(kMethods, method) != std::end(kMethods);
}

// When to stop asking, and whether to ask again after this error; waits before it says so.
class Patience {
 public:
  Patience(bool patient, Duration message_timeout)
      : end_(Clock::now() + (patient ? message_timeout - kLastWait : Duration(0))) {}

  bool goes_on(std::string_view method, const Error& error) const {
    const bool lost = error.code == ErrorCode::kConnectionLost && may_be_repeated(method);
    const bool away = error.code == ErrorCode::kUnreachable || net::is_without_token(error);
    if ((!away && !lost) || Clock::now() >= end_) return false;
    std::this_thread::sleep_for(kBetween);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Duration kLastWait =
      std::chrono::seconds(1);  // as Slurm, whose last try is a second before the end
  static constexpr auto kBetween = std::chrono::milliseconds(500);
  Clock::time_point end_;
};

}  // namespace

Result<std::string> Client::call_bytes(std::string_view method, const std::string& request,
                                       Duration timeout) {
  const Patience patience(parts_->keeps_asking, parts_->config.message_timeout);
  while (true) {
    Result<std::string> reply = call_once(method, request, timeout);
    if (reply || !patience.goes_on(method, reply.error())) return reply;
  }
}

Status Client::stream_bytes(std::string_view method, const std::string& request,
                            const std::function<bool(std::string_view)>& take, Duration timeout) {
  const Patience patience(parts_->keeps_asking, parts_->config.message_timeout);
  bool begun = false;  // what was taken cannot be asked for again
  const auto note = [&](std::string_view bytes) { return begun = true, take(bytes); };
  while (true) {
    Status done = stream_once(method, request, note, timeout);
    if (done || begun || !patience.goes_on(method, done.error())) return done;
  }
}

Result<std::string> Client::call_once(std::string_view method, const std::string& request,
                                      Duration timeout) {
  net::RpcClient& rpc = parts_->connection(method);
  if (parts_->auth_error.code != ErrorCode::kOk) {
    return tl::unexpected<Error>(parts_->auth_error);
  }
  Result<std::string> reply = rpc.call_raw(method, request, parts_->timeout_or_usual(timeout));
  if (!reply)
    return tl::unexpected<Error>(for_user(std::move(reply.error()), parts_->told_unresolved));
  return reply;
}

Result<std::string> Client::call_node_bytes(const NodeConfig& node, std::string_view method,
                                            const std::string& request, Duration timeout) {
  net::RpcClient& rpc = parts_->agent(node);
  if (parts_->auth_error.code != ErrorCode::kOk) {
    return tl::unexpected<Error>(parts_->auth_error);
  }
  return rpc.call_raw(method, request, parts_->timeout_or_usual(timeout));
}

Result<std::unique_ptr<net::RawStream>> Client::open_bytes(std::string_view method,
                                                           const std::string& request) {
  net::RpcClient& rpc = parts_->connection(method);
  if (parts_->auth_error.code != ErrorCode::kOk) {
    return tl::unexpected<Error>(parts_->auth_error);
  }
  return rpc.open_raw(method, request);
}

Status Client::stream_once(std::string_view method, const std::string& request,
                           const std::function<bool(std::string_view)>& take, Duration timeout) {
  net::RpcClient& rpc = parts_->connection(method);
  if (parts_->auth_error.code != ErrorCode::kOk) {
    return tl::unexpected<Error>(parts_->auth_error);
  }
  auto stream = rpc.open_raw(method, request);
  if (!stream)
    return tl::unexpected<Error>(for_user(std::move(stream.error()), parts_->told_unresolved));
  const bool endless = timeout >= kNoLimit;
  const Duration wait = endless ? Duration(-1) : parts_->timeout_or_usual(timeout);
  std::string chunk;
  while (true) {
    switch ((*stream)->read(chunk, wait)) {
      case net::ReadState::kChunk:
        if (take(chunk)) break;
        (*stream)->cancel();
        return {};
      case net::ReadState::kEnd: return {};
      case net::ReadState::kNotYet: (*stream)->cancel(); return failure(ErrorCode::kTimedOut);
      case net::ReadState::kFailed:
        return tl::unexpected<Error>(for_user((*stream)->error(), parts_->told_unresolved));
    }
  }
}

Status Client::query_jobs(const protocol::QueryJobsRequest& request,
                          const std::function<bool(protocol::JobChunk&&)>& take) {
  return stream<protocol::JobChunk>(request, take);
}

Status Client::watch_job(const protocol::WatchJobRequest& request,
                         const std::function<bool(protocol::JobWatchUpdate&&)>& take) {
  return stream<protocol::JobWatchUpdate>(request, take, kNoLimit);
}

int report(std::string_view command, const Error& error) {
  const bool no_config = error.code == ErrorCode::kNotFound;
  std::fprintf(stderr, "%.*s: %s: %s\n", static_cast<int>(command.size()), command.data(),
               no_config ? "fatal" : "error", error_text(error).c_str());
  return 1;
}

}  // namespace sluice::cli
