// A folder of the node's spool that step daemons and the agent change one at a time: what steps
// have changed of the host.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace sluice {

// Held while it lives; waits for whoever holds it.
class FolderLock {
 public:
  enum Missing { kLeave, kMake };  // a folder that is not there
  explicit FolderLock(std::string folder, Missing missing = kLeave);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // An error: the folder cannot be had.
  [[nodiscard]] Status there() const;
  // The paths of its files, but for those that are being written. None: the folder is not there.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  std::string folder_;
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace sluice
