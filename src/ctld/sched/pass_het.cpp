// Heterogeneous jobs in a pass: all components find room, one beside the other, or none starts.
#include <algorithm>

#include "ctld/sched/idle_placement.hpp"
#include "ctld/sched/pass_run.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

using state::Partition;

// Tells the first component, as the candidate, and the others, whose entries follow its own: their
// ids do.
void PassRun::wait_het(const Candidate& c, JobReason reason, const std::string& detail) {
  const JobId leader = jobs_[c.entry]->id;
  for (uint32_t entry = c.entry; entry < jobs_.size(); ++entry) {
    const Job& job = *jobs_[entry];
    if (job.het == nullptr || job.het->leader != leader) return;
    wait({c.rank, entry, c.partition}, reason, detail);
  }
}

std::vector<PassRun::HetPart> PassRun::het_parts(const Candidate& c) {
  std::vector<HetPart> parts;
  const state::ClusterState& state = state_;
  const HetInfo& het = *jobs_[c.entry]->het;
  for (uint32_t offset = 0; offset < het.size; ++offset) {
    const uint32_t entry = c.entry + offset;
    const Job* job = entry < jobs_.size() ? jobs_[entry] : nullptr;
    const bool waits = job != nullptr && job->het != nullptr && job->het->leader == het.leader;
    if (!waits || job->het->offset != offset) return {};  // one still ends its last run
    if (state::is_too_late(*job, now_)) {                 // all are about to be ended
      wait_het(c, JobReason::kDeadLine);
      return {};
    }
    if (why_not_eligible(*job, now_)) {
      wait_het(c, JobReason::kResources);
      return {};
    }
    const state::ReservationChoice choice = state::choose_reservations(state, *job, now_);
    if (choice.named && choice.usable.empty()) {
      wait_het(c, choice.invalid ? JobReason::kReservationInvalid : JobReason::kReservation);
      return {};
    }
    const Reservation* reservation = choice.named ? choice.usable.front() : nullptr;
    HetPart part{entry, job, nullptr, nullptr};
    std::optional<JobReason> refused;
    const std::vector<uint32_t> partitions =
        offset == 0 ? std::vector<uint32_t>{c.partition} : partitions_of(*job);
    for (const uint32_t p : partitions) {
      const Partition& partition = (*state.partitions)[p];
      const auto reason = why_partition_refuses(state, *job, partition);
      Demand* demand = reason ? nullptr : &demand_of(*job, partition, reservation);
      if (demand != nullptr && demand->request) {
        part.partition = &partition;
        part.demand = demand;
        break;
      }
      if (!refused) refused = reason.value_or(JobReason::kBadConstraints);
    }
    if (part.demand == nullptr) {
      wait({c.rank, entry, c.partition}, refused.value_or(JobReason::kBadConstraints));
      wait_het(c, JobReason::kResources);
      return {};
    }
    parts.push_back(part);
  }
  return parts;
}

std::optional<JobReason> PassRun::start_het(const std::vector<HetPart>& parts) {
  const size_t before = plan_.starts.size();
  const state::LicensePool licenses = licenses_;
  const state::HeldTables held = limits_.held();
  resources_.begin_trial();
  for (const HetPart& part : parts) {
    StartFinder::Wanted wanted =
        wanted_by(*part.job, *part.demand, limit_of(*part.job, *part.partition));
    wanted.latest = 0;
    ++plan_.counts.tested;
    std::optional<FoundStart> found;
    const Reservation* own = part.demand->request->reservation;
    const bool licensed = !lacks_licenses(*part.job, own, *part.partition);
    const Minutes limit = limit_of(*part.job, *part.partition);
    auto limited = limit_on(*part.job, *part.partition, *part.demand, limit);
    if (licensed && !limited) found = finder_of(*part.demand).first(wanted);
    if (found) limited = take_limits(*part.job, *part.partition, found->nodes, limit);
    if (!found || limited) {
      resources_.end_trial(false);
      licenses_ = licenses;
      limits_.put_back(held);
      plan_.starts.resize(before);
      ++failed_tests_;
      if (limited) return limited;
      return licensed ? JobReason::kResources : JobReason::kLicenses;
    }
    resources_.claim(*part.job, *part.demand->request, found->nodes, 0, wanted.duration);
    licenses_.take(*part.job->spec, {own, resources_.end_of(limit)});
    plan_start(*part.job, *part.demand->request, std::move(found->nodes), kNoTask);
  }
  resources_.end_trial(true);
  if (blocked_[static_cast<size_t>(parts.front().partition - state_.partitions->data())] > 0) {
    plan_.counts.backfilled_components += static_cast<uint32_t>(parts.size());
    for (size_t at = before; at < plan_.starts.size(); ++at) plan_.starts[at].backfilled = true;
  }
  for (const HetPart& part : parts) {
    license_plan_.claim(*part.job->spec, part.demand->request->reservation, 0,
                        resources_.duration_of(limit_of(*part.job, *part.partition)));
    gone_[part.entry] = true;
  }
  return std::nullopt;
}

