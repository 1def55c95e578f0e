#include "ctld/sched/kept_plan.hpp"

#include <algorithm>

#include "ctld/fit/needs.hpp"
#include "ctld/sched/node_share.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using state::ClusterState;

namespace {

// With more nodes that have become free a search for the job costs no more than to ask them all.
constexpr size_t kMostFreed = 64;

bool floats(const Reservation& reservation) {
  return (reservation.flags & kReservationTimeFloat) != 0;
}

// Reservations begin and end as was known; one that floats moves with the time.
bool are_as_planned(const ClusterState& state) {
  return std::ranges::none_of(*state.reservations, floats);
}

bool same_part(const NodeAllocation& a, const NodeAllocation& b) {
  return a.node == b.node && a.memory_mib == b.memory_mib && a.cores == b.cores;
}

bool same_nodes(const std::vector<NodeAllocation>& a, const std::vector<NodeAllocation>& b) {
  return std::ranges::equal(a, b, same_part);
}

// Whether it is the same to jobs, what they hold apart.
bool is_same_node(const Node& a, const Node& b) {
  return &a == &b ||
         (a.config == b.config && a.hardware == b.hardware && a.base == b.base &&
          a.flags == b.flags && a.removed == b.removed && a.weight == b.weight &&
          a.active_features == b.active_features && a.features_chosen == b.features_chosen &&
          a.features_reported == b.features_reported && a.gres == b.gres);
}

}  // namespace

PlanRepair::PlanRepair(const Resources& resources, std::shared_ptr<const KeptPlan> kept)
    : resources_(resources), kept_(std::move(kept)) {
  if (!is_usable()) kept_ = nullptr;
  if (kept_ == nullptr) return;
  settled_.resize(kept_->starts.size());
  freed_when_.resize(resources_.state().next_node_id);
  note_changed_nodes();
  note_ended_jobs();
}

void PlanRepair::note_freed(NodeId node, Tick from, Tick to) {
  if (from >= to || node >= freed_when_.size()) return;
  timeline::Closing& when = freed_when_[node];
  if (!freed_.test(node)) {
    freed_.set(node);
    ++freed_count_;
    when = {from, to};
  }
  when = {std::min(when.from, from), std::max(when.to, to)};
}

bool PlanRepair::is_usable() const {
  if (kept_ == nullptr) return false;
  const ClusterState &before = kept_->before, &now = resources_.state();
  return before.config == now.config && before.partitions == now.partitions &&
         before.reservations == now.reservations && kept_->made <= resources_.now() &&
         resources_.topology() == nullptr && are_as_planned(now) && !state::preempts(now) &&
         !now.config->preempt_gang;  // who ends makes others end earlier
}

// Of a node that is not what it was nothing is known.
void PlanRepair::note_changed_nodes() {
  const ClusterState& before = kept_->before;
  resources_.state().nodes.for_each([&](const Node& node) {
    const Node* was = before.nodes.find(node.id);
    if (was == nullptr || !is_same_node(*was, node)) note_freed(node.id, 0, timeline::kNoTick);
  });
}

// Nodes of jobs that ran, and hold less now or for a shorter time.
void PlanRepair::note_ended_jobs() {
  const ClusterState &before = kept_->before, &now = resources_.state();
  before.active.for_each([&](JobId id) {
    const Job& was = before.jobs.at(id);
    const Job* is = now.jobs.find(id);
    if (is == &was || !was.allocation) return;
    const bool holds =
        is != nullptr && is->allocation == was.allocation && is->released == was.released &&
        is->state == was.state &&
        expected_end(now, *is, resources_.now()) >= expected_end(before, was, kept_->made);
    if (holds) return;
    // what was overdue was held for a tick
    const Tick end = resources_.tick_from(
        std::max(expected_end(before, was, kept_->made), kept_->made + kept_->resolution));
    nodes_of(was).for_each([&](size_t at) { note_freed(static_cast<NodeId>(at), 0, end); });
  });
}

void PlanRepair::free_nodes_of(const KeptStart& start) {
  const Tick from = resources_.tick_from(start.start);
  for (const NodeAllocation& part : *start.nodes) note_freed(part.node, from, from + start.length);
}

// The job has not had its turn, or is no more: others may have what it was to hold, unless it
// started as it was planned.
void PlanRepair::skip(const KeptStart& start) {
  const Job* job = resources_.state().jobs.find(start.job);
  const bool runs = job != nullptr && job->state == JobState::kRunning && job->allocation &&
                    same_nodes(job->allocation->nodes, *start.nodes);
  if (runs) {
    const Tick held =
        resources_.tick_from(expected_end(resources_.state(), *job, resources_.now()));
    const Tick planned = resources_.tick_from(start.start) + start.length;
    if (held >= planned) return;
  }
  free_nodes_of(start);
}

