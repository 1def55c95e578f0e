#include "stepd/process/mount_namespace.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "common/base/check.hpp"

namespace sluice::stepd {

int enter_mount_namespace(const std::string& file) {
  if (file.empty()) return 0;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = ::setns(fd, CLONE_NEWNS) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

MountNamespaceScope::MountNamespaceScope(const std::string& file) {
  if (file.empty()) return;
  own_ = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  error_ = own_ < 0 ? errno : enter_mount_namespace(file);
}

MountNamespaceScope::~MountNamespaceScope() {
  if (own_ < 0) return;
  SLUICE_CHECK(error_ != 0 || ::setns(own_, CLONE_NEWNS) == 0);
  ::close(own_);
}

}  // namespace sluice::stepd
