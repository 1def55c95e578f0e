// scontrol top: jobs go before their user's others, who give away by their nice values what that
// takes, so that nobody else's jobs are passed by.
#include <algorithm>
#include <functional>
#include <iterator>
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

// What the jobs have by now; tasks that have got records just now are where their array
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

// As Slurm deals them. The k-th of the chosen gets the k-th highest priority of all that compete,
// and less than the one before it; the others, in their order, lose equal shares of
// what that gives away, and whoever would not come behind the chosen loses more.
void deal_priorities(std::vector<JobRank>& chosen, std::vector<JobRank>& others) {
  std::vector<int64_t> priorities;
  for (const auto* ranks : {&chosen, &others})
    for (const JobRank& rank : *ranks) priorities.push_back(rank.priority);
  std::ranges::sort(priorities, std::greater());
  int64_t given = 0;
  for (size_t at = 0; at < chosen.size(); ++at) {
    if (at > 0) priorities[at] = std::min(priorities[at], priorities[at - 1] - 1);
    const auto wanted = static_cast<uint32_t>(std::max<int64_t>(priorities[at], 1));
    given += int64_t{wanted} - chosen[at].priority;
    chosen[at].priority = wanted;
  }
  const int64_t most = std::max<int64_t>(int64_t{chosen.back().priority} - 1, 1);
  auto left = static_cast<int64_t>(others.size());
  for (JobRank& rank : others) {
    const int64_t before = rank.priority;
    const int64_t share = std::max<int64_t>(given, 0) / left--;
    const int64_t after = std::max<int64_t>(std::min(before - share, most), 1);
    given -= before - after;
    rank.priority = static_cast<uint32_t>(after);
  }
}

struct Competition {
  std::vector<JobRank> chosen, others;  // with what they have
};

// The chosen ones go before their rivals, in the order in which they were named.
void reorder(Draft& draft, const std::vector<JobId>& chosen, const TopJob& command,
             const Ranks& known, Time now) {
  const ClusterState before = draft.state();  // the keys are its texts
  std::map<Rivalry, Competition> groups;
  std::unordered_set<JobId> is_chosen(chosen.begin(), chosen.end());
  for (const JobId id : chosen) {
    const Job& job = before.jobs.at(id);
    groups[rivalry_of(job)].chosen.push_back({id, *known.priority_of(job)});
  }
  for (const JobRank& rank : command.ranks) {
    const Job* other = before.jobs.find(rank.job);
    if (other == nullptr || !competes(*other) || is_chosen.contains(rank.job)) continue;
    if (const auto at = groups.find(rivalry_of(*other)); at != groups.end())
      at->second.others.push_back(rank);
  }
  const auto give = [&](const std::vector<JobRank>& had, const std::vector<JobRank>& wanted) {
    for (size_t at = 0; at < had.size(); ++at)
      give_priority(draft, had[at], wanted[at].priority, now);
  };
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.others, {}, &JobRank::job);
    const Competition had = group;
    deal_priorities(group.chosen, group.others);
    give(had.chosen, group.chosen);
    give(had.others, group.others);
  }
}

// Of several jobs those that do not wait are passed over, as in Slurm; any other error is that of
// all of them.
Result<std::vector<JobId>> choose(Draft& draft, const TopJob& command, const Ranks& known,
                                  protocol::CountReply& reply) {
  const auto targets = split_targets(command.target);
  if (!targets) return tl::unexpected(targets.error());
  const bool several = targets->size() > 1;
  std::vector<JobId> chosen;
  Status passed_over;
  for (const std::string& target : *targets) {
    const auto choose_one = [&](Draft& tried, JobId id) -> Status {
      const Job& job = tried.job(id);
      if (Status may = may_top(tried.state(), job, command.who); !may) return may;
      if (!known.priority_of(job)) return failure(ErrorCode::kRetry);  // it came just now
      chosen.push_back(id);
      return {};
    };
    auto decision = for_each_target(draft.state(), command.who, target, choose_one);
    const auto code = decision ? ErrorCode::kOk : decision.error().code;
    if (several && (code == ErrorCode::kJobNotPending || code == ErrorCode::kJobHeld)) {
      passed_over = tl::unexpected(decision.error());
      continue;
    }
    if (!decision) return tl::unexpected(decision.error());
    for (Event& event : decision->events) draft.emit(std::move(event));
    auto& part = std::get<protocol::CountReply>(decision->reply);
    reply.count += part.count;
    std::ranges::move(part.errors, std::back_inserter(reply.errors));
  }
  if (chosen.empty() && !passed_over) return tl::unexpected(passed_over.error());
  return chosen;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const TopJob& command, Time now) {
  Draft draft(state);
  protocol::CountReply reply;
  const Ranks known(command.ranks);
  const auto chosen = choose(draft, command, known, reply);
  if (!chosen) return tl::unexpected(chosen.error());
  if (!chosen->empty()) reorder(draft, *chosen, command, known, now);
  return draft.take(std::move(reply));
}

}  // namespace sluice::state
