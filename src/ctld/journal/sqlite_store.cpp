// Writing the SQLite store: groups of frames, checkpoints and their cleaning up, the full disk.
#include "ctld/journal/sqlite_store.hpp"

#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctld/journal/blob_key.hpp"
#include "ctld/journal/sqlite_outbox.hpp"
#include "ctld/journal/sqlite_schema.hpp"

namespace sluice::journal {

namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr size_t kCheckpointPartBytes = size_t{1} << 20;
constexpr size_t kRowsPerSlice = 2000;

// FULL: every commit waits for the disk. The log is folded into the file every 16 MiB and then cut.
constexpr const char* kPragmas =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4096;"
    "PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;";

bool is_full(const Error& error) { return error.code == ErrorCode::kStorageFull; }

Status make_private_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return failure(
        fmt::format("cannot open {}: {}", file.string(), std::system_category().message(errno)));
  }
  ::close(descriptor);
  return {};
}

uint64_t inode_of(const std::filesystem::path& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_ino : 0;
}

Time current_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace

class SqliteStore::Turn {
 public:
  Turn(SqliteStore& store, bool append) : store_(store) {
    std::unique_lock lock(store_.turn_mutex_);
    if (append) {
      ++store_.waiting_to_append_;
      store_.turn_changed_.wait(lock, [&] { return !store_.writing_; });
      --store_.waiting_to_append_;
    } else {
      store_.turn_changed_.wait(lock,
                                [&] { return !store_.writing_ && store_.waiting_to_append_ == 0; });
    }
    store_.writing_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      const std::lock_guard lock(store_.turn_mutex_);
      store_.writing_ = false;
    }
    store_.turn_changed_.notify_all();
  }

 private:
  SqliteStore& store_;
};

SqliteStore::SqliteStore(FolderLock lock, Ballast ballast, const SqliteOptions& options)
    : options_(options), lock_(std::move(lock)), ballast_(std::move(ballast)) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& folder,
                                                       const SqliteOptions& options) {
  Result<FolderLock> lock = FolderLock::take(folder);
  if (!lock) return tl::unexpected(lock.error());
  std::unique_ptr<SqliteStore> store(new SqliteStore(
      std::move(*lock), Ballast(folder / "ballast", options.ballast_bytes), options));
  Status opened = store->open_database(folder);
  if (!opened && is_full(opened.error()) && store->release_ballast()) {
    opened = store->open_database(folder);
  }
  if (!opened) return tl::unexpected(opened.error());
  if (!store->ballast_.take()) store->low_on_room_ = true;
  return store;
}

Status SqliteStore::open_database(const std::filesystem::path& folder) {
  file_ = database_file(folder);
  Status made = make_private_file(file_);
  if (!made) return made;
  inode_ = inode_of(file_);
  Result<Database> opened = Database::open(file_, Database::Mode::kReadWrite);
  if (!opened) return tl::unexpected(opened.error());
  database_ = std::make_unique<Database>(std::move(*opened));
  // before anything is changed
  Status done = check_format(*database_);
  if (done) done = database_->script(kPragmas);
  if (done) done = prepare_tables(*database_, current_time(), options_.identity);
  if (!done) return done;
  const Result<Sequence> last = last_sequence_in(*database_);
  if (!last) return tl::unexpected(last.error());
  last_ = *last;
  Result<std::string> stream = outbox_stream(*database_, new_uuid());
  if (!stream) return tl::unexpected(stream.error());
  outgoing_stream_ = std::move(*stream);
  if (done = mark_unchecked(*database_); !done) return done;
  const Result<int64_t> waiting = database_->integer("SELECT count(*) FROM outbox", 0);
  if (!waiting) return tl::unexpected(waiting.error());
  outgoing_ = static_cast<uint64_t>(*waiting);
  Result<std::unique_ptr<SqliteReader>> reader = SqliteReader::open(folder);
  if (!reader) return tl::unexpected(reader.error());
  reader_ = std::move(*reader);
  return {};
}

Result<Sequence> SqliteStore::append(const FrameGroup& group) {
  const Turn turn(*this, true);
  Status done = still_there();
  if (done) done = write_group(group);
  if (!done && is_full(done.error()) && release_ballast()) done = write_group(group);
  if (!done) return tl::unexpected(done.error());
  return *last_;
}

Status SqliteStore::write_group(const FrameGroup& group) {
  if (!last_) {
    const Result<Sequence> last = last_sequence_in(*database_);
    if (!last) return tl::unexpected(last.error());
    last_ = *last;
  }
  Sequence last = *last_;
  for (const Frame& frame : group.frames) {
    if (frame.sequence != ++last) {
      return failure(fmt::format("frame {} cannot follow frame {}", frame.sequence, last - 1));
    }
  }
  Result<Transaction> transaction = Transaction::begin(*database_);
  if (!transaction) return tl::unexpected(transaction.error());
  for (const Frame& frame : group.frames) {
    Status done = database_->run(
        "INSERT INTO frame(sequence, epoch, time, digest, bytes) VALUES(?, ?, ?, ?, ?)",
        frame.sequence, info().epoch, frame.time.time_since_epoch().count(),
        Bytes{row_digest(frame.bytes)}, Bytes{frame.bytes});
    if (!done) return done;
  }
  for (const Blob& blob : group.blobs) {
    Status done = write_blob(blob, last);
    if (!done) return done;
  }
  Status done = add_outgoing(*database_, group.outgoing);
  if (!done) return done;
  done = transaction->commit();
  if (!done) {
    last_.reset();
    return done;
  }
  last_ = last;
  outgoing_ += group.outgoing.size();
  for (const Frame& frame : group.frames) appended_bytes_ += frame.bytes.size();
  for (const Blob& blob : group.blobs) appended_bytes_ += blob.bytes.size();
  return {};
}

