#include "ctld/certificate_files.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/net/certificates.hpp"
#include "common/net/tls_config.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;

constexpr auto kAuthorityLife = std::chrono::hours(24) * 3650;
constexpr auto kLife = std::chrono::hours(24) * 730;
constexpr auto kBefore = std::chrono::hours(1);  // clocks of nodes may be behind
constexpr const char* kAuthorityKey = "ca_cert_key.pem";
constexpr mode_t kPublic = 0644, kSecret = 0600;

class Writer {
 public:
  Status write(const std::string& path, const std::string& text, mode_t mode, uint32_t owner) {
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (Status ok = replace_file(path, text, {.mode = mode, .flush = true}); !ok) return ok;
    if (::geteuid() == 0 && ::chown(path.c_str(), owner, static_cast<gid_t>(-1)) != 0) {
      return failure(ErrorCode::kPathMissing,
                     fmt::format("cannot change the owner of {}: {}", path, errno_text(errno)));
    }
    written.push_back(path);
    return {};
  }
  std::vector<std::string> written;
};

Result<net::CertifiedKey> find_or_make_authority(const ClusterConfig& config,
                                                 const std::string& ca_file, Time now,
                                                 Writer& writer) {
  const std::string key_file = config.state_save_location + "/" + kAuthorityKey;
  const auto certificate = read_file(ca_file);
  const auto key = read_file(key_file);
  if (certificate && key) return net::CertifiedKey{*certificate, *key};
  if (certificate) {
    return failure(
        ErrorCode::kInvalidConfig,
        fmt::format("{} is there, but {} is not: only who has the CA's key can sign certificates",
                    ca_file, key_file));
  }
  auto made =
      net::make_authority(config.cluster_name + " CA", {now - kBefore, now + kAuthorityLife});
  if (!made) return made;
  if (Status ok = writer.write(key_file, made->key, kSecret, config.slurm_user_id); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = writer.write(ca_file, made->certificate, kPublic, config.slurm_user_id); !ok)
    return tl::unexpected(ok.error());
  return made;
}

// The key first: a daemon that reads in between finds a pair that does not fit, and waits for the
// other.
Status write_pair(const net::TlsFiles& files, const net::CertifiedKey& pair, uint32_t owner,
                  Writer& writer) {
  if (Status ok = writer.write(files.key, pair.key, kSecret, owner); !ok) return ok;
  return writer.write(files.certificate, pair.certificate, kPublic, owner);
}

// Each pair of files once, with the names that it certifies.
std::vector<std::pair<net::TlsFiles, std::vector<std::string>>> agent_pairs(
    const ClusterConfig& config) {
  std::vector<std::pair<net::TlsFiles, std::vector<std::string>>> out;
  std::set<std::string> seen;
  NodeConfig any;
  any.name = any.hostname = "%";
  const bool shared = net::agent_tls_files(config, any).certificate.find('%') == std::string::npos;
  if (shared) return {{net::agent_tls_files(config, any), {"slurmd"}}};
  for (const NodeConfig& node : config.nodes) {
    const net::TlsFiles files = net::agent_tls_files(config, node);
    if (seen.insert(files.certificate).second)
      out.push_back({files, {node.name, node.hostname.empty() ? node.name : node.hostname}});
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> make_certificates(const ClusterConfig& config, Time now) {
  Writer writer;
  const net::TlsFiles own = net::controller_tls_files(config);
  const auto authority = find_or_make_authority(config, own.ca, now, writer);
  if (!authority) return tl::unexpected(authority.error());
  const net::Validity valid{now - kBefore, now + kLife};
  std::vector<std::string> names{"slurmctld"};
  for (const ControllerHost& host : config.controllers) names.push_back(host.name);
  auto pair = net::certify(*authority, names, valid);
  if (!pair) return tl::unexpected(pair.error());
  if (Status ok = write_pair(own, *pair, config.slurm_user_id, writer); !ok)
    return tl::unexpected(ok.error());
  if (has_accounting_daemon(config)) {
    names = accounting_hosts(config);
    names.insert(names.begin(), "slurmdbd");
    pair = net::certify(*authority, names, valid);
    if (!pair) return tl::unexpected(pair.error());
    const net::TlsFiles files = net::accounting_tls_files(config);
    if (Status ok = write_pair(files, *pair, config.slurm_user_id, writer); !ok)
      return tl::unexpected(ok.error());
  }
  for (const auto& [files, of_node] : agent_pairs(config)) {
    pair = net::certify(*authority, of_node, valid);
    if (!pair) return tl::unexpected(pair.error());
    if (Status ok = write_pair(files, *pair, config.slurmd_user_id, writer); !ok)
      return tl::unexpected(ok.error());
  }
  return std::move(writer.written);
}

Result<std::vector<std::string>> make_first_certificates(const ClusterConfig& config, Time now) {
  if (!net::uses_tls(config)) return std::vector<std::string>();
  NodeConfig any;
  const net::TlsFiles own = net::controller_tls_files(config);
  const net::TlsFiles node = net::agent_tls_files(config, any);
  std::error_code ignored;
  const bool there =
      std::ranges::any_of(std::vector{own.ca, own.certificate, own.key, node.certificate, node.key},
                          [&](const std::string& file) { return fs::exists(file, ignored); });
  if (net::names_tls_files(config) || there) return std::vector<std::string>();
  return make_certificates(config, now);
}

}  // namespace sluice::ctld
