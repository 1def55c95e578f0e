#include "common/step/folder_lock.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/replace_file.hpp"

namespace sluice {

FolderLock::FolderLock(std::string folder, Missing missing) : folder_(std::move(folder)) {
  // where that fails, so does what follows
  if (missing == kMake) (void)::mkdir(folder_.c_str(), 0700);
  fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  error_ = errno;
  while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {}
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Status FolderLock::there() const {
  if (fd_ >= 0) return {};
  return failure(fmt::format("cannot open {}: {}", folder_, errno_text(error_)));
}

std::vector<std::string> FolderLock::files() const {
  std::vector<std::string> paths;
  if (fd_ < 0) return paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != kUnfinishedFile) paths.push_back(entry->path().string());
  }
  return paths;
}

}  // namespace sluice
