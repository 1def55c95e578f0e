#include "dbd/config/dbd_config.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include "common/auth/auth_config.hpp"
#include "common/base/text.hpp"
#include "common/config/conf_assign.hpp"
#include "common/config/conf_syntax.hpp"
#include "common/net/address.hpp"
#include "common/os/host_name.hpp"
#include "common/os/matching_paths.hpp"
#include "common/os/read_file.hpp"
#include "dbd/archive/purge_rules.hpp"

namespace sluice::dbd {
namespace {

namespace fs = std::filesystem;

Result<tables::ConfSource> read_source(const std::string& path) {
  auto text = read_file(path);
  if (!text) return failure(ErrorCode::kInvalidConfig, fmt::format("{}: cannot be read", path));
  if (text->find('\0') != std::string::npos)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: there is a NUL byte, which no text has", path));
  return tables::ConfSource{path, std::move(*text)};
}

Result<std::vector<tables::ConfLine>> read_lines(const std::string& path) {
  auto source = read_source(path);
  if (!source) return tl::unexpected(source.error());
  const fs::path folder = fs::path(path).parent_path();
  return tables::conf_lines(*source, [&](const std::string& name, const std::string&) {
    Result<std::vector<tables::ConfSource>> sources{std::vector<tables::ConfSource>{}};
    for (const std::string& one : matching_paths((folder / name).string())) {
      auto included = read_source(one);
      if (!included)
        return Result<std::vector<tables::ConfSource>>(tl::unexpected<Error>(included.error()));
      sources->push_back(std::move(*included));
    }
    return sources;
  });
}

void set_defaults(DbdConfig& config) {
  for (const auto& row : dbd_keys()) {
    if (row.set == nullptr || row.fallback.empty()) continue;
    const auto value = tables::parse_conf_value(tables::rule_of(row), row.fallback);
    if (value) row.set(config, *value);
  }
}

Status assign(const std::vector<tables::ConfLine>& lines, DbdConfig& config) {
  const auto keys = dbd_keys();
  tables::ConfErrors errors;
  for (const tables::ConfLine& line : lines) {
    std::vector<tables::ConfPair> pairs;
    errors.add(tables::read_conf_pairs(line, pairs));
    for (const tables::ConfPair& pair : pairs) {
      if (const auto* row = tables::find_key(keys, pair.key)) {
        errors.add(tables::assign_pair(line, pair, *row, config, "", config.without_effect));
        config.places[std::string(row->name)] = fmt::format("{}:{}", line.file, line.number);
        config.values[std::string(row->name)] = pair.value;
      } else {
        errors.add(
            tables::conf_failure(line, fmt::format("unknown key \"{}\"{}", pair.key,
                                                   tables::did_you_mean_key(pair.key, keys))));
      }
    }
  }
  return errors.status();
}

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

Status check(const DbdConfig& config) {
  const auto bad = [&](std::string_view text) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: {}", config.path, text));
  };
  if (config.host.empty()) return bad("DbdHost is wanted");
  if (!config.backup_host.empty() && config.storage_type == kSqliteStorage)
    return bad("DbdBackupHost needs a database that both hosts reach; a file of SQLite is none");
  return {};
}

}  // namespace

std::string place_of(const DbdConfig& config, const std::string& key) {
  const auto place = config.places.find(key);
  return place == config.places.end() ? config.path : place->second;
}

Result<DbdConfig> load_dbd_config(const std::string& path) {
  DbdConfig config;
  config.path = path;
  set_defaults(config);
  const auto lines = read_lines(path);
  if (!lines) return tl::unexpected(lines.error());
  if (auto ok = assign(*lines, config); !ok)
    return failure(ErrorCode::kInvalidConfig, ok.error().text);
  if (auto ok = check(config); !ok) return tl::unexpected(ok.error());
  auto storage = storage_of(config);
  if (!storage)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: {}", config.path, storage.error().text));
  config.storage = std::move(*storage);
  if (auto rules = purge_rules(config); !rules) return tl::unexpected<Error>(rules.error());
  if (auto ok = resolve_user(config); !ok) return tl::unexpected(ok.error());
  // DbdAddr is the first host's
  const std::string here = short_host_name();
  if (here == config.backup_host && here != config.host) config.address.clear();
  std::ranges::sort(config.without_effect);
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