Status SqliteStore::write_blob(const Blob& blob, Sequence mentioned) {
  if (blob.key.size() != kBlobKeyBytes) return failure("a blob's key has a wrong length");
  Status done =
      database_->run("UPDATE blob SET mentioned = ? WHERE key = ?", mentioned, Bytes{blob.key});
  if (!done || database_->changed_rows() > 0) return done;
  done = database_->run("INSERT INTO blob_bytes(bytes) VALUES(?)", Bytes{blob.bytes});
  if (!done) return done;
  return database_->run("INSERT INTO blob(key, mentioned, id) VALUES(?, ?, ?)", Bytes{blob.key},
                        mentioned, database_->last_row_id());
}

Status SqliteStore::slice(const std::function<Status(Database&)>& work) {
  const Turn turn(*this, false);
  Result<Transaction> transaction = Transaction::begin(*database_);
  if (!transaction) return tl::unexpected(transaction.error());
  Status done = work(*database_);
  if (!done) return done;
  return transaction->commit();
}

Status SqliteStore::checkpoint(const Checkpoint& checkpoint) {
  Status done = write_checkpoint(checkpoint);
  if (done && checkpoint.live_blobs) done = sweep_blobs(checkpoint);
  if (done) done = trim_frames(checkpoint.sequence);
  return done;
}

Status SqliteStore::remove_loose_parts() {
  return slice([&](Database& database) {
    return database.run(
        "DELETE FROM checkpoint_part WHERE sequence NOT IN (SELECT sequence FROM checkpoint)");
  });
}

Status SqliteStore::write_parts(const Checkpoint& checkpoint) {
  const std::string_view bytes = checkpoint.bytes;
  Status done;
  for (size_t part = 0; done && part * kCheckpointPartBytes < bytes.size(); ++part) {
    done = slice([&](Database& database) {
      return database.run("INSERT INTO checkpoint_part(sequence, part, bytes) VALUES(?, ?, ?)",
                          checkpoint.sequence, part,
                          Bytes{bytes.substr(part * kCheckpointPartBytes, kCheckpointPartBytes)});
    });
  }
  return done;
}

Status SqliteStore::write_checkpoint(const Checkpoint& checkpoint) {
  const std::string_view bytes = checkpoint.bytes;
  Status done = remove_loose_parts();
  const Result<int64_t> same = [&] {
    const Turn turn(*this, false);
    return database_->integer("SELECT count(*) FROM checkpoint WHERE sequence = ?", 0,
                              checkpoint.sequence);
  }();
  if (!same) return tl::unexpected(same.error());
  if (!done || *same > 0) return done;
  done = write_parts(checkpoint);
  if (!done) {
    // the room that they took is the last that frames have
    const Status ignored = remove_loose_parts();
    static_cast<void>(ignored);
    return done;
  }
  // from here on it counts
  done = slice([&](Database& database) {
    Status gone = database.run("DELETE FROM checkpoint WHERE sequence <> ?", checkpoint.sequence);
    if (!gone) return gone;
    return database.run("INSERT INTO checkpoint(sequence, time, size, digest) VALUES(?, ?, ?, ?)",
                        checkpoint.sequence, checkpoint.time.time_since_epoch().count(),
                        bytes.size(), Bytes{row_digest(bytes)});
  });
  if (!done) return done;
  return slice([&](Database& database) {
    return database.run("DELETE FROM checkpoint_part WHERE sequence <> ?", checkpoint.sequence);
  });
}

Status SqliteStore::sweep_blobs(const Checkpoint& checkpoint) {
  Result<std::vector<std::string>> old = reader_->blobs_mentioned_until(checkpoint.sequence);
  if (!old) return tl::unexpected(old.error());
  std::vector<std::string> live = *checkpoint.live_blobs;
  std::sort(live.begin(), live.end());
  std::erase_if(*old, [&](const std::string& key) {
    return std::binary_search(live.begin(), live.end(), key);
  });
  for (size_t at = 0; at < old->size(); at += kRowsPerSlice) {
    const size_t end = std::min(old->size(), at + kRowsPerSlice);
    Status done = slice([&](Database& database) -> Status {
      for (size_t i = at; i < end; ++i) {
        // a commit may have mentioned it again since the keys were read
        Status gone = database.run(
            "DELETE FROM blob_bytes WHERE id = "
            "(SELECT id FROM blob WHERE key = ? AND mentioned <= ?)",
            Bytes{(*old)[i]}, checkpoint.sequence);
        if (gone) {
          gone = database.run("DELETE FROM blob WHERE key = ? AND mentioned <= ?", Bytes{(*old)[i]},
                              checkpoint.sequence);
        }
        if (!gone) return gone;
      }
      return {};
    });
    if (!done) return done;
  }
  return {};
}