std::span<const KeptStart> PlanRepair::starts_of(JobId job) const {
  const auto found = kept_->places.find(job);
  if (found == kept_->places.end()) return {};
  const std::span<const KeptStart> from = std::span(kept_->starts).subspan(found->second);
  const auto behind = std::ranges::find_if(from, [job](const auto& s) { return s.job != job; });
  return from.first(static_cast<size_t>(behind - from.begin()));
}

void PlanRepair::begin_turn(JobId job) {
  turn_ = job;
  if (kept_ == nullptr) return;
  const std::span<const KeptStart> own = starts_of(job);
  if (own.empty()) return;
  const auto place = static_cast<uint32_t>(own.data() - kept_->starts.data());
  for (; next_ < place; ++next_) {
    if (!settled_[next_]) skip(kept_->starts[next_]);
  }
}

bool PlanRepair::may_improve(const Request& request, Tick start, Tick duration) const {
  if (freed_count_ > kMostFreed) return true;
  const NodeShare share(resources_, request);
  timeline::NodeTimeline::Wanted wanted;
  wanted.duration = duration;
  timeline::Free scratch;
  Bitmap nodes = freed_;
  nodes &= request.partition->nodes;
  bool may = false;
  nodes.for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    const auto [from, to] = freed_when_[at];
    const fit::Room* idle = resources_.idle(id);
    // it would run while more is free
    wanted.from = from < duration ? 0 : from - duration + 1;
    const Tick before = std::min(start, to);
    if (may || idle == nullptr || wanted.from >= before || request.excluded.test(id)) return;
    if (!serves_unchanged(request, idle->features())) return;
    may = resources_.timeline().node(id).next_start(id, wanted, share, scratch).first < before;
  });
  return may;
}

const KeptStart* PlanRepair::may_keep(const Request& request, Tick duration) {
  if (kept_ == nullptr) return nullptr;
  const std::span<const KeptStart> own = starts_of(turn_);
  const Job& job = resources_.state().jobs.at(turn_);
  if (own.size() != 1 || !own[0].stays || own[0].spec != job.spec ||
      own[0].partition != request.partition || own[0].length != duration)
    return nullptr;
  const Tick start = resources_.tick_from(own[0].start);
  const bool stays =
      start > 0 && resources_.is_free(request, *own[0].nodes, start, start + duration);
  return stays && !may_improve(request, start, duration) ? own.data() : nullptr;
}

bool PlanRepair::is_same(std::span<const KeptStart> old, std::span<const Claimed> now) const {
  return std::ranges::equal(old, now, [this](const KeptStart& was, const Claimed& is) {
    const Tick start = resources_.tick_from(was.start);
    const bool on_time = is.from <= start && start + was.length <= is.to;
    return on_time && was.job == is.job && same_nodes(*was.nodes, *is.nodes);
  });
}

void PlanRepair::end_turn(std::span<const Claimed> claims) {
  if (kept_ == nullptr) return;
  const auto settle = [&](JobId job, std::span<const Claimed> now) {
    const std::span<const KeptStart> old = starts_of(job);
    const bool same = is_same(old, now);
    for (const KeptStart& start : old) {
      settled_[static_cast<size_t>(&start - kept_->starts.data())] = true;
      if (!same) free_nodes_of(start);
    }
  };
  bool had_own = false;
  while (!claims.empty()) {
    const JobId job = claims.front().job;
    const auto behind = std::ranges::find_if(claims, [job](const auto& c) { return c.job != job; });
    const auto count = static_cast<size_t>(behind - claims.begin());
    settle(job, claims.first(count));
    claims = claims.subspan(count);
    had_own = had_own || job == turn_;
  }
  if (!had_own) settle(turn_, {});
}

std::shared_ptr<const KeptPlan> keep_plan(const Resources& resources,
                                          const std::unordered_map<size_t, MayStay>& staying) {
  auto plan = std::make_shared<KeptPlan>();
  plan->before = resources.state();
  plan->made = resources.now();
  plan->resolution = resources.resolution();
  const std::span<const Claimed> claims = resources.claims();
  plan->starts.reserve(claims.size());
  for (size_t at = 0; at < claims.size(); ++at) {
    const Claimed& claim = claims[at];
    plan->places.try_emplace(claim.job, static_cast<uint32_t>(at));
    const auto stays = staying.find(at);
    plan->starts.push_back(
        {.job = claim.job,
         .spec = resources.state().jobs.at(claim.job).spec,
         .partition = claim.partition,
         .start = resources.time_of(claim.from),
         .length = claim.to - claim.from,
         .nodes = claim.nodes,
         .stays = stays == staying.end() ? std::nullopt : std::optional(stays->second)});
  }
  return plan;
}

}  // namespace sluice::sched
