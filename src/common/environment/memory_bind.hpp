// --mem-bind, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/environment/environment.hpp"

namespace sluice {

enum class MemoryBindKind : uint8_t { kNotSaid, kNone, kRank, kLocal, kMap, kMask };

struct MemoryBind {
  MemoryBindKind kind = MemoryBindKind::kNotSaid;
  bool verbose = false;
  bool prefer = false;  // other memory is taken when that is full
  bool sort = false;
  // of kMap: NUMA nodes; of kMask: hexadecimal masks of them, without 0x
  std::vector<std::string> list;
};

// A checked value (bad_mem_bind); what comes later wins.
[[nodiscard]] MemoryBind parse_memory_bind(std::string_view text);
// "none", "map_mem:" …; "" for kNotSaid.
[[nodiscard]] std::string_view memory_bind_type(MemoryBindKind kind);
// SLURM_MEM_BIND* of a step's tasks.
void set_memory_bind_variables(const MemoryBind& bind, Environment& out);
// Of the shell of salloc and the script of sbatch, where srun finds it again.
void set_memory_bind_request(const MemoryBind& bind, Environment& out);
// SBATCH_MEM_BIND*, which tell the script of sbatch what was asked for.
void set_batch_memory_bind(const MemoryBind& bind, Environment& out);

}  // namespace sluice
