// Heterogeneous jobs in a pass: all components find room, one beside the other, or none starts.
#include <algorithm>

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
      wait_het(c, JobReason::kReservation);
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
      if (demand != nullptr && demand->ask) {
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
  rooms_.begin_trial();
  for (const HetPart& part : parts) {
    const Minutes limit = limit_of(*part.job, *part.partition);
    ++plan_.counts.tested;
    std::optional<std::vector<NodeAllocation>> chosen;
    const bool licensed = licenses_.lacking(*part.job->spec).empty();
    if (licensed)
      chosen =
          rooms_.place_now(*part.demand->ask, limit, rooms_.patience(*part.demand->ask, *part.job));
    if (!chosen) {
      rooms_.end_trial(false);
      licenses_ = licenses;
      plan_.starts.resize(before);
      ++failed_tests_;
      return licensed ? JobReason::kResources : JobReason::kLicenses;
    }
    rooms_.take(*part.job, *part.demand->ask, *chosen, limit);
    licenses_.take(*part.job->spec);
    plan_start(*part.job, *part.demand->ask, std::move(*chosen), kNoTask);
  }
  rooms_.end_trial(true);
  for (const HetPart& part : parts) gone_[part.entry] = true;
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
  if (*lacking == JobReason::kLicenses) return wait_het(c, *lacking);
  std::vector<Rooms::Wish> wishes;
  for (const HetPart& part : parts) {
    const Waiting waiting =
        why_not_placed(state_, rooms_, *part.demand->ask, limit_of(*part.job, *part.partition));
    if (!waiting.for_nodes) {
      wait({c.rank, part.entry, c.partition}, waiting.reason, waiting.detail);
      return wait_het(c, JobReason::kResources);
    }
    wishes.push_back({part.job, &*part.demand->ask});
  }
  wait_het(c, JobReason::kResources);
  if (blocked_[c.partition]) return;
  const auto forecast = rooms_.reserve_earliest(wishes);
  // never together on the nodes that there are: keeping some would help nobody
  if (!forecast) return;
  for (const HetPart& part : parts) {
    blocked_[static_cast<size_t>(part.partition - state_.partitions->data())] = true;
    SchedulerHints& soft = soft_->jobs[part.entry].soft;
    soft.expected_start = forecast->start;
    soft.planned_nodes = state::node_list(state_, forecast->nodes);  // of all components
  }
}

}  // namespace sluice::sched
