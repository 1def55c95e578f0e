#include "ctld/backup.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hex_digits.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/os/clock.hpp"
#include "common/auth/signer.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_outbox.hpp"
#include "ctld/journal/sqlite_reader.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/journal/state_folder.hpp"
#include "ctld/logs/event_log.hpp"
#include "ctld/state/decide/cluster/known_ends.hpp"
#include "ctld/state/decide/ending.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSigningKey = "credential.key";
constexpr const char* kUnfinished = ".unfinished";
constexpr const char* kKeys[] = {kSigningKey, "jwt_hs256.key"};
using journal::kJournalFolder;

tl::unexpected<Error> cannot(const std::string& what, const fs::path& path,
                             const std::error_code& code) {
  return failure(ErrorCode::kPathMissing,
                 fmt::format("cannot {} {}: {}", what, path.string(), code.message()));
}

tl::unexpected<Error> cannot_now(const std::string& what, const fs::path& path) {
  return cannot(what, path, std::error_code(errno, std::generic_category()));
}

Status flush(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (good) return {};
  return failure(ErrorCode::kPathMissing,
                 fmt::format("cannot flush {}: {}", path.string(), errno_text(error)));
}

// A copy at `to`, private and on the disk. No-op when there is nothing at `from`.
Status copy_key(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (!fs::exists(from, code)) return {};
  const auto bytes = read_file(from.string());
  if (!bytes) return failure(ErrorCode::kPathMissing, fmt::format("cannot read {}", from.string()));
  return replace_file(to.string(), *bytes, {.mode = 0600, .flush = true});
}

struct Content {
  journal::Recovered recovered;
  journal::StoreInfo info;
};

Result<Content> read_journal(const fs::path& folder) {
  auto reader = journal::SqliteReader::open(folder);
  if (!reader) return tl::unexpected(reader.error());
  Content out;
  out.info = (*reader)->info();
  if (Status done = journal::recover_into(out.recovered, **reader); !done)
    return tl::unexpected(done.error());
  return out;
}

// The key in `folder` is the one that the state knows.
Status check_key(const fs::path& folder, const state::ClusterState& state) {
  const auto key = net::CredentialSigner::load((folder / kSigningKey).string());
  if (!key) return tl::unexpected(key.error());
  if (state.credential_key.empty() || hex_digits(key->public_key()) == state.credential_key)
    return {};
  return failure(
      ErrorCode::kInvalidCredential,
      fmt::format("{} is not the key of this journal's cluster", (folder / kSigningKey).string()));
}

// SQLite makes them beside a database that is read, too; an empty log is no part of it.
void remove_helpers(const fs::path& database) {
  std::error_code ignored;
  for (const char* part : {"-wal", "-shm"}) fs::remove(database.string() + part, ignored);
}

Result<BackupContent> check_copy(const fs::path& folder) {
  const auto content = read_journal(folder / kJournalFolder);
  if (!content) return tl::unexpected(content.error());
  if (Status ok = check_key(folder, content->recovered.state); !ok)
    return tl::unexpected(ok.error());
  return BackupContent{content->info.cluster_id, content->recovered.state.jobs.size(),
                       content->recovered.state.next_job_id};
}

Status copy_journal(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (!fs::exists(journal::database_file(from), code)) {
    if (code == std::errc::permission_denied) return cannot("read", from, code);
    return failure(ErrorCode::kPathMissing,
                   fmt::format("there is no journal in {}", from.string()));
  }
  auto source =
      journal::Database::open(journal::database_file(from), journal::Database::Mode::kReadOnly);
  if (!source) return tl::unexpected(source.error());
  if (Status known = journal::check_format(*source); !known) return known;
  const fs::path file = journal::database_file(to);
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return cannot_now("make", file);
  ::close(fd);
  if (Status done = source->copy_to(file); !done) return done;
  auto copy = journal::Database::open(file, journal::Database::Mode::kReadWrite);
  if (!copy) return tl::unexpected(copy.error());
  if (Status done = journal::forget_outbox_stream(*copy); !done) return done;
  return flush(file);
}

