// The kinds of MPI that srun --mpi knows, by Slurm's names for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class MpiKind : uint8_t { kNone, kPmi2, kPmix };

// Nothing: there is no such kind. An empty name is kNone.
[[nodiscard]] std::optional<MpiKind> mpi_kind(std::string_view name);

// What --mpi=list prints.
[[nodiscard]] std::string mpi_list();

// srun's words about a name that is none.
[[nodiscard]] std::vector<std::string> unknown_mpi_errors(std::string_view name);

}  // namespace sluice
