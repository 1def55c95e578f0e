#include "ctld/sched/gang_turns.hpp"

#include <algorithm>
#include <utility>

namespace sluice::sched {

GangTurns::Place GangTurns::add(std::vector<const NodeAllocation*> parts, timeline::Tick alone) {
  const auto place = static_cast<Place>(jobs_.size());
  const auto group = static_cast<uint32_t>(groups_.size());
  jobs_.push_back({std::move(parts), alone, group});
  groups_.push_back({place});
  said_.push_back(0);
  for (const NodeAllocation* part : jobs_[place].parts) {
    std::vector<Part>& here = by_node_[part->node];
    for (const Part& other : here) {
      const uint32_t mine = jobs_[place].group, its = jobs_[other.job].group;
      if (mine != its && other.part->cores.intersects(part->cores)) join(mine, its);
    }
    here.push_back({part, place});
    owners_.emplace(part, place);
  }
  return place;
}

void GangTurns::join(uint32_t group, uint32_t other) {
  if (groups_[group].size() < groups_[other].size()) std::swap(group, other);
  said_[group] = std::max(said_[group], said_[other]);
  for (const Place job : groups_[other]) {
    jobs_[job].group = group;
    groups_[group].push_back(job);
  }
  groups_[other].clear();
}

std::optional<GangTurns::Place> GangTurns::owner(const NodeAllocation* part) const {
  const auto found = owners_.find(part);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

bool GangTurns::has_grown(Place job) {
  constexpr size_t kFew = 16;  // each counts
  const size_t size = group(job).size();
  size_t& said = said_[jobs_[job].group];
  if (size < 2 || size <= said || (size > kFew && size < said + said / 8)) return false;
  said = size;
  return true;
}

timeline::Tick GangTurns::length(Place job, timeline::Tick slice) const {
  const uint64_t jobs = group(job).size();
  const uint64_t length = jobs * jobs_[job].alone + (jobs - 1) * slice;
  return static_cast<timeline::Tick>(std::min<uint64_t>(length, timeline::kHorizon));
}

}  // namespace sluice::sched
