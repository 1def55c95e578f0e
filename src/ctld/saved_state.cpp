#include "ctld/saved_state.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/os/file_rights.hpp"
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

// The first folder on the way to `path` that this process may not enter; empty: it may enter all.
fs::path closed_folder(const fs::path& path) {
  fs::path so_far;
  for (const fs::path& part : path.parent_path()) {
    so_far /= part;
    if (::faccessat(AT_FDCWD, so_far.c_str(), X_OK, AT_EACCESS) != 0) return so_far;
  }
  return {};
}

// "/srv/state/journal: Permission denied: it is root's with mode 0700, and slurmctld runs as slurm"
Error cannot_look(const fs::path& path, int error) {
  const fs::path closed = error == EACCES ? closed_folder(path) : fs::path();
  struct stat folder {};
  if (closed.empty() || ::stat(closed.c_str(), &folder) != 0)
    return {ErrorCode::kPathMissing, fmt::format("{}: {}", path.string(), errno_text(error))};
  return {ErrorCode::kAccessDenied,
          fmt::format("{}: {}: it is {}'s with mode {:04o}, and slurmctld runs as {}",
                      closed.string(), errno_text(error), user_label(folder.st_uid),
                      folder.st_mode & 07777, user_label(::geteuid()))};
}

// Errors: it may be there. Who took that for lost would throw the state away.
Result<bool> is_there(const fs::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return tl::unexpected<Error>(cannot_look(path, errno));
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
  const auto key = is_there(key_of(config));
  if (!key) return tl::unexpected(key.error());
  const auto journal = is_there(journal::database_file(journal_of(config)));
  if (!journal) return tl::unexpected(journal.error());
  return *key && !*journal ? Status(missing_journal(config.state_save_location)) : Status();
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
  const auto key = is_there(key_of(config));
  const auto journal = is_there(journal::database_file(journal_of(config)));
  return key && !*key && journal && !*journal;
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
  const auto there = is_there(journal::database_file(journal));
  if (!there) return tl::unexpected(there.error());
  if (!*there) return check_journal_file(config);
  auto reader = journal::SqliteReader::open(journal);
  if (!reader) return tl::unexpected(reader.error());
  journal::Recovered recovered;
  if (Status ok = journal::recover_into(recovered, **reader); !ok) return ok;
  const auto key = is_there(key_of(config));
  if (!key) return tl::unexpected(key.error());
  if (knew_a_key(recovered) && !*key) return missing_key(key_of(config).string());
  if (Status own = check_journal_is_own(config, recovered, (*reader)->info()); !own) return own;
  return recovered.last > 0 ? check_cluster_name(recovered, config) : Status();
}

}  // namespace sluice::ctld
