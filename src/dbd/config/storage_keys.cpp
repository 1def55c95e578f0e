// The Storage* keys of slurmdbd.conf: which database they mean.
#include <filesystem>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {
namespace {

constexpr const char* kUsualFile = "/var/lib/slurmdbd/accounting.db";
constexpr const char* kUsualName = "slurm_acct_db";

tl::unexpected<Error> bad(std::string text) {
  return failure(ErrorCode::kInvalidConfig, std::move(text));
}

Result<Storage> sqlite_storage(const DbdConfig& config) {
  const std::string path = config.storage_loc.empty() ? kUsualFile : config.storage_loc;
  if (!path.starts_with('/'))
    return bad(
        fmt::format("StorageLoc=\"{}\" is not valid; allowed: an absolute path of a file", path));
  return sqlite_file(path);
}

Status set_parameters(const DbdConfig& config, Storage& storage) {
  for (const std::string& one : config.storage_parameters) {
    const size_t equals = one.find('=');
    const std::string name = to_lower(one.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : one.substr(equals + 1);
    std::string* const place = name == "ssl_ca"     ? &storage.ssl_ca
                               : name == "ssl_cert" ? &storage.ssl_cert
                               : name == "ssl_key"  ? &storage.ssl_key
                                                    : nullptr;
    if (place == nullptr)
      return bad(fmt::format(
          "StorageParameters={} is not supported; allowed: SSL_CA, SSL_CERT and SSL_KEY, each "
          "with =PATH",
          one));
    if (!value.starts_with('/'))
      return bad(fmt::format("StorageParameters={} is not valid; allowed: an absolute path", one));
    *place = value;
  }
  if (storage.ssl_cert.empty() != storage.ssl_key.empty())
    return bad("StorageParameters: SSL_CERT and SSL_KEY belong together");
  return {};
}

}  // namespace

Result<Storage> storage_of(const DbdConfig& config) {
  if (config.storage_type == kSqliteStorage) return sqlite_storage(config);
  Storage out;
  out.engine = config.storage_type == kMariaDbStorage ? Engine::kMariaDb : Engine::kPostgresql;
  out.name = config.storage_loc.empty() ? kUsualName : config.storage_loc;
  if (out.name.find('/') != std::string::npos)
    return bad(fmt::format("StorageLoc=\"{}\" is not valid; with {} it is the name of a database",
                           out.name, config.storage_type));
  out.hosts.push_back(config.storage_host);
  if (!config.storage_backup_host.empty()) out.hosts.push_back(config.storage_backup_host);
  out.port = config.storage_port;
  // as Slurm: who runs the daemon
  out.user = config.storage_user.empty() ? config.slurm_user : config.storage_user;
  out.password = config.storage_password;
  if (auto ok = set_parameters(config, out); !ok) return tl::unexpected<Error>(ok.error());
  return out;
}

std::string folder_of(const DbdConfig& config) {
  const bool is_file = config.storage.engine == Engine::kSqlite;
  return std::filesystem::path(is_file ? config.storage.name : config.path).parent_path();
}

}  // namespace sluice::dbd
