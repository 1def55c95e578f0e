// Jobs that a limit holds back, and that run in the QOS of SluiceParameters=soft_limit_qos until
// somebody else needs their nodes.
#include <utility>

#include "ctld/sched/pass_run.hpp"
#include "ctld/state/limits/soft_qos.hpp"

namespace sluice::sched {

bool PassRun::may_run_softly(const Candidate& c) const {
  return soft_qos_ != nullptr && state::may_be_exceeded(*limited_) &&
         state::why_not_softly(state_, *jobs_[c.entry], (*state_.partitions)[c.partition],
                               *soft_qos_)
             .empty();
}

// All others have had their turn: a pass that ended before knows not whom it would delay.
void PassRun::start_softly() {
  const std::vector<Blocked> over_limits = std::exchange(over_limits_, {});
  const PassTimings& counts = plan_.counts;
  if (over_limits.empty() || counts.most_jobs || counts.most_of_partition || counts.most_starts)
    return;
  constexpr uint32_t kMostFailures = 100;  // each may look at all nodes
  uint32_t failures = 0;
  limits_.run_in(soft_qos_);
  softly_ = true;
  for (const Blocked& one : over_limits) {
    const uint32_t partition = one.candidate.partition;
    plan_.counts.out_of_time = counts.out_of_time || (budget_.out_of_time && budget_.out_of_time());
    if (counts.out_of_time || failures >= kMostFailures) break;
    if (plan_.starts.size() >= budget_.most_starts) break;
    plan_.settling = plan_.settling || settles_[partition];
    const bool waits_for_others = in_strict_order_ && blocked_[partition] > 0;
    if (gone_[one.candidate.entry] || settles_[partition] || waits_for_others) continue;
    const size_t before = plan_.starts.size();
    start_softly(one);
    if (plan_.starts.size() == before) ++failures;
  }
  softly_ = false;
  limits_.run_in(nullptr);
}

// What it keeps for later is not to be in its own way.
void PassRun::start_softly(const Blocked& blocked) {
  const auto& [c, demand] = blocked;
  const Job& job = *jobs_[c.entry];
  if (job.array) {
    start_tasks(c, *demand, false);
    return;
  }
  const std::vector<Claimed> planned = resources_.withdraw(job.id);
  if (!planned.empty()) may_stay_.clear();  // it goes by places among the claims
  if (try_start(c, *demand, kNoTask)) return;
  for (const Claimed& claim : planned)
    resources_.claim(job, *demand->request, claim.nodes, claim.from, claim.to);
}

}  // namespace sluice::sched
