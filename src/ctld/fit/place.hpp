// Choosing nodes, processors and memory for one job. The scheduler's plan, the engine's check of it
// and the test of a submission against an empty cluster all go through here, so they agree.
//
// Nodes are taken in the order of weight and configuration. A job that did not say how many nodes
// goes to the first node that holds it whole, else to as few as a walk in that order needs; one that
// did gets as many as it allows. Tasks fill a node before the next, but each further node keeps at
// least one (as Slurm's select/cons_tres does: -N2 -n4 gives 3 and 1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/model/job.hpp"
#include "common/model/node.hpp"
#include "ctld/fit/needs.hpp"

namespace sluice::fit {

// What a node has free for a job. Units are CPUs or cores, by unit_of().
struct Room {
  NodeId node = kNoNode;
  const NodeConfig* config = nullptr;  // not owned
  const std::vector<std::string>* features = nullptr;  // active ones; not owned
  Bitmap free_units;
  uint32_t free_cpus = 0;
  uint64_t free_memory_mib = 0;
  uint32_t jobs = 0;       // that hold something here
  bool required = false;   // --nodelist
};

// The node as it is now, and as it would be with nothing on it.
[[nodiscard]] Room room_now(const Node& node, Unit unit);
[[nodiscard]] Room room_empty(const Node& node, Unit unit);

// How many tasks the node could take, and the CPUs they could use; no tasks: it cannot serve.
struct Capacity {
  uint32_t tasks = 0;
  uint32_t cpus = 0;
};
[[nodiscard]] Capacity capacity(const Needs& needs, const Room& room, Unit unit);

// Rooms in order of preference; nullopt: the job does not fit. The result is in the order of `rooms`.
[[nodiscard]] std::optional<std::vector<NodeAllocation>> place(const Needs& needs,
                                                               std::span<const Room> rooms,
                                                               Unit unit);

// Whether an allocation made on an older view still holds on these rooms (one per node of it, in
// its order): nothing of it is taken.
[[nodiscard]] bool still_fits(const NodeAllocation& wanted, const Room& room, bool whole_node);

}  // namespace sluice::fit
