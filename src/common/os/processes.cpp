#include "common/os/processes.hpp"

#include <cstdlib>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {

std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this stream
  while (const dirent* entry = ::readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 1 && pid != ::getpid()) found.push_back(pid);
  }
  ::closedir(folder);
  return found;
}

bool signal_if(pid_t pid, int signal, const std::function<bool()>& is_meant) {
  if (!is_meant()) return false;
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return false;
  const bool meant = is_meant();
  if (meant) ::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0);
  ::close(process);
  return meant;
}

}  // namespace sluice
