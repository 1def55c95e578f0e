// The accounting database, through SOCI: one connection that writes, some that read beside it. A
// connection that was lost is made again by who needs it next.
//
//   database->write([&](Session& sql) -> Status {
//     sql << "UPDATE job SET state = :s WHERE id = :i", soci::use(state), soci::use(id);
//     return {};
//   });
//
// Values are bound always, and never a part of a statement's text. What SOCI throws comes back as
// an error: kStorageFull (no room), kRetry (locked by another process, or no connection), kDamaged,
// kInvalidConfig (the server refuses us), else kError; the text names the database.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/os/file_lock.hpp"
#include "dbd/store/file_mark.hpp"
#include "dbd/store/session.hpp"
#include "dbd/store/storage.hpp"

namespace sluice::dbd {

// As times are stored: microseconds since 1970.
[[nodiscard]] inline int64_t micros(Time time) { return time.time_since_epoch().count(); }

// In columns of ends: not yet. Sorts behind all times.
inline constexpr int64_t kNotEnded = INT64_MAX;

class Database {
 public:
  using Work = std::function<Status(Session&)>;

  // Makes the file of SQLite, for its owner alone, where it is not there, and brings an older
  // database up to date. Every commit waits for the disk. Errors: kDamaged: the file is empty, or
  // is not the one that the log beside it belongs to; kDuplicateName: another process has it open.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const Storage& storage);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // One transaction, committed when `work` succeeded and rolled back otherwise. One at a time, also
  // of other daemons; any thread. Where the connection is lost in mid-work nothing is written, or,
  // with its end, all of it.
  [[nodiscard]] Status write(const Work& work);

  // Sees what was committed when it began. Any thread, beside a write; waits while all connections
  // are in use. `work` changes nothing.
  [[nodiscard]] Status read(const Work& work) const;

  [[nodiscard]] const Storage& storage() const { return storage_; }

 private:
  Database(const Storage& storage, std::optional<FileLock> lock);
  Status open_sessions();
  Status connect_writer();
  // Errors: the file of SQLite, or its write-ahead log, is not that which was opened any more.
  Status still_there() const;
  Result<std::unique_ptr<Session>> connect_reader() const;
  std::unique_ptr<Session> take_reader() const;

  const std::optional<FileLock> lock_;  // of a file of SQLite; given back last
  const Storage storage_;
  const std::string where_;                 // for errors
  uint64_t inode_ = 0, log_inode_ = 0;      // of the file that was opened, and its log
  mutable std::atomic<bool> lost_ = false;  // which was told
  std::mutex write_mutex_;
  FileMark mark_;                    // guarded by write_mutex_
  std::unique_ptr<Session> writer_;  // null: to be made; guarded by write_mutex_
  mutable std::mutex read_mutex_;
  mutable std::condition_variable readable_;
  // idle; null: to be made; guarded by read_mutex_
  mutable std::vector<std::unique_ptr<Session>> readers_;
};

}  // namespace sluice::dbd
