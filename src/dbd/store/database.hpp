// The accounting database, through SOCI: one connection that writes, some that read beside it.
//
//   database->write([&](soci::session& sql) -> Status {
//     sql << "UPDATE job SET state = :s WHERE id = :i", soci::use(state), soci::use(id);
//     return {};
//   });
//
// Values are bound always, and never a part of a statement's text. What SOCI throws comes back as
// an error: kStorageFull (no room), kRetry (locked by another process), kDamaged, else kError; the
// text names the file.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <soci/soci.h>

#include "common/base/result.hpp"

namespace sluice::dbd {

// In columns of ends: not yet. Sorts behind all times.
inline constexpr int64_t kNotEnded = INT64_MAX;

class Database {
 public:
  using Work = std::function<Status(soci::session&)>;

  // Makes the file, for its owner alone, where it is not there, and brings an older one up to
  // date. Every commit waits for the disk.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // One transaction, committed when `work` succeeded and rolled back otherwise. One at a time, any
  // thread.
  [[nodiscard]] Status write(const Work& work);

  // Sees what was committed when it began. Any thread, beside a write; waits while all connections
  // are in use. `work` changes nothing.
  [[nodiscard]] Status read(const Work& work) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Status open_sessions();

  const std::string path_;
  std::mutex write_mutex_;
  std::unique_ptr<soci::session> writer_;  // guarded by write_mutex_
  mutable std::mutex read_mutex_;
  mutable std::condition_variable readable_;
  mutable std::vector<std::unique_ptr<soci::session>> readers_;  // idle; guarded by read_mutex_
};

}  // namespace sluice::dbd
