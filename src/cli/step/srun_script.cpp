#include "cli/step/srun_script.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include "cli/step/allocation.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/os/wait_status.hpp"

namespace sluice::cli {

int run_srun_script(const std::string& program, const std::vector<std::string>& arguments,
                    const Environment& environment) {
  if (access(program.c_str(), R_OK | X_OK) != 0) {
    say("srun", fmt::format("Access denied for {}: {}", program, errno_text(errno)));
    return 0;
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = exec_pointers(words);
  const std::vector<char*> envp = environment.exec_pointers();
  pid_t child = -1;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, argv.data(), envp.data()) != 0) {
    return -1;
  }
  return shell_code(wait_for_child(child).value_or(0));
}

}  // namespace sluice::cli
