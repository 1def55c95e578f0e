// slurmdbd.conf: its keys, and reading it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/auth/auth.hpp"
#include "common/auth/jwt.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/config/conf_syntax.hpp"
#include "common/config/keys/conf_key.hpp"
#include "common/model/cluster_config.hpp"
#include "dbd/store/storage.hpp"

namespace sluice::dbd {

inline constexpr const char* kUsualConfigPath = "/etc/slurm/slurmdbd.conf";
inline constexpr const char* kSqliteStorage = "accounting_storage/sqlite";
inline constexpr const char* kMariaDbStorage = "accounting_storage/mysql";
inline constexpr const char* kPostgresqlStorage = "accounting_storage/postgresql";

struct DbdConfig {
  std::string path;  // of the file; absolute
  std::string host, address, backup_host;
  uint32_t port = 6819;
  std::string slurm_user = "root";
  uint32_t slurm_user_id = 0;
  std::string auth_type, auth_info;
  std::string auth_alt_types, auth_alt_parameters;
  std::string tls_type;
  std::vector<std::string> tls_parameters;
  std::string pid_file, log_file;
  DebugLevel debug_level = DebugLevel::kInfo;
  std::optional<DebugLevel> syslog_level;
  std::vector<std::string> debug_flags;
  std::string log_time_format;
  std::vector<std::string> private_data;
  std::string storage_type;  // kSqliteStorage …
  std::string storage_host, storage_backup_host, storage_loc, storage_user, storage_password;
  uint32_t storage_port = 0;
  std::vector<std::string> storage_parameters;
  Storage storage;  // what these come to
  // Purge…After, Archive…: dbd/archive/purge_rules
  std::string purge_job, purge_step, purge_event, purge_resv, purge_suspend, purge_txn, purge_usage;
  std::string purge_job_script, purge_job_environment;
  bool archive_job = false, archive_step = false, archive_event = false, archive_resv = false,
       archive_suspend = false, archive_txn = false, archive_usage = false,
       archive_job_script = false, archive_job_environment = false;
  std::string archive_folder, archive_script;
  bool no_archive_commands = false;
  std::string default_qos;
  bool track_wckey = false;
  bool allow_no_default_account = false;
  bool disable_coordinators = false;
  Duration max_query_time_range{kNoLimit};    // of a request of who is no operator
  std::vector<std::string> parameters;        // Parameters
  std::vector<std::string> without_effect;    // keys that are set, and nothing comes of it
  std::map<std::string, std::string> places;  // "FILE:LINE" of each key that is set
  std::map<std::string, std::string> values;  // of these, as they were written
};

[[nodiscard]] std::span<const tables::ConfKey<DbdConfig>> dbd_keys();

// Where the key is set; of one that is not, the file.
[[nodiscard]] std::string place_of(const DbdConfig& config, const std::string& key);

// The database that the Storage* keys mean. Errors: kInvalidConfig.
[[nodiscard]] Result<Storage> storage_of(const DbdConfig& config);
// Where files of the daemon belong: beside a file of SQLite, else beside slurmdbd.conf.
[[nodiscard]] std::string folder_of(const DbdConfig& config);

// Errors, which name file, line and key: kInvalidConfig.
[[nodiscard]] Result<DbdConfig> load_dbd_config(const std::string& path);
// The same of a text, without what only this machine can tell: its users, programs and name.
[[nodiscard]] Result<DbdConfig> parse_dbd_config(const tables::ConfSource& source,
                                                 const tables::ConfInclude& include);

// Errors: others than its owner, root or SlurmUser, may read or write the file, which has
// passwords; this host is none of DbdHost and DbdBackupHost.
[[nodiscard]] Status may_serve_here(const DbdConfig& config);

// Requests of any cluster are believed that are proved by the same munge or key.
[[nodiscard]] net::AuthOptions auth_options(const DbdConfig& config);
[[nodiscard]] net::JwtSettings jwt_settings(const DbdConfig& config);

}  // namespace sluice::dbd
