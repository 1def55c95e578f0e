// Opens the files of tasks with the user's rights. A file that several tasks or both streams of one
// share is opened once.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/base/result.hpp"
#include "stepd/process/user_identity.hpp"

namespace sluice::stepd {

class OutputFiles {
 public:
  // Files are truncated at their first opening unless `append`. New ones get mode 0666 less
  // `umask`.
  OutputFiles(const UserIdentity& user, bool append, uint32_t umask, std::string work_dir = {})
      : user_(user), append_(append), umask_(umask), work_dir_(std::move(work_dir)) {}
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // A descriptor (close-on-exec) that this object owns. Missing folders are made. The error's text
  // is the system's reason.
  [[nodiscard]] Result<int> output(const std::string& path);
  [[nodiscard]] Result<int> input(const std::string& path);
  // /dev/null for reading and writing.
  [[nodiscard]] Result<int> null_device();

 private:
  [[nodiscard]] Result<int> open(const std::string& path, int flags, bool make_folders);

  const UserIdentity& user_;
  bool append_;
  uint32_t umask_;
  std::string work_dir_;  // is there, or is not made
  std::map<std::string, int> outputs_;
  std::map<std::string, int> inputs_;
  int null_ = -1;
};

}  // namespace sluice::stepd
