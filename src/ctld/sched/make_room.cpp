// Room that a job has when others leave. The order in which they are looked at, and that no more leave than it takes,
// follow what Slurm documents of preemption (PreemptParameters, PriorityTier).
#include <algorithm>
#include <tuple>

#include "common/base/text.hpp"
#include "ctld/sched/rooms.hpp"
#include "ctld/state/preemption.hpp"

namespace sluice::sched {

bool Rooms::touches(const Holder& holder, const Bitmap& nodes) const {
  for (size_t at = 0; at < holder.nodes->size(); ++at) {
    const bool given_back = holder.released != nullptr && holder.released->test(at);
    if (!given_back && nodes.test((*holder.nodes)[at].node)) return true;
  }
  return false;
}

std::vector<Rooms::Leaver> Rooms::find_leavers(const GraceOf& grace_of) const {
  const bool asked_for = has_option(state_.config->preempt_parameters, "youngest_first");
  const bool asked_before = has_option(state_.config->scheduler_parameters, "preempt_youngest_first");  // as Slurm had it once
  const bool youngest_first = asked_for || asked_before;
  std::vector<std::pair<std::tuple<uint32_t, int64_t, JobId>, Leaver>> found;
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& h = holders_[i];
    const Job* job = state_.jobs.find(h.job);
    if (job == nullptr || h.nodes != &job->allocation->nodes || leaving_.contains(h.job)) continue;  // starts in this pass; leaves
    const auto grace = grace_of(*job);
    if (!grace) continue;
    const uint32_t tier = h.partition == nullptr ? 0 : h.partition->config->priority_tier;
    const int64_t worth = youngest_first ? (now_ - job->start).count() : static_cast<int64_t>(h.nodes->size());
    found.push_back({{tier, worth, UINT32_MAX - h.job}, {i, *grace}});
  }
  std::ranges::sort(found, {}, [](const auto& one) { return one.first; });
  std::vector<Leaver> leavers;
  leavers.reserve(found.size());
  for (const auto& one : found) leavers.push_back(one.second);
  return leavers;
}

Rooms::Placed Rooms::place_without(const Ask& ask, Time ends, const Gone& gone, const Bitmap* only) const {
  std::vector<fit::Room> later = rooms_without(gone);
  const Uses held = uses_without(*ask.partition, gone);
  for (const auto& [id, use] : held) later[id].held = &use;
  const Bitmap closed = closed_to(ask, now_, ends);
  std::vector<const fit::Room*> list;
  std::vector<fit::Room> parts;  // of rooms that are kept for others
  parts.reserve(later.size());
  for (const NodeId id : make_order(*ask.partition)) {
    const bool barred = closed.test(id) || (only != nullptr && !only->test(id));
    if (barred || later[id].config == nullptr || later[id].free_cpus == 0) continue;
    parts.emplace_back();
    const fit::Room* free = usable(later[id], ends, parts.back());
    if (free != &parts.back()) parts.pop_back();
    if (free != nullptr) list.push_back(free);
  }
  return place_among(ask, list, ask.switches.most);
}

std::vector<Rooms::Leaver> Rooms::needed_leavers(const Wish& wish, Time ends, std::vector<Leaver> leavers, Gone& gone,
                                                 std::vector<NodeAllocation>& placed) const {
  constexpr size_t kMostTries = 32;  // of keeping one that need not leave
  Bitmap nodes;
  for (const NodeAllocation& a : placed) nodes.set(a.node);
  std::erase_if(leavers, [&](const Leaver& one) {
    const bool elsewhere = !touches(holders_[one.holder], nodes);
    if (elsewhere) gone[one.holder] = false;
    return elsewhere;
  });
  size_t tries = 0;
  for (size_t i = leavers.size(); i-- > 0 && tries < kMostTries; ++tries) {
    gone[leavers[i].holder] = false;
    auto without = place_without(*wish.ask, ends, gone, &nodes);
    if (without) {
      placed = std::move(*without);
      leavers.erase(leavers.begin() + static_cast<ptrdiff_t>(i));
    } else {
      gone[leavers[i].holder] = true;
    }
  }
  return leavers;
}

std::optional<Rooms::MadeRoom> Rooms::make_room(const Wish& wish, Minutes limit, const GraceOf& grace_of) {
  if (wish.ask->unknown_node) return std::nullopt;
  find_holders();
  const Time ends = end_of(limit);
  Gone gone(holders_.size());
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Job* job = state_.jobs.find(holders_[i].job);
    const bool of_pass = job == nullptr || job->allocation == nullptr || holders_[i].nodes != &job->allocation->nodes;
    gone[i] = !of_pass && (state::is_leaving(*job) || leaving_.contains(job->id));
  }
  Placed placed = place_without(*wish.ask, ends, gone);
  std::vector<Leaver> leavers;
  if (!placed) {
    leavers = find_leavers(grace_of);
    if (leavers.empty()) return std::nullopt;
    size_t low = 1, high = leavers.size();  // as many of the first of them
    const auto place_with = [&](size_t count) {
      for (size_t i = 0; i < leavers.size(); ++i) gone[leavers[i].holder] = i < count;
      return place_without(*wish.ask, ends, gone);
    };
    placed = place_with(high);
    if (!placed) return std::nullopt;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      auto fewer = place_with(middle);
      if (fewer) placed = std::move(fewer);
      (fewer ? high : low) = fewer ? middle : middle + 1;
    }
    for (size_t i = 0; i < leavers.size(); ++i) gone[leavers[i].holder] = i < high;
    leavers.resize(high);
    leavers = needed_leavers(wish, ends, std::move(leavers), gone, *placed);
  }
  MadeRoom made{.forecast = {.start = now_}};
  for (const NodeAllocation& a : *placed) made.forecast.nodes.set(a.node);
  for (const Leaver& one : leavers) {
    Holder& holder = holders_[one.holder];
    holder.end = now_ + one.grace;
    made.leave.push_back(holder.job);
    leaving_.insert(holder.job);
  }
  for (size_t i = 0; i < holders_.size(); ++i) {
    const bool waits_for_it = gone[i] && touches(holders_[i], made.forecast.nodes);
    if (waits_for_it) made.forecast.start = std::max(made.forecast.start, holders_[i].end);
  }
  take(*wish.job, *wish.ask, *placed, limit);
  return made;
}

}  // namespace sluice::sched
