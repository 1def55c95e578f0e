#include "stepd/x11/home_xauthority.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice::stepd {
namespace {

constexpr int kTries = 50;
constexpr useconds_t kPause_us = 20000;
constexpr uint32_t kMostBytes = 1U << 20;

// As xauth does it: FILE-c is made, and FILE-l is a link to it.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : made_(path + "-c"), link_(path + "-l") {
    for (int i = 0; i < kTries && !held_; ++i) {
      if (i > 0) ::usleep(kPause_us);
      const int fd = ::open(made_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      error_ = errno;
      if (fd < 0 && error_ == EEXIST) continue;
      if (fd < 0) return;
      ::close(fd);
      held_ = ::link(made_.c_str(), link_.c_str()) == 0;
      error_ = errno;
      if (!held_) ::unlink(made_.c_str());
    }
  }
  ~FileLock() {
    if (!held_) return;
    ::unlink(link_.c_str());
    ::unlink(made_.c_str());
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  [[nodiscard]] bool held() const { return held_; }
  [[nodiscard]] int error() const { return error_; }  // an errno

 private:
  std::string made_, link_;
  bool held_ = false;
  int error_ = 0;
};

// False with errno when it cannot be read; a file that is not there is empty. It is the user's, who
// may have put there what never ends or never begins.
bool read_file(const std::string& path, std::string& out) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  struct stat about {};
  const bool usable =
      ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= kMostBytes;
  char buffer[4096];
  ssize_t n = -1;
  errno = EINVAL;
  while (usable && out.size() <= size_t{kMostBytes} &&
         (n = ::read(fd, buffer, sizeof buffer)) > 0) {
    out.append(buffer, static_cast<size_t>(n));
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return n == 0;
}

bool replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + "-n";
  ::unlink(fresh.c_str());  // of one that died, or what would keep open() waiting
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = ::close(fd) == 0;
  if (written && closed && ::rename(fresh.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(fresh.c_str());
  errno = error;
  return false;
}

}  // namespace

Status change_xauthority(const std::string& path,
                         const std::function<std::string(std::string_view)>& change) {
  const FileLock lock(path);
  if (!lock.held())
    return failure(fmt::format("cannot lock {}: {}", path, errno_text(lock.error())));
  std::string text;
  if (!read_file(path, text))
    return failure(fmt::format("cannot read {}: {}", path, errno_text(errno)));
  if (!replace_file(path, change(text)))
    return failure(fmt::format("cannot write {}: {}", path, errno_text(errno)));
  return {};
}

}  // namespace sluice::stepd
