#include "ctld/saved_state.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/os/file_time.hpp"
#include "ctld/journal/sqlite_reader.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "ctld/journal/state_folder.hpp"

namespace sluice::ctld {

namespace fs = std::filesystem;

namespace {

bool may_look(const ClusterConfig& config) {
  return ::geteuid() == 0 || ::geteuid() == config.slurm_user_id;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path key_of(const ClusterConfig& config) {
  return fs::path(config.state_save_location) / kSigningKeyFile;
}

fs::path journal_of(const ClusterConfig& config) {
  return fs::path(config.state_save_location) / journal::kJournalFolder;
}

}  // namespace

Status check_cluster_name(const journal::Recovered& recovered, const ClusterConfig& config) {
  const std::string& before = recovered.state.config->cluster_name;
  if (before.empty() || iequals(before, config.cluster_name)) return {};
  return failure(
      ErrorCode::kInvalidConfig,
      fmt::format(
          "CLUSTER NAME MISMATCH: ClusterName={} in {}, and {} is the state of cluster {}: write ClusterName={} "
          "again, or name another StateSaveLocation, or start once with slurmctld -c, which begins without its "
          "jobs",
          config.cluster_name, config.config_path, config.state_save_location, before, before));
}

bool knew_a_key(const journal::Recovered& recovered) {
  return recovered.last > 0 && recovered.state.next_node_id > 0;
}

tl::unexpected<Error> missing_key(const std::string& path) {
  return failure(
      ErrorCode::kPathMissing,
      path +
          " is missing, with which this cluster's launches were signed until now: put it back from the "
          "backup, or start once with --new-credential-key, and the nodes take a new one over");
}

tl::unexpected<Error> missing_journal(const std::string& folder) {
  return failure(
      ErrorCode::kDamaged,
      fmt::format(
          "{} holds the key of a cluster that was here before, and its journal is empty or gone: put a backup "
          "back (sluice restore FOLDER), or start once with slurmctld -c, which begins without its jobs",
          folder));
}

Status check_journal_file(const ClusterConfig& config) {
  const bool lost =
      is_there(key_of(config)) && !is_there(journal::database_file(journal_of(config)));
  return lost ? Status(missing_journal(config.state_save_location)) : Status();
}

Status check_journal_is_own(const ClusterConfig& config, const journal::Recovered& recovered,
                            const journal::StoreInfo& info) {
  if (recovered.last > 0) return {};
  struct stat file {};
  if (::stat(key_of(config).c_str(), &file) != 0 || modified(file) >= info.created) return {};
  return missing_journal(config.state_save_location);
}

bool holds_no_state(const ClusterConfig& config) {
  if (config.state_save_location.empty() || !may_look(config)) return false;
  return !is_there(key_of(config)) && !is_there(journal::database_file(journal_of(config)));
}

Status check_state_place(const ClusterConfig& config) {
  struct stat folder {};
  if (::stat(config.state_save_location.c_str(), &folder) != 0) return {};
  const bool by_anybody = (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0;
  if (!by_anybody) return {};
  return failure(
      ErrorCode::kInvalidConfig,
      fmt::format(
          "StateSaveLocation={0} has mode {1:04o}: any user could put a state and keys of his own in "
          "place of the cluster's (chmod 0700 {0})",
          config.state_save_location, folder.st_mode & 07777));
}

Status check_saved_state(const ClusterConfig& config) {
  if (config.state_save_location.empty() || !may_look(config)) return {};
  const fs::path journal = journal_of(config);
  if (!is_there(journal::database_file(journal))) return check_journal_file(config);
  auto reader = journal::SqliteReader::open(journal);
  if (!reader) return tl::unexpected(reader.error());
  journal::Recovered recovered;
  if (Status ok = journal::recover_into(recovered, **reader); !ok) return ok;
  if (knew_a_key(recovered) && !is_there(key_of(config)))
    return missing_key(key_of(config).string());
  if (Status own = check_journal_is_own(config, recovered, (*reader)->info()); !own) return own;
  return recovered.last > 0 ? check_cluster_name(recovered, config) : Status();
}

}  // namespace sluice::ctld
