#include "cli/srun/spawned.hpp"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/step/mpi_spawned.hpp"

namespace sluice::cli::srun {

std::optional<Spawned> take_spawned() {
  const char* report = std::getenv(kMpiReportVariable);
  const char* text = std::getenv(kMpiSpawnedVariable);
  const auto number = to_number<int>(report != nullptr ? report : "");
  std::optional<Spawned> out;
  if (number && text != nullptr && ::fcntl(*number, F_SETFD, FD_CLOEXEC) == 0)
    out = Spawned{*number, text};
  ::unsetenv(kMpiReportVariable);
  ::unsetenv(kMpiSpawnedVariable);
  if (!out) return out;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  pollfd reader{out->report, 0, 0};
  // it is gone already
  if (::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) ::raise(SIGTERM);
  return out;
}

}  // namespace sluice::cli::srun
