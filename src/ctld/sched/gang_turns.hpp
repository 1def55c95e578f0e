// Jobs that run by turns (gang scheduling): how long they hold their CPUs. Of n jobs that share
// CPUs, directly or by way of others, each has every n-th time slice at least, so that one which
// needs `alone` by itself is over after n times as long and n - 1 slices more.
//
// add() looks at each part on the job's nodes once: O(parts there).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/model/job.hpp"
#include "ctld/timeline/node_timeline.hpp"

namespace sluice::sched {

class GangTurns {
 public:
  using Place = uint32_t;
  // A job that needs its CPUs so long holds these parts of nodes, which outlive this; with those
  // that hold some of the same cores it takes turns.
  Place add(std::vector<const NodeAllocation*> parts, timeline::Tick alone);
  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] Place size() const { return static_cast<Place>(jobs_.size()); }
  [[nodiscard]] const std::vector<const NodeAllocation*>& parts(Place job) const {
    return jobs_[job].parts;
  }
  // All that take turns with it, itself among them.
  [[nodiscard]] const std::vector<Place>& group(Place job) const {
    return groups_[jobs_[job].group];
  }
  // Whose part this is; nothing: of nobody here.
  [[nodiscard]] std::optional<Place> owner(const NodeAllocation* part) const;
  // Once for each group after it has grown: whether it has by an eighth since this was said. So
  // what follows from its size is worked out seldom where many jobs come in, one after another.
  [[nodiscard]] bool has_grown(Place job);
  // For how long it holds its CPUs at most.
  [[nodiscard]] timeline::Tick length(Place job, timeline::Tick slice) const;

 private:
  struct Entry {
    std::vector<const NodeAllocation*> parts;
    timeline::Tick alone = 0;
    uint32_t group = 0;
  };
  struct Part {
    const NodeAllocation* part = nullptr;
    Place job = 0;
  };
  void join(uint32_t group, uint32_t other);

  std::vector<Entry> jobs_;
  std::vector<std::vector<Place>> groups_;  // those that were joined to others are empty
  std::vector<size_t> said_;                // by group: its size when it had grown
  std::unordered_map<NodeId, std::vector<Part>> by_node_;
  std::unordered_map<const NodeAllocation*, Place> owners_;
};

}  // namespace sluice::sched
