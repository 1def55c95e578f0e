// A world in which jobs of the partition "high" have others make room.
#pragma once

#include "world.hpp"

namespace sluice::sched {

struct PreemptingWorld : World {
  explicit PreemptingWorld(uint32_t nodes = 2, uint32_t cpus = 8) : World(nodes, cpus) {
    config.preempt_type = "preempt/partition_prio";
    config.preempt_mode = PreemptMode::kCancel;
    config.scheduler_parameters = {"requeue_delay=60"};
    partition("high").priority_tier = 10;
  }
  PartitionConfig& low() { return config.partitions.front(); }
  static JobSpec high(uint32_t tasks, Minutes limit = 10) {
    JobSpec made = spec(tasks, limit);
    made.partitions = "high";
    return made;
  }
  std::string running() const {
    std::string out;
    state.active.for_each([&](JobId id) {
      if (state.jobs.at(id).state == JobState::kRunning) out += std::to_string(id) + " ";
    });
    return out;
  }
};

}  // namespace sluice::sched
