// This srun as another one's, which started it for a task that called MPI_Comm_spawn
// (cli/step/mpi_spawner.hpp).
#pragma once

#include <optional>
#include <string>

namespace sluice::cli::srun {

struct Spawned {
  int report = -1;   // where to say that the tasks have begun MPI
  std::string text;  // for the step's daemons: kMpiSpawnedVariable
};

// Takes it out of the environment. From then on this process ends with the other one. Nothing for
// any other srun.
[[nodiscard]] std::optional<Spawned> take_spawned();

}  // namespace sluice::cli::srun