Status SqliteStore::trim_frames(Sequence checkpointed) {
  const Result<std::map<std::string, Sequence>> readers = cursors();
  if (!readers) return tl::unexpected(readers.error());
  Sequence needless = checkpointed;  // frames up to here may go
  for (const auto& [name, sequence] : *readers) needless = std::min(needless, sequence);
  if (checkpointed > options_.max_frames_for_readers) {
    needless = std::max(needless, checkpointed - options_.max_frames_for_readers);
  }
  const Result<Sequence> first = first_sequence();
  if (!first) return tl::unexpected(first.error());
  for (Sequence at = *first; at <= needless; at += kRowsPerSlice) {
    const Sequence end = std::min(needless, at + kRowsPerSlice - 1);
    Status done = slice([&](Database& database) {
      return database.run("DELETE FROM frame WHERE sequence BETWEEN ? AND ?", at, end);
    });
    if (!done) return done;
  }
  return {};
}

Status SqliteStore::remove_outgoing(Sequence last) {
  for (int gone = 1; gone > 0;) {
    Status done = slice([&](Database& database) {
      Status removed = database.run(
          "DELETE FROM outbox WHERE sequence IN "
          "(SELECT sequence FROM outbox WHERE sequence <= ? ORDER BY sequence LIMIT ?)",
          last, kRowsPerSlice);
      gone = database.changed_rows();
      return removed;
    });
    if (!done) return done;
    outgoing_ -= static_cast<uint64_t>(gone);
  }
  return {};
}

std::string SqliteStore::outgoing_stream() {
  const std::lock_guard lock(stream_mutex_);
  return outgoing_stream_;
}

Result<bool> SqliteStore::check_outgoing(uint64_t known) {
  std::string fresh;
  Status done = slice([&](Database& database) -> Status {
    const Result<int64_t> had = unchecked_from(database);
    if (!had) return tl::unexpected(had.error());
    if (known > static_cast<uint64_t>(*had)) {
      if (Status gone = forget_outbox_stream(database); !gone) return gone;
      auto stream = outbox_stream(database, new_uuid());
      if (!stream) return tl::unexpected(stream.error());
      fresh = std::move(*stream);
    }
    return mark_checked(database);
  });
  if (!done) return tl::unexpected(done.error());
  outgoing_checked_ = true;
  if (fresh.empty()) return false;
  const std::lock_guard lock(stream_mutex_);
  outgoing_stream_ = std::move(fresh);
  return true;
}

Status SqliteStore::set_cursor(const std::string& reader, Sequence sequence) {
  return slice([&](Database& database) {
    return database.run("INSERT OR REPLACE INTO cursor(reader, sequence) VALUES(?, ?)",
                        std::string_view(reader), sequence);
  });
}

Status SqliteStore::remove_cursor(const std::string& reader) {
  return slice([&](Database& database) {
    return database.run("DELETE FROM cursor WHERE reader = ?", std::string_view(reader));
  });
}

bool SqliteStore::release_ballast() {
  low_on_room_ = true;
  if (!ballast_.held()) {
    // the file of a former run that this one had not counted on yet
    if (database_ && reader_) return false;
    ballast_.release();
    return true;
  }
  ballast_.release();
  return apply_disk_limit().has_value();
}

Status SqliteStore::still_there() {
  if (inode_of(file_) == inode_) return {};
  return failure(
      ErrorCode::kRetry,
      fmt::format("{} was removed or replaced while slurmctld runs: put it back as it was, or end "
                  "slurmctld and start it with what a backup gives",
                  file_.string()));
}

void SqliteStore::regain_reserve() {
  const Turn turn(*this, false);
  if (!low_on_room_) return;
  if (disk_limit_pages_ > 0) {
    const Result<int64_t> used = database_->integer("PRAGMA page_count", INT64_MAX);
    const auto ballast_pages = static_cast<int64_t>(ballast_.bytes() / kPageBytes);
    if (!used || *used + 2 * ballast_pages > disk_limit_pages_) return;
  }
  if (!ballast_.take()) return;
  low_on_room_ = !apply_disk_limit().has_value();
}

Status SqliteStore::limit_disk(uint32_t pages) {
  const Turn turn(*this, false);
  disk_limit_pages_ = pages;
  return apply_disk_limit();
}

Status SqliteStore::apply_disk_limit() {
  if (!database_) return {};
  const uint64_t ballast_pages = ballast_.held() ? ballast_.bytes() / kPageBytes : 0;
  const uint64_t pages =
      disk_limit_pages_ == 0 ? UINT32_MAX - 1 : disk_limit_pages_ - ballast_pages;
  return database_->script(fmt::format("PRAGMA max_page_count = {}", pages));
}

}  // namespace sluice::journal
