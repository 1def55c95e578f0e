// sluicesim: what `sluice sim` runs.
#include <cstdio>

#include "sim/command.hpp"

// NOLINTNEXTLINE(bugprone-exception-escape): what nobody caught is told by std::terminate
int main(int argc, char** argv) {
  const int status = sluice::sim::command_main(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fputs("sluice sim: error: Cannot write to standard output\n", stderr);
  return status != 0 ? status : 1;
}