// What to do about the controller's own journal is no help with a copy of it.
Error error_of_copy(Error error, const fs::path& copy) {
  if (error.code != ErrorCode::kDamaged) return error;
  if (const size_t at = error.text.find(journal::kDamageAdvice); at != std::string::npos)
    error.text.erase(at, journal::kDamageAdvice.size());
  error.text = fmt::format("the copy in {} is damaged and cannot be put back: {}", copy.string(),
                           error.text);
  return error;
}

// A folder with nothing in it but what a copy that was broken off may have left there.
bool is_empty_folder(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) return false;
  fs::directory_iterator entry(path, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    if (entry->path().filename() != kUnfinished) return false;
  }
  return !code;
}

// Whoever else can write there could put something of his own in a copy's place while it is made.
// The sticky bit keeps him from it.
Status check_place(const fs::path& folder) {
  struct stat place {};
  if (::stat(folder.c_str(), &place) != 0) return cannot_now("look at", folder);
  const bool by_group =
      (place.st_mode & S_IWGRP) != 0 && place.st_gid != 0 && place.st_gid != ::getegid();
  const bool by_others = by_group || (place.st_mode & S_IWOTH) != 0;
  if (!by_others || (place.st_mode & S_ISVTX) != 0) return {};
  return failure(
      ErrorCode::kAccessDenied,
      fmt::format(
          "others can write to {}: a backup, which holds the cluster's keys, is not made there",
          folder.string()));
}

// The copy is made in the folder itself where there is one, as a file system may be mounted there.
Status check_given(const fs::path& folder) {
  struct stat given {};
  if (::stat(folder.c_str(), &given) != 0) return cannot_now("look at", folder);
  if (given.st_uid != 0 && given.st_uid != ::geteuid()) {
    return failure(
        ErrorCode::kAccessDenied,
        fmt::format(
            "{} belongs to user {}: a backup, which holds the cluster's keys, is not made there",
            folder.string(), given.st_uid));
  }
  if (Status ok = check_place(folder); !ok) return ok;
  return ::chmod(folder.c_str(), 0700) == 0 ? Status{} : cannot_now("close to others", folder);
}

// The journal comes last: without it nothing is taken for a backup.
Status move_up(const fs::path& fresh, const fs::path& folder) {
  std::error_code code;
  std::vector<const char*> names(std::begin(kKeys), std::end(kKeys));
  names.push_back(kJournalFolder);
  for (const char* name : names) {
    if (!fs::exists(fresh / name, code)) continue;
    fs::rename(fresh / name, folder / name, code);
    if (code) return cannot("rename", fresh / name, code);
  }
  fs::remove(fresh, code);
  return {};
}

