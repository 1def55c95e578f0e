#include "common/os/close_on_exec.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {

void close_on_exec_from(int first) {
  constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, kCloseOnExec) == 0) return;
#endif
  constexpr int kUsualMost = 1024;  // with an old kernel
  for (int fd = first; fd < kUsualMost; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace sluice
