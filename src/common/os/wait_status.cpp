#include "common/os/wait_status.hpp"

#include <cerrno>

#include <sys/wait.h>

namespace sluice {

std::optional<int> wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return status;
}

int shell_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int worse_of_tasks(int a, int b) {
  const bool killed = WIFSIGNALED(b);
  const bool worse = killed == WIFSIGNALED(a) ? shell_code(b) > shell_code(a) : killed;
  return worse ? b : a;
}

}  // namespace sluice
