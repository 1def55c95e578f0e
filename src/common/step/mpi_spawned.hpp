// How a step that MPI_Comm_spawn asked for is told so: srun starts another srun for it, whose
// environment says what the step's daemons need, and into which descriptor that srun reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/protocol/mpi_spawn.hpp"

namespace sluice {

// to the step's daemons, not to its tasks
inline constexpr const char* kMpiSpawnedVariable = "SLUICE_MPI_SPAWNED";
// To the new srun: a descriptor. It writes PMI's name of the step there, and the end of a line,
// when all tasks have begun MPI, and closes it when it ends.
inline constexpr const char* kMpiReportVariable = "SLUICE_MPI_SPAWN_REPORT";
// one variable may not have more than 128 KiB
inline constexpr size_t kMaxMpiSpawnedText = 100U << 10;

[[nodiscard]] std::string mpi_spawned_text(const protocol::MpiSpawned& spawned);
// Nothing when it is no such text.
[[nodiscard]] std::optional<protocol::MpiSpawned> read_mpi_spawned(std::string_view text);

}  // namespace sluice
