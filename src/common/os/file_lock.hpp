// One process at a time has what a lock file stands for: a folder, a database.
#pragma once

#include <string>
#include <utility>

#include "common/base/result.hpp"

namespace sluice {

// An exclusive lock (flock(2)), until the object goes or the process ends. The file stays; it has
// the number of the process that locked it last.
class FileLock {
 public:
  // Makes the file, for its owner alone, where it is not there. Errors: kDuplicateName: another
  // has it; the text is "process N", or "another process" where that is unknown. kPathMissing: it
  // cannot be made or locked, with path and reason.
  [[nodiscard]] static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace sluice
