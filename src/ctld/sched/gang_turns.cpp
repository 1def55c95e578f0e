#include "ctld/sched/gang_turns.hpp"

#include <algorithm>

namespace sluice::sched {

GangTurns::Place GangTurns::add(std::vector<const NodeAllocation*> parts, timeline::Tick alone) {
  const auto place = static_cast<Place>(jobs_.size());
  const auto group = static_cast<uint32_t>(groups_.size());
  jobs_.push_back({std::move(parts), alone, group});
  groups_.push_back({place});
  for (const NodeAllocation* part : jobs_[place].parts) {
    std::vector<Place>& here = by_node_[part->node];
    for (const Place other : here) {
      const bool shares = std::ranges::any_of(jobs_[other].parts, [&](const auto* its) {
        return its->node == part->node && its->cores.intersects(part->cores);
      });
      if (shares) join(jobs_[place].group, jobs_[other].group);
    }
    here.push_back(place);
  }
  return place;
}

void GangTurns::join(uint32_t group, uint32_t other) {
  if (group == other) return;
  for (const Place job : groups_[other]) {
    jobs_[job].group = group;
    groups_[group].push_back(job);
  }
  groups_[other].clear();
}

timeline::Tick GangTurns::length(Place job, timeline::Tick slice) const {
  const uint64_t jobs = group(job).size();
  const uint64_t length = jobs * jobs_[job].alone + (jobs - 1) * slice;
  return static_cast<timeline::Tick>(std::min<uint64_t>(length, timeline::kHorizon));
}

}  // namespace sluice::sched
