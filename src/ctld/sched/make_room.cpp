// Room that a job has when others leave. The order in which they are looked at, and that no more
// leave than it takes, follow what Slurm documents of preemption (PreemptParameters, PriorityTier).
#include <algorithm>
#include <tuple>

#include "common/base/text.hpp"
#include "ctld/sched/rooms.hpp"
#include "ctld/state/rules/preemption.hpp"

namespace sluice::sched {
namespace {

// The components that are told together with this one: all, unless the first is over.
std::vector<JobId> leave_together(const state::ClusterState& state, const Job& job) {
  const Job* leader = job.het == nullptr ? nullptr : state.jobs.find(job.het->leader);
  const bool alone = leader == nullptr || leader->het == nullptr || is_completing(*leader) ||
                     is_terminal(leader->state);
  if (alone) return {job.id};
  std::vector<JobId> all;
  state::for_components(state, *job.het, [&](const Job& one) { all.push_back(one.id); });
  return all;
}

// Of a heterogeneous job it is the first component that was told to.
bool leaves_already(const state::ClusterState& state, const Job& job) {
  if (state::is_leaving(job) || !is_het_follower(job)) return state::is_leaving(job);
  const Job* leader = state.jobs.find(job.het->leader);
  return leader != nullptr && leader->het != nullptr && leader->grace_end != kNoTime;
}

}  // namespace

bool Rooms::touches(const Holder& holder, const Bitmap& nodes) const {
  for (size_t at = 0; at < holder.nodes->size(); ++at) {
    if (!holder.gave_back(at) && nodes.test((*holder.nodes)[at].node)) return true;
  }
  return false;
}

bool Rooms::starts_now(const Holder& holder) const {
  const Job* job = state_.jobs.find(holder.job);
  return job == nullptr || job->allocation == nullptr || holder.nodes != &job->allocation->nodes;
}

std::vector<Rooms::Leaver> Rooms::find_leavers(const GraceOf& grace_of) const {
  const bool asked_for = has_option(state_.config->preempt_parameters, "youngest_first");
  // as Slurm had it once
  const bool asked_before =
      has_option(state_.config->scheduler_parameters, "preempt_youngest_first");
  const bool youngest_first = asked_for || asked_before;
  std::vector<std::pair<std::tuple<uint32_t, int64_t, JobId>, Leaver>> found;
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& h = holders_[i];
    if (starts_now(h) || leaving_.contains(h.job)) continue;
    const Job* job = state_.jobs.find(h.job);
    const auto grace = grace_of(*job);
    if (!grace) continue;
    const uint32_t tier = h.partition == nullptr ? 0 : h.partition->config->priority_tier;
    const int64_t worth =
        youngest_first ? (now_ - job->start).count() : static_cast<int64_t>(h.nodes->size());
    found.push_back({{tier, worth, UINT32_MAX - h.job}, {i, *grace}});
  }
  std::ranges::sort(found, {}, [](const auto& one) { return one.first; });
  std::vector<Leaver> leavers;
  leavers.reserve(found.size());
  for (const auto& one : found) leavers.push_back(one.second);
  return leavers;
}

Rooms::Placed Rooms::place_without(const Ask& ask, Time ends, const Gone& gone,
                                   const Bitmap* only) const {
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

std::vector<Rooms::Leaver> Rooms::needed_leavers(const Wish& wish, Time ends,
                                                 std::vector<Leaver> leavers, Gone& gone,
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

// Those of its components that need not leave go with the one that does.
void Rooms::have_leave(const Leaver& leaver) {
  const std::vector<JobId> all =
      leave_together(state_, state_.jobs.at(holders_[leaver.holder].job));
  leaving_.insert(all.begin(), all.end());
  if (all.size() == 1) {
    holders_[leaver.holder].end = now_ + leaver.grace;
    return;
  }
  for (Holder& holder : holders_) {
    const bool goes = !starts_now(holder) && std::ranges::find(all, holder.job) != all.end();
    if (goes) holder.end = now_ + leaver.grace;
  }
}

// As many of the first leavers as it takes; of them those that it really takes are left, and their
// holders are gone.
Rooms::Placed Rooms::place_with_leavers(const Wish& wish, Time ends, std::vector<Leaver>& leavers,
                                        Gone& gone) const {
  if (leavers.empty()) return std::nullopt;
  const auto place_with = [&](size_t count) {
    for (size_t i = 0; i < leavers.size(); ++i) gone[leavers[i].holder] = i < count;
    return place_without(*wish.ask, ends, gone);
  };
  size_t low = 1, high = leavers.size();
  Placed placed = place_with(high);
  if (!placed) return std::nullopt;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    auto fewer = place_with(middle);
    const bool enough = fewer.has_value();
    if (enough) placed = std::move(fewer);
    (enough ? high : low) = enough ? middle : middle + 1;
  }
  for (size_t i = 0; i < leavers.size(); ++i) gone[leavers[i].holder] = i < high;
  leavers.resize(high);
  leavers = needed_leavers(wish, ends, std::move(leavers), gone, *placed);
  return placed;
}

std::optional<Rooms::MadeRoom> Rooms::make_room(const Wish& wish, Minutes limit,
                                                const GraceOf& grace_of) {
  if (wish.ask->unknown_node) return std::nullopt;
  find_holders();
  // nobody leaves for what it could not use yet, nor for what it need not insist on any more
  Ask ask = *wish.ask;
  const Patience insists = patience(ask, *wish.job);
  ask.needs.may_change = ask.needs.may_change && insists.may_change;
  ask.switches.most = insists.most_switches;
  const Time ends = end_of(limit);
  Gone gone(holders_.size());
  for (size_t i = 0; i < holders_.size(); ++i) {
    if (starts_now(holders_[i])) continue;
    const Job& job = state_.jobs.at(holders_[i].job);
    gone[i] = leaves_already(state_, job) || leaving_.contains(job.id);
  }
  Placed placed = place_without(ask, ends, gone);
  std::vector<Leaver> leavers;
  if (!placed) {
    leavers = find_leavers(grace_of);
    placed = place_with_leavers({wish.job, &ask}, ends, leavers, gone);
    if (!placed) return std::nullopt;
  }
  MadeRoom made{.forecast = {.start = now_}};
  for (const NodeAllocation& a : *placed) made.forecast.nodes.set(a.node);
  for (const Leaver& one : leavers) {
    made.leave.push_back(holders_[one.holder].job);
    have_leave(one);
  }
  for (size_t i = 0; i < holders_.size(); ++i) {
    const bool waits_for_it = gone[i] && touches(holders_[i], made.forecast.nodes);
    if (waits_for_it) made.forecast.start = std::max(made.forecast.start, holders_[i].end);
  }
  take(*wish.job, ask, *placed, limit);
  return made;
}

}  // namespace sluice::sched
