#include "dbd/config/live_config.hpp"

#include <array>
#include <string_view>

namespace sluice::dbd {
namespace {

// Identity, addresses, the database: what the daemon is made of.
constexpr std::array<std::string_view, 22> kAtStart = {
    "AuthAltParameters", "AuthAltTypes", "AuthInfo",          "AuthType",         "DbdAddr",
    "DbdBackupHost",     "DbdHost",      "DbdPort",           "DebugLevelSyslog", "LogTimeFormat",
    "PidFile",           "SlurmUser",    "StorageBackupHost", "StorageHost",      "StorageLoc",
    "StorageParameters", "StoragePass",  "StoragePort",       "StorageType",      "StorageUser",
    "TLSParameters",     "TLSType",
};

// As it was written; of a key that is not set, its default.
std::string_view value_of(const DbdConfig& config, std::string_view key) {
  if (const auto set = config.values.find(std::string(key)); set != config.values.end())
    return set->second;
  for (const auto& row : dbd_keys())
    if (row.name == key) return row.fallback;
  return {};
}

}  // namespace

std::vector<std::string> keep_until_restart(const DbdConfig& running, DbdConfig& fresh) {
  std::vector<std::string> changed;
  for (const std::string_view key : kAtStart) {
    if (value_of(running, key) == value_of(fresh, key)) continue;
    changed.emplace_back(key);
    // the next time it is still another one
    fresh.values[std::string(key)] = value_of(running, key);
  }
  fresh.host = running.host;
  fresh.address = running.address;
  fresh.backup_host = running.backup_host;
  fresh.port = running.port;
  fresh.slurm_user = running.slurm_user;
  fresh.slurm_user_id = running.slurm_user_id;
  fresh.auth_type = running.auth_type;
  fresh.auth_info = running.auth_info;
  fresh.auth_alt_types = running.auth_alt_types;
  fresh.auth_alt_parameters = running.auth_alt_parameters;
  fresh.tls_type = running.tls_type;
  fresh.tls_parameters = running.tls_parameters;
  fresh.pid_file = running.pid_file;
  fresh.syslog_level = running.syslog_level;
  fresh.log_time_format = running.log_time_format;
  fresh.storage_type = running.storage_type;
  fresh.storage_host = running.storage_host;
  fresh.storage_backup_host = running.storage_backup_host;
  fresh.storage_loc = running.storage_loc;
  fresh.storage_user = running.storage_user;
  fresh.storage_password = running.storage_password;
  fresh.storage_port = running.storage_port;
  fresh.storage_parameters = running.storage_parameters;
  fresh.storage = running.storage;
  return changed;
}

}  // namespace sluice::dbd