void PassRun::consider_het(const Candidate& c) {
  const std::vector<HetPart> parts = het_parts(c);
  if (parts.empty()) return;
  if (plan_.starts.size() + parts.size() > budget_.most_starts ||
      failed_tests_ >= budget_.most_tests) {
    return wait_het(c, JobReason::kPriority);
  }
  const auto lacking = start_het(parts);
  if (!lacking) return;
  if (*lacking != JobReason::kResources) return wait_het(c, *lacking);
  for (const HetPart& part : parts) {
    const StageScope scope(timer_, Stage::kExplain);
    const Waiting waiting =
        why_not_placed(resources_, *part.demand->request, limit_of(*part.job, *part.partition));
    if (!waiting.for_nodes) {
      wait({c.rank, part.entry, c.partition}, waiting.reason, waiting.detail);
      return wait_het(c, JobReason::kResources);
    }
  }
  wait_het(c, blocked_[c.partition] > 0 ? JobReason::kPriority : JobReason::kResources);
  if (preempt_for_het(c, parts)) return;
  if (may_plan(c) && !planned_[c.entry]) plan_het(c, parts);
}

bool PassRun::preempt_for_het(const Candidate& c, const std::vector<HetPart>& parts) {
  const auto blocked = [&](const HetPart& part) {
    const auto partition = static_cast<uint32_t>(part.partition - state_.partitions->data());
    return Blocked{{c.rank, part.entry, partition}, part.demand};
  };
  const auto may = [&](const HetPart& part) { return may_preempt(blocked(part)); };
  if (std::ranges::none_of(parts, may)) return false;
  const StageScope scope(timer_, Stage::kPreempt);
  const size_t before = plan_.preemptions.size();
  Gone preempted = preemption_.preempted();
  const auto suspended = suspended_;
  Time start = now_;
  Bitmap nodes;
  const auto find_room = [&](const HetPart& part) {
    StartFinder::Wanted wanted =
        wanted_by(*part.job, *part.demand, limit_of(*part.job, *part.partition));
    wanted.latest = 0;
    if (lacks_licenses(*part.job, part.demand->request->reservation, *part.partition)) return false;
    if (auto found = finder_of(*part.demand).first(wanted)) {
      const Minutes limit = limit_of(*part.job, *part.partition);
      if (take_limits(*part.job, *part.partition, found->nodes, limit)) return false;
      resources_.claim(*part.job, *part.demand->request, found->nodes, 0, wanted.duration);
      for (const NodeAllocation& a : found->nodes) nodes.set(a.node);
      return true;
    }
    bool limited = false;
    const auto made = may(part) ? make_room(blocked(part), limited) : std::nullopt;
    if (!made) return false;
    start = std::max(start, made->start);
    nodes |= made->nodes;
    return true;
  };
  const state::HeldTables held = limits_.held();
  resources_.begin_trial();
  const bool all = std::ranges::all_of(parts, find_room);
  resources_.end_trial(all);
  if (!all) {
    limits_.put_back(held);
    plan_.preemptions.resize(before);
    preemption_.restore(std::move(preempted));
    suspended_ = suspended;
    return false;
  }
  for (const HetPart& part : parts) {
    set_forecast({c.rank, part.entry, c.partition}, start, nodes);
    gone_[part.entry] = true;
  }
  return true;
}

bool PassRun::plan_het_at(const std::vector<HetPart>& parts, Tick at, Bitmap& nodes) {
  resources_.begin_trial();
  for (const HetPart& part : parts) {
    const StartFinder::Wanted wanted =
        wanted_by(*part.job, *part.demand, limit_of(*part.job, *part.partition));
    auto placed = finder_of(*part.demand).place_at(at, wanted);
    if (!placed) {
      resources_.end_trial(false);
      return false;
    }
    resources_.claim(*part.job, *part.demand->request, *placed, at, at + wanted.duration);
    for (const NodeAllocation& a : *placed) nodes.set(a.node);
  }
  resources_.end_trial(true);
  return true;
}

// The earliest moment at which all components find room beside one another. Components that never
// do together keep nothing: that would help nobody.
void PassRun::plan_het(const Candidate& c, const std::vector<HetPart>& parts) {
  constexpr int kMostMoments = 200;
  const StageScope scope(timer_, Stage::kBackfill);
  std::vector<const Request*> requests;
  requests.reserve(parts.size());
  for (const HetPart& part : parts) requests.push_back(&*part.demand->request);
  if (!fit_together(resources_, requests)) return;
  Tick at = 0;
  for (int moment = 0; moment < kMostMoments; ++moment) {
    for (const HetPart& part : parts) {
      StartFinder::Wanted wanted =
          wanted_by(*part.job, *part.demand, limit_of(*part.job, *part.partition));
      wanted.from = at;
      const auto found = find_start(*part.demand, *part.job, wanted);
      if (!found) return;
      at = found->at;
    }
    Bitmap nodes;
    if (plan_het_at(parts, at, nodes)) {
      for (const HetPart& part : parts) {
        ++blocked_[static_cast<size_t>(part.partition - state_.partitions->data())];
        planned_[part.entry] = true;
        set_forecast({c.rank, part.entry, c.partition}, resources_.time_of(at), nodes);  // of all
      }
      ++plan_.counts.planned;
      return;
    }
    Tick next = timeline::kNoTick;
    for (const HetPart& part : parts) {
      const StartFinder::Wanted wanted =
          wanted_by(*part.job, *part.demand, limit_of(*part.job, *part.partition));
      next = std::min(next, finder_of(*part.demand).next_after(at, wanted));
    }
    if (next == timeline::kNoTick) return;
    at = next;
  }
}

}  // namespace sluice::sched
