// scontrol top: a job goes before its user's others. They exchange their priorities by their nice
// values, so that nobody else's jobs are passed by.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "common/base/text.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

constexpr int64_t kMostNice = 2'147'483'645;  // as --nice takes it

Status may_top(const ClusterState& state, const Job& job, Identity who) {
  const bool own =
      who.uid == job.spec->uid && has_option(state.config->scheduler_parameters, "enable_user_top");
  if (!own && !is_operator(state, who.uid)) return failure(ErrorCode::kAccessDenied);
  if (job.state != JobState::kPending) return failure(ErrorCode::kJobNotPending);
  if (job.hold != HoldKind::kNone) return failure(ErrorCode::kJobHeld);
  return {};
}

// Whom a job may pass by: waiting ones that have all of this in common with it.
using Rivalry = std::tuple<uint32_t, std::string_view, std::string_view, std::string_view>;
Rivalry rivalry_of(const Job& job) {
  return {job.spec->uid, job.partition.view(), job.spec->account.view(), job.spec->qos.view()};
}
bool competes(const Job& job) {
  return job.state == JobState::kPending && job.hold == HoldKind::kNone;
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

// What the scheduler last gave the jobs; tasks that have got records just now are where their array
// was.
class Ranks {
 public:
  explicit Ranks(const std::vector<JobRank>& ranks) {
    for (const JobRank& rank : ranks) priorities_.emplace(rank.job, rank.priority);
  }
  [[nodiscard]] std::optional<uint32_t> priority_of(const Job& job) const {
    auto at = priorities_.find(job.id);
    if (at == priorities_.end() && job.array != nullptr)
      at = priorities_.find(job.array->array_job);
    return at == priorities_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::unordered_map<JobId, uint32_t> priorities_;
};

// Of jobs with one priority the scheduler takes the oldest first: one that is to go behind a
// younger one gets less.
void part_equal_ones(const std::vector<JobRank>& group, std::vector<uint32_t>& priorities) {
  for (size_t at = 1; at < group.size(); ++at) {
    const uint32_t before = priorities[at - 1];
    const bool is_older = group[at].job < group[at - 1].job;
    if (priorities[at] > before || (priorities[at] == before && is_older))
      priorities[at] = is_older && before > 1 ? before - 1 : before;
  }
}

// The chosen ones go before their rivals, in the order in which they were named. All priorities
// stay in use, save where some are the same.
void reorder(Draft& draft, const std::vector<JobId>& chosen, const TopJob& command,
             const Ranks& known, Time now) {
  const ClusterState before = draft.state();  // the keys are its texts
  std::map<Rivalry, std::vector<JobRank>> groups;
  std::unordered_set<JobId> is_chosen(chosen.begin(), chosen.end());
  for (const JobId id : chosen) {
    const Job& job = before.jobs.at(id);
    groups[rivalry_of(job)].push_back({id, *known.priority_of(job)});
  }
  std::map<Rivalry, size_t> counts;  // of the chosen ones
  for (const auto& [key, group] : groups) counts[key] = group.size();
  for (const JobRank& rank : command.ranks) {
    const Job* other = before.jobs.find(rank.job);
    if (other == nullptr || !competes(*other) || is_chosen.contains(rank.job)) continue;
    if (const auto at = groups.find(rivalry_of(*other)); at != groups.end())
      at->second.push_back(rank);
  }
  for (auto& [key, group] : groups) {
    std::vector<uint32_t> priorities;
    for (const JobRank& rank : group) priorities.push_back(rank.priority);
    std::ranges::sort(priorities, std::greater());
    std::sort(group.begin() + static_cast<ptrdiff_t>(counts[key]), group.end(),
              [](const JobRank& a, const JobRank& b) {
                return a.priority != b.priority ? a.priority > b.priority : a.job < b.job;
              });
    part_equal_ones(group, priorities);
    for (size_t at = 0; at < group.size(); ++at)
      give_priority(draft, group[at], priorities[at], now);
  }
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const TopJob& command, Time now) {
  std::optional<Ranks> known;  // made when there is one that may
  std::vector<JobId> chosen;
  auto decision =
      for_each_target(state, command.who, command.target, [&](Draft& draft, JobId id) -> Status {
        const Job& job = draft.job(id);
        if (Status may = may_top(draft.state(), job, command.who); !may) return may;
        // the scheduler has not seen it yet
        if (!known) known.emplace(command.ranks);
        if (!known->priority_of(job)) return failure(ErrorCode::kRetry);
        chosen.push_back(id);
        return {};
      });
  if (!decision || chosen.empty()) return decision;
  Draft draft(state);
  for (Event& event : decision->events) draft.emit(std::move(event));
  reorder(draft, chosen, command, *known, now);
  return draft.take(std::move(decision->reply));
}

}  // namespace sluice::state
