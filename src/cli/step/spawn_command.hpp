// The srun that is started for a task's MPI_Comm_spawn: its command line and its environment. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/mpi_spawn.hpp"
#include "common/environment/environment.hpp"

namespace sluice::cli {

// The step whose task asked.
struct SpawnPlace {
  JobId job = kNoJob;
  std::string step;      // PMI's name of it
  std::string work_dir;  // of its tasks
  bool kill_on_bad_exit = false;
};

// Whether the programs are told in a file (--multi-prog): several ones, or words that a command
// line cannot have.
[[nodiscard]] bool needs_programs_file(const protocol::MpiSpawnRequest& request);
// That file. Errors: an argument of more than one line.
[[nodiscard]] Result<std::string> programs_file(const protocol::MpiSpawnRequest& request);
// argv; `file` is where that file is, when it is needed.
[[nodiscard]] std::vector<std::string> spawn_words(const protocol::MpiSpawnRequest& request,
                                                   const SpawnPlace& place,
                                                   const std::string& file);
// `own` is what the srun that starts it was given: what stood for options of its step says nothing
// of the new one. Errors: more than a variable holds.
[[nodiscard]] Result<Environment> spawn_environment(const protocol::MpiSpawnRequest& request,
                                                    const SpawnPlace& place,
                                                    const Environment& own);

}  // namespace sluice::cli