// A new folder for this user alone. What a copy of his that was broken off left there goes.
Status make_fresh(const fs::path& folder) {
  struct stat left {};
  if (::lstat(folder.c_str(), &left) == 0) {
    if (!S_ISDIR(left.st_mode) || left.st_uid != ::geteuid()) {
      return failure(ErrorCode::kPathMissing,
                     fmt::format("{} is there already, and no unfinished backup of this user",
                                 folder.string()));
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  for (const fs::path& path : {folder, folder / kJournalFolder}) {
    if (::mkdir(path.c_str(), 0700) != 0) return cannot_now("make", path);
  }
  return {};
}

// The name that an older version of `path` is given: path.replaced-1, -2, …
fs::path aside(const fs::path& path) {
  std::error_code code;
  fs::path name;
  for (int number = 1; name.empty() || fs::exists(name, code); ++number) {
    name = fmt::format("{}.replaced-{}", path.string(), number);
  }
  return name;
}

Result<fs::path> set_journal_aside(const fs::path& folder) {
  const fs::path file = journal::database_file(folder);
  const fs::path name = aside(file);
  std::error_code code;
  for (const char* part : {"-wal", "-shm", ""}) {
    const fs::path from = file.string() + part;
    if (!fs::exists(from, code)) continue;
    fs::rename(from, name.string() + part, code);
    if (code) return cannot("rename", from, code);
  }
  return name;
}

// A key that is replaced by another one is kept beside it, under the name that is returned.
Result<fs::path> put_key(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::path name;
  const auto fresh = read_file(from.string());
  if (!fresh) return name;
  if (const auto present = read_file(to.string()); present && *present != *fresh) {
    name = aside(to);
    fs::rename(to, name, code);
    if (code) return cannot("rename", to, code);
  }
  if (Status ok = copy_key(from, to); !ok) return tl::unexpected(ok.error());
  return name;
}

// What the replaced journal knows and the backup does not: ids go on behind those that it gave, and
// jobs that it saw end do not run again. The first events after the backup.
Status amend(const fs::path& folder, const state::ClusterState& state, JobId next,
             state::Events ends) {
  constexpr size_t kMostOfFrame = 1000;
  auto store = journal::SqliteStore::open(folder);
  if (!store) return tl::unexpected(store.error());
  const auto last = (*store)->last_sequence();
  if (!last) return tl::unexpected(last.error());
  const Time now = net::now();
  journal::FrameGroup group;
  uint64_t sequence = *last;
  group.frames.push_back(journal::encode_frame(++sequence, now,
                                               {state::EpochStarted{.cluster_id = state.cluster_id,
                                                                    .epoch = (*store)->info().epoch,
                                                                    .time = now,
                                                                    .next_job_id = next}}));
  for (auto at = ends.begin(); at != ends.end();) {
    const auto some = std::min<ptrdiff_t>(ends.end() - at, kMostOfFrame);
    const state::Events part(std::make_move_iterator(at), std::make_move_iterator(at + some));
    group.frames.push_back(journal::encode_frame(++sequence, now, part));
    at += some;
  }
  const auto written = (*store)->append(group);
  return written ? Status{} : tl::unexpected(written.error());
}

Status give_to(const fs::path& folder, uint32_t owner) {
  if (::geteuid() != 0) return {};
  std::vector<fs::path> paths{folder, folder / kJournalFolder};
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder / kJournalFolder, code))
    paths.push_back(entry.path());
  for (const char* key : kKeys) {
    if (fs::exists(folder / key, code)) paths.push_back(folder / key);
  }
  for (const fs::path& path : paths) {
    if (::lchown(path.c_str(), owner, static_cast<gid_t>(-1)) != 0) {
      return failure(ErrorCode::kPathMissing, fmt::format("cannot give {} to user {}: {}",
                                                          path.string(), owner, errno_text(errno)));
    }
  }
  return {};
}

// What is there now: nothing, or the same cluster's state. Next ids of the same round are known
// from it.
Result<std::optional<state::ClusterState>> present_state(const fs::path& folder,
                                                         const BackupContent& content) {
  std::error_code code;
  if (!fs::exists(journal::database_file(folder), code))
    return std::optional<state::ClusterState>();
  auto present = read_journal(folder);
  if (!present) return std::optional<state::ClusterState>();  // that is why it is replaced
  // a start that was refused because the cluster's own was gone left it
  if (present->recovered.last == 0) return std::optional<state::ClusterState>();
  if (present->info.cluster_id != content.cluster_id) {
    return failure(
        ErrorCode::kWrongCluster,
        fmt::format("{} holds the state of cluster {}, the backup that of {}: move it away first",
                    folder.string(), present->info.cluster_id, content.cluster_id));
  }
  return std::optional(std::move(present->recovered.state));
}

// What runs in `present`, and will not in `restored`.
std::vector<std::string> lost_jobs(const state::ClusterState& restored,
                                   const state::ClusterState& present) {
  std::vector<std::string> out;
  present.active.for_each([&](JobId id) {
    const Job& job = present.jobs.at(id);
    const Job* before = restored.jobs.find(id);
    const bool stays = before != nullptr && state::is_running(*before) &&
                       before->restart_count == job.restart_count;
    if (state::is_running(job) && !stays) out.push_back(job_id_text(present, id));
  });
  return out;
}

}  // namespace

