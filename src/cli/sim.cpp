// sluice sim runs the program that simulates a cluster: it links what no command needs.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "cli/commands.hpp"
#include "common/base/errno_text.hpp"

namespace sluice::cli {

int sim_main(int /*argc*/, char** argv) {
  std::error_code ignored;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string program = bin.parent_path() / "sbin/sluicesim";
  std::fflush(nullptr);
  ::execv(program.c_str(), argv);
  std::fprintf(stderr, "sluice sim: error: %s: %s\n", program.c_str(), errno_text(errno));
  return 1;
}

}  // namespace sluice::cli
