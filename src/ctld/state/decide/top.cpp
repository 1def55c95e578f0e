// scontrol top: a job goes before its user's others. They exchange their priorities by their nice values, so that nobody
// else's jobs are passed by.
#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/targets.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

constexpr int64_t kMostNice = 2'147'483'645;  // as --nice takes it

Status may_top(const ClusterState& state, const Job& job, Identity who) {
  const bool own = who.uid == job.spec->uid && has_option(state.config->scheduler_parameters, "enable_user_top");
  if (!own && !is_admin(state, who.uid)) return failure(ErrorCode::kAccessDenied);
  if (job.state != JobState::kPending) return failure(ErrorCode::kJobNotPending);
  if (job.hold != HoldKind::kNone) return failure(ErrorCode::kJobHeld);
  return {};
}

bool are_rivals(const Job& a, const Job& b) {
  return b.state == JobState::kPending && b.hold == HoldKind::kNone && a.spec->uid == b.spec->uid &&
         a.partition == b.partition && a.spec->account == b.spec->account && a.spec->qos == b.spec->qos;
}

// The priority that was computed with the job's nice value, or is set, becomes `wanted`.
void give_priority(Draft& draft, const JobRank& job, uint32_t wanted, Time now) {
  if (job.priority == wanted) return;
  const Job& record = draft.job(job.job);
  JobSpec spec = *record.spec;
  if (spec.priority != UINT32_MAX) {
    spec.priority = wanted;
  } else {
    const int64_t nice = int64_t{spec.nice} + job.priority - wanted;
    spec.nice = static_cast<int32_t>(std::clamp<int64_t>(nice, -kMostNice, kMostNice));
  }
  draft.emit(with_spec(record, spec, now));
}

Status top(Draft& draft, JobId id, const TopJob& command, Time now) {
  const Job& job = draft.job(id);
  if (Status may = may_top(draft.state(), job, command.who); !may) return may;
  std::vector<JobRank> rivals;
  for (const JobRank& rank : command.ranks) {
    const Job* other = draft.state().jobs.find(rank.job);
    if (other != nullptr && are_rivals(job, *other)) rivals.push_back(rank);
  }
  std::ranges::sort(rivals, [](const JobRank& a, const JobRank& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.job < b.job;
  });
  const auto it = std::ranges::find(rivals, id, &JobRank::job);
  if (it == rivals.end()) return failure(ErrorCode::kRetry);  // the scheduler has not seen it yet
  std::vector<uint32_t> priorities;
  for (const JobRank& rank : rivals) priorities.push_back(rank.priority);
  std::rotate(rivals.begin(), it, it + 1);
  for (size_t at = 0; at < rivals.size(); ++at) give_priority(draft, rivals[at], priorities[at], now);
  return {};
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const TopJob& command, Time now) {
  return for_each_target(state, command.target,
                         [&](Draft& draft, JobId id) { return top(draft, id, command, now); });
}

}  // namespace sluice::state