Result<BackupContent> back_up(const fs::path& folder, const fs::path& target) {
  std::error_code code;
  fs::path whole = fs::absolute(target, code).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  if (fs::exists(whole, code) && !is_empty_folder(whole)) {
    return failure(ErrorCode::kPathMissing,
                   fmt::format("{} is there already: a backup goes into a new or empty folder",
                               whole.string()));
  }
  const bool given = fs::exists(whole, code);
  const fs::path place = given ? whole : whole.parent_path();
  const fs::path fresh = given ? whole / kUnfinished : fs::path(whole.string() + kUnfinished);
  fs::create_directories(place, code);
  if (code) return cannot("make", place, code);
  if (Status ok = given ? check_given(whole) : check_place(place); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = make_fresh(fresh); !ok) return tl::unexpected(ok.error());
  Status done = copy_journal(folder / kJournalFolder, fresh / kJournalFolder);
  for (const char* key : kKeys) {
    if (done) done = copy_key(folder / key, fresh / key);
  }
  Result<BackupContent> content = tl::unexpected(done ? Error{} : done.error());
  if (done) content = check_copy(fresh);
  if (content) {
    remove_helpers(journal::database_file(fresh / kJournalFolder));
    for (const fs::path& path : {fresh / kJournalFolder, fresh}) {
      if (Status ok = flush(path); !ok) content = tl::unexpected(ok.error());
    }
  }
  if (content) {
    Status moved = given ? move_up(fresh, whole) : Status{};
    if (!given) fs::rename(fresh, whole, code);
    if (!given && code) moved = cannot("rename", fresh, code);
    if (moved) moved = flush(place);
    if (!moved) content = tl::unexpected(moved.error());
  }
  if (!content) fs::remove_all(fresh, code);
  return content;
}

Result<Restored> restore(const fs::path& backup, const fs::path& folder, uint32_t owner,
                         const MayRestore& may) {
  const fs::path journal = folder / kJournalFolder;
  std::error_code code;
  if (!fs::is_directory(backup, code))
    return failure(ErrorCode::kPathMissing,
                   fmt::format("{}: there is no such folder", backup.string()));
  fs::create_directories(folder, code);
  std::optional<Result<journal::FolderLock>> lock(journal::FolderLock::take(journal));
  if (!*lock) return tl::unexpected((*lock).error());
  const auto state = read_journal(backup / kJournalFolder);
  if (!state) return tl::unexpected(error_of_copy(state.error(), backup));
  const auto content = check_copy(backup);
  if (!content) return tl::unexpected(error_of_copy(content.error(), backup));
  const auto present = present_state(journal, *content);
  if (!present) return tl::unexpected(present.error());
  if (*present && may && !may(lost_jobs(state->recovered.state, **present)))
    return failure("nothing was changed");
  Restored out{.content = *content};
  const fs::path file = journal::database_file(journal), fresh = file.string() + ".new";
  fs::remove(fresh, code);
  // a new one: follows no link
  fs::copy_file(journal::database_file(backup / kJournalFolder), fresh, code);
  if (code) return cannot("copy the journal to", fresh, code);
  fs::permissions(fresh, fs::perms::owner_read | fs::perms::owner_write, code);
  if (Status ok = flush(fresh); !ok) return tl::unexpected(ok.error());
  for (const char* key : kKeys) {
    const auto replaced = put_key(backup / key, folder / key);
    if (!replaced) return tl::unexpected(replaced.error());
    if (key == kSigningKey) out.key_set_aside = *replaced;
  }
  if (fs::exists(file, code)) {
    auto name = set_journal_aside(journal);
    if (!name) return tl::unexpected(name.error());
    out.set_aside = std::move(*name);
  }
  fs::rename(fresh, file, code);
  if (code) return cannot("rename", fresh, code);
  if (Status ok = flush(journal); !ok) return tl::unexpected(ok.error());
  lock.reset();
  const state::ClusterState& old = state->recovered.state;
  const bool later = *present && (*present)->job_id_round == old.job_id_round &&
                     (*present)->next_job_id >= old.next_job_id;
  if (later) {
    state::Events ends = state::known_ends(old, **present);
    out.ended = static_cast<size_t>(std::ranges::count_if(ends, [](const state::Event& event) {
      return std::holds_alternative<state::JobEnded>(event);
    }));
    if (Status ok = amend(journal, old, (*present)->next_job_id, std::move(ends)); !ok)
      return tl::unexpected(ok.error());
    out.content.next_job_id = (*present)->next_job_id;
  }
  if (Status ok = give_to(folder, owner); !ok) return tl::unexpected(ok.error());
  return out;
}

}  // namespace sluice::ctld
