#include "dbd/config/dbd_config.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include "common/auth/auth_config.hpp"
#include "common/base/text.hpp"
#include "common/config_files/read_source.hpp"
#include "common/net/address.hpp"
#include "common/os/host_name.hpp"
#include "dbd/archive/purge_rules.hpp"

namespace sluice::dbd {
namespace {

namespace fs = std::filesystem;

Status resolve_user(DbdConfig& config) {
  std::string room(16384, '\0');
  passwd entry{};
  passwd* found = nullptr;
  const auto number = to_number<uint32_t>(config.slurm_user);
  if (number) getpwuid_r(*number, &entry, room.data(), room.size(), &found);
  else getpwnam_r(config.slurm_user.c_str(), &entry, room.data(), room.size(), &found);
  if (found == nullptr && !number)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: SlurmUser=\"{}\" is not valid; allowed: a user of this machine",
                               config.path, config.slurm_user));
  config.slurm_user_id = found != nullptr ? found->pw_uid : *number;
  return {};
}

}  // namespace

Result<DbdConfig> load_dbd_config(const std::string& path) {
  const auto source = read_source(path);
  if (!source) return tl::unexpected(source.error());
  const fs::path folder = fs::path(path).parent_path();
  auto parsed = parse_dbd_config(*source, [&](const std::string& name, const std::string&) {
    return read_included(folder, name);
  });
  if (!parsed) return parsed;
  DbdConfig config = std::move(*parsed);
  if (auto rules = purge_rules(config); !rules) return tl::unexpected<Error>(rules.error());
  if (auto ok = resolve_user(config); !ok) return tl::unexpected(ok.error());
  // DbdAddr is the first host's
  const std::string here = short_host_name();
  if (here == config.backup_host && here != config.host) config.address.clear();
  return config;
}

Status may_serve_here(const DbdConfig& config) {
  struct stat file {};
  if (::stat(config.path.c_str(), &file) != 0)
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: cannot be read", config.path));
  if ((file.st_mode & 077) != 0)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("slurmdbd.conf file {} should be 600 is {:o} accessible for group "
                               "or others",
                               config.path, file.st_mode & 0777));
  if (file.st_uid != 0 && file.st_uid != config.slurm_user_id)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("slurmdbd.conf file {} is owned by uid {}, not by SlurmUser ({}) or "
                               "root",
                               config.path, file.st_uid, config.slurm_user_id));
  const std::string own = short_host_name();
  for (const std::string& host : {config.host, config.backup_host}) {
    if (host.empty()) continue;
    if (host == "localhost" || iequals(host.substr(0, host.find('.')), own) ||
        net::is_own_address(host))
      return {};
  }
  return failure(
      ErrorCode::kInvalidConfig,
      fmt::format("This host not configured to run SlurmDBD ({} != {}{}{})", own, config.host,
                  config.backup_host.empty() ? "" : " | (backup) ", config.backup_host));
}

net::AuthOptions auth_options(const DbdConfig& config) {
  ClusterConfig as;
  as.config_path = config.path;
  as.auth_type = config.auth_type;
  as.auth_info = config.auth_info;
  as.slurm_user_id = config.slurm_user_id;
  return net::auth_options(as);  // of no cluster: of each
}

net::JwtSettings jwt_settings(const DbdConfig& config) {
  ClusterConfig as;
  as.auth_alt_types = config.auth_alt_types;
  as.auth_alt_parameters = config.auth_alt_parameters;
  as.state_save_location = folder_of(config);
  as.slurm_user_id = config.slurm_user_id;
  return net::jwt_settings(as);
}

}  // namespace sluice::dbd
