// Nodes that place() may choose for a job, and what chosen ones give together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctld/fit/place.hpp"

namespace sluice::fit {

// What one node is to give.
struct Portion {
  uint32_t tasks = 0;
  uint32_t cpus = 0;
  std::vector<uint64_t> gres;  // units of each need
};

// One chosen node and what it is to give.
struct Choice {
  const Room* room = nullptr;
  Capacity most;
  bool required = false;
  Portion portion = {};
};

// What chosen nodes can give together.
struct Sum {
  uint64_t tasks = 0, cpus = 0;
  std::vector<uint64_t> dealt = {};

  void add(const Capacity& most) {
    tasks += most.tasks;
    cpus += most.cpus;
    if (dealt.size() < most.dealt.size()) dealt.resize(most.dealt.size());
    for (size_t i = 0; i < most.dealt.size(); ++i) dealt[i] += most.dealt[i];
  }
  // One of those that were added.
  void remove(const Capacity& most) {
    tasks -= most.tasks;
    cpus -= most.cpus;
    for (size_t i = 0; i < most.dealt.size(); ++i) dealt[i] -= most.dealt[i];
  }
  [[nodiscard]] bool is_enough(const Needs& needs) const {
    if (tasks < needs.tasks || cpus < needs.min_cpus) return false;
    for (size_t i = 0; i < needs.gres.size(); ++i) {
      if (needs.gres[i].is_dealt() && (i >= dealt.size() || dealt[i] < needs.gres[i].per_job))
        return false;
    }
    return true;
  }
};

// Bounds of a run of neighbours.
struct RunBounds {
  uint32_t least = 1, most = 0;  // nodes
  size_t required = 0;           // nodes of all that the job must have
};
// Of neighbours, in the order of the node table, the first that are enough, or where some are
// required, the fewest that have all of them. O(nodes). Empty: there are none.
[[nodiscard]] std::span<const Choice* const> shortest_run(std::span<const Choice* const> run,
                                                          const Needs& needs,
                                                          const RunBounds& bounds);

}  // namespace sluice::fit
