// What a job holds: nodes, and on each of them cores, memory and generic resources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/bounded.hpp"
#include "common/base/ids.hpp"
#include "common/model/gres.hpp"

namespace sluice {

// What a job holds on one node.
struct NodeAllocation {
  NodeId node = kNoNode;
  Bitmap cores;       // cores of the node that are the job's
  uint32_t cpus = 0;  // CPUs (threads) charged
  uint64_t memory_mib = 0;
  GresShares gres;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeAllocation::node);
    field(2, "cores", &NodeAllocation::cores);
    field(3, "cpus", &NodeAllocation::cpus);
    field(4, "memory_mib", &NodeAllocation::memory_mib);
    field(5, "gres", &NodeAllocation::gres);
  }
};

// CPUs that the job is charged for of each of its cores: all threads, or with CR_CPU those that it
// uses.
[[nodiscard]] inline uint32_t cpus_of_core(const NodeAllocation& part) {
  const auto cores = static_cast<uint32_t>(part.cores.count());
  return cores == 0 ? 1 : std::max(1U, rounded_up_quotient(part.cpus, cores));
}

struct Allocation {
  std::vector<NodeAllocation> nodes;  // in node-table order; the first is the batch host
  std::string node_list;              // folded names
  uint32_t cpus = 0;                  // sum
  bool whole_nodes = false;           // allocated exclusively
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &Allocation::nodes);
    field(2, "node_list", &Allocation::node_list);
    field(3, "cpus", &Allocation::cpus);
    field(4, "whole_nodes", &Allocation::whole_nodes);
  }
};

}  // namespace sluice
