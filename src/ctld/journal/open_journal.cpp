#include "ctld/journal/open_journal.hpp"

#include <algorithm>
#include <system_error>
#include <variant>

#include <fmt/format.h>

#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/sqlite_schema.hpp"

namespace sluice::journal {

namespace {

namespace fs = std::filesystem;

// Nodes remember jobs by their ids: what cannot be read may have given this many.
constexpr JobId kSkippedJobIds = 100'000;
constexpr size_t kMostUnreadable = 10'000;  // frames that are tried one after the other

Result<OpenedJournal> open_and_recover(const fs::path& folder, const SqliteOptions& options) {
  OpenedJournal opened;
  auto store = SqliteStore::open(folder, options);
  if (!store) return tl::unexpected(store.error());
  opened.store = std::move(*store);
  if (Status done = recover_into(opened.recovered, *opened.store); !done)
    return tl::unexpected(done.error());
  return opened;
}

// What of a damaged journal can be read.
struct Salvaged {
  StoreIdentity identity;
  Recovered recovered;
};

// The last job id that an event of the frame gave; kNoJob: none, or it cannot be decoded.
JobId job_id_given_in(const Frame& frame) {
  const Result<state::Events> events = decode_frame(frame);
  if (!events) return kNoJob;
  JobId given = kNoJob;
  for (const state::Event& event : *events) {
    if (const auto* submitted = std::get_if<state::JobSubmitted>(&event)) given = submitted->job.id;
    if (const auto* split = std::get_if<state::ArrayTasksSplit>(&event);
        split != nullptr && !split->tasks.empty()) {
      given = split->tasks.back().job;
    }
  }
  return given;
}

// The last that frames from `from` on gave, as far as they can be read.
JobId last_job_id(SqliteReader& reader, Sequence from) {
  JobId given = kNoJob;
  const Result<Sequence> first = reader.first_sequence();
  const Result<Sequence> last = reader.last_sequence();
  if (!first || !last) return given;
  Sequence next = std::max(from, *first);
  for (size_t unreadable = 0; next <= *last && unreadable < kMostUnreadable; ++unreadable, ++next) {
    const Status read = reader.read(next, [&](const Frame& frame) {
      if (const JobId id = job_id_given_in(frame); id != kNoJob) given = id;
      next = frame.sequence + 1;
      return true;
    });
    if (read) break;
  }
  return given;
}

Salvaged salvage(const fs::path& folder) {
  Salvaged out;
  const auto reader = SqliteReader::open(folder);
  if (!reader) return out;
  out.identity = {(*reader)->info().cluster_id, (*reader)->info().epoch};
  const Status up_to_the_damage = recover_into(out.recovered, **reader);
  static_cast<void>(up_to_the_damage);
  Recovered& kept = out.recovered;
  const JobId later = last_job_id(**reader, kept.last + 1);
  // before the first configuration there is nothing else to keep
  if (kept.state.next_node_id == 0) kept = {.last = 1};
  if (later != kNoJob) kept.state.next_job_id = later + 1;
  kept.state.next_job_id += kSkippedJobIds;
  return out;
}

// Renames the database and what SQLite keeps beside it; the database's new name.
Result<fs::path> set_aside(const fs::path& folder) {
  const Result<FolderLock> lock = FolderLock::take(folder);
  if (!lock) return tl::unexpected(lock.error());
  const fs::path file = database_file(folder);
  std::error_code code;
  fs::path aside;
  for (int number = 1; aside.empty() || fs::exists(aside, code); ++number) {
    aside = fmt::format("{}.damaged-{}", file.string(), number);
  }
  for (const char* part : {"-wal", "-shm", ""}) {  // so that sqlite3 finds them again
    const fs::path from = file.string() + part;
    if (!fs::exists(from, code)) continue;
    fs::rename(from, aside.string() + part, code);
    if (code) return failure(fmt::format("cannot rename {}: {}", from.string(), code.message()));
  }
  return aside;
}

std::string account_of(const Error& damage, const fs::path& aside, const Salvaged& kept) {
  std::string out =
      fmt::format("{}. It is {} now, and a new journal is begun", damage.text, aside.string());
  if (kept.identity.cluster_id.empty()) {
    return out +
           ": its cluster id and job ids cannot be read, so nodes refuse this controller until the file "
           "cluster_id in their SlurmdSpoolDir is removed, and job ids begin anew";
  }
  out += fmt::format(" for the same cluster {}", kept.identity.cluster_id);
  return out + fmt::format(", next job id {} (beyond all that may have been given)",
                           kept.recovered.state.next_job_id);
}

}  // namespace

Result<OpenedJournal> open_journal(const fs::path& folder, bool start_over, SqliteOptions options) {
  Result<OpenedJournal> opened = open_and_recover(folder, options);
  if (opened || !start_over || opened.error().code != ErrorCode::kDamaged) return opened;
  const Error damage = opened.error();
  Salvaged kept = salvage(folder);
  const Result<fs::path> aside = set_aside(folder);
  if (!aside) return tl::unexpected(aside.error());
  options.identity = kept.identity;
  Result<OpenedJournal> fresh = open_and_recover(folder, options);
  if (!fresh) return fresh;
  if (kept.recovered.last != 0) {
    const Time created = fresh->store->info().created;
    const Checkpoint start = make_checkpoint(kept.recovered.state, kept.recovered.last, created);
    if (Status done = fresh->store->checkpoint(start); !done) return tl::unexpected(done.error());
    fresh->store.reset();  // one that is opened goes on behind the checkpoint
    fresh = open_and_recover(folder, options);
    if (!fresh) return fresh;
  }
  fresh->set_aside = account_of(damage, *aside, kept);
  return fresh;
}

}  // namespace sluice::journal
