#include "common/os/file_lock.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice {
namespace {

std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t length = ::pread(descriptor, text, sizeof text - 1, 0);
  if (length <= 0) return "another process";
  return fmt::format("process {}", std::string(text, ::strcspn(text, "\n")));
}

tl::unexpected<Error> cannot(const char* what, const std::string& path, int why) {
  return failure(ErrorCode::kPathMissing,
                 fmt::format("cannot {} {}: {}", what, path, errno_text(why)));
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return cannot("open", path, errno);
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return cannot("lock", path, errno);
    return failure(ErrorCode::kDuplicateName, holder(descriptor));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // only for the error of others: a disk without room for it does no harm
  if (::ftruncate(descriptor, 0) == 0) {
    const ssize_t written = ::pwrite(descriptor, pid.data(), pid.size(), 0);
    static_cast<void>(written);
  }
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace sluice
