#include "common/os/ending_text.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

namespace sluice {

std::string ending_text(int status) {
  if (status == -1) return "could not be started";
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with exit status {}", WEXITSTATUS(status));
}

}  // namespace sluice
