// The folder a store lives in: owned by one controller at a time (a lock file), and holding a
// ballast: room set aside, given up when the disk is full so that the last transactions fit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "common/base/result.hpp"
#include "common/os/file_lock.hpp"

namespace sluice::journal {

// Of StateSaveLocation: where the journal lies.
inline constexpr const char* kJournalFolder = "journal";

// An exclusive lock on a folder, until the object goes or the process ends.
class FolderLock {
 public:
  // Makes the folder when it is missing. The error names the process that holds the lock.
  static Result<FolderLock> take(const std::filesystem::path& folder);

 private:
  explicit FolderLock(FileLock lock) : lock_(std::move(lock)) {}
  FileLock lock_;
};

// The ballast file. Not thread-safe.
class Ballast {
 public:
  // `bytes` 0: none is kept.
  Ballast(std::filesystem::path file, uint64_t bytes) : file_(std::move(file)), bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  bool held() const { return held_; }
  // Takes the room when the disk has it twice over, so that it does not go back and forth.
  bool take();
  void release();

 private:
  bool allocate() const;
  std::filesystem::path file_;
  uint64_t bytes_;
  bool held_ = false;
};

}  // namespace sluice::journal
