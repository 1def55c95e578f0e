// scancel with filters: all jobs, array tasks and steps that pass them, found and ended in one
// decision.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ctld/state/decide/job/signal.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/job_filter.hpp"

namespace sluice::state {
namespace {

// One that is over, and will not run again, is nothing to cancel.
bool is_active(const Job& job) {
  return !is_finished(job) && (!is_completing(job) || (job.flags & kJobRequeued) != 0);
}

// What was found: records, of that with an array's waiting tasks perhaps some only, and steps.
class Selection {
 public:
  // `ends`: whoever ends the first component of a heterogeneous job ends the others.
  Selection(const ClusterState& state, const JobFilter& filter, bool ends)
      : state_(state), filter_(filter) {
    if (filter.targets().empty()) {
      state.pending.for_each([&](JobId id) { take(id, nullptr); });
      state.active.for_each([&](JobId id) { take(id, nullptr); });
    }
    for (size_t at = 0; at < filter.targets().size(); ++at) {
      const JobTarget& target = filter.targets()[at];
      const bool there =
          target.step ? take_step(target, filter.request().ids[at]) : take_named(target);
      if (!there) missing_.push_back(filter.request().ids[at]);
    }
    if (!ends) return;
    std::erase_if(records_, [&](const auto& record) {
      const Job& job = state.jobs.at(record.first);
      return is_het_follower(job) && records_.contains(job.het->leader);
    });
  }

  struct Step {
    StepId id;
    std::string name;
  };
  [[nodiscard]] const std::map<JobId, IndexSet>& records() const {
    return records_;
  }  // the waiting tasks meant; none: all
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] std::vector<std::string> missing() && { return std::move(missing_); }

 private:
  // Whether it is there at all. `tasks`: of its waiting ones; null: the record.
  bool take(JobId id, const IndexSet* tasks) {
    const Job* job = state_.jobs.find(id);
    if (job == nullptr || !is_active(*job) || !filter_.sees(*job)) return false;
    if (!filter_.passes(*job)) return true;
    const auto [at, fresh] = records_.try_emplace(id, tasks == nullptr ? IndexSet() : *tasks);
    if (fresh || at->second.empty()) return true;
    if (tasks != nullptr) at->second.insert(*tasks);
    if (tasks == nullptr || at->second == job->array->pending) at->second.clear();
    return true;
  }

  bool take_named(const JobTarget& target) {
    const auto found = find_targets(state_, target);
    if (!found) return false;
    bool there = false;
    for (const JobId id : found->records) there = take(id, nullptr) || there;
    if (!found->pending_tasks.empty())
      there = take(found->array_record, &found->pending_tasks) || there;
    return there;
  }

  bool take_step(const JobTarget& target, const std::string& name) {
    const auto id = find_step_job(state_, target);
    const Job* job = id ? state_.jobs.find(*id) : nullptr;
    if (job == nullptr || !is_active(*job) || !filter_.sees(*job)) return false;
    const StepId step{*id, *target.step};
    if (filter_.passes(*job) && taken_.insert(step).second) steps_.push_back({step, name});
    return true;
  }

  const ClusterState& state_;
  const JobFilter& filter_;
  std::map<JobId, IndexSet> records_;
  std::vector<Step> steps_;  // each once, in the order in which they were named
  std::set<StepId> taken_;
  std::vector<std::string> missing_;
};

std::string shown_name(const Job& job, const IndexSet& tasks) {
  if (job.array == nullptr) return std::to_string(job.id);
  const ArrayInfo& array = *job.array;
  if (array.task != kNoTask) return fmt::format("{}_{}", array.array_job, array.task);
  return fmt::format("{}_[{}]", array.array_job,
                     array_task_text(tasks.empty() ? array.pending : tasks, array.max_running, 0));
}

Status cancel_tasks(Draft& draft, JobId id, const IndexSet& tasks, const SignalJob& order,
                    Time now) {
  if (!is_owner_or_admin(draft.state(), draft.job(id), order.who.uid))
    return failure(ErrorCode::kAccessDenied);
  if (!ends_the_job(order)) return failure(ErrorCode::kJobPending);
  draft.emit(ArrayTasksCancelled{
      .array_job = id, .tasks = tasks, .cancelled_by = order.who.uid, .time = now});
  return {};
}

// What -i asks about.
protocol::CancelJobsReply describe(const ClusterState& state, Selection selection) {
  protocol::CancelJobsReply reply;
  const auto note = [&](std::string target, const Job& job) {
    reply.outcomes.push_back(
        {std::move(target), ErrorCode::kOk, {}, job.spec->name.str(), job.partition.str()});
  };
  for (const auto& [id, tasks] : selection.records()) {
    const Job& job = state.jobs.at(id);
    note(shown_name(job, tasks), job);
  }
  for (const Selection::Step& step : selection.steps()) note(step.name, state.jobs.at(step.id.job));
  reply.missing = std::move(selection).missing();
  return reply;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const CancelJobs& command, Time now) {
  constexpr uint32_t kLastSignal = 64;
  if (command.signal > kLastSignal) return failure(ErrorCode::kInvalidSignal);
  const SignalJob order{command.who, {}, command.signal, command.flags};
  Selection selection(state, *command.filter, ends_the_job(order));
  Draft draft(state);
  if (command.find_only) return draft.take(describe(state, std::move(selection)));
  protocol::CancelJobsReply reply;
  const auto note = [&reply](std::string target, const Status& done) {
    auto& outcome = reply.outcomes.emplace_back();
    outcome.target = std::move(target);
    if (!done) outcome.code = done.error().code, outcome.text = done.error().text;
  };
  for (const auto& [id, tasks] : selection.records()) {
    std::string name = shown_name(draft.job(id), tasks);
    note(std::move(name), tasks.empty() ? signal_job(draft, id, order, now)
                                        : cancel_tasks(draft, id, tasks, order, now));
  }
  SignalJob of_steps = order;
  of_steps.flags &= ~protocol::kSignalCancel;
  if (command.ends_steps) of_steps.flags |= protocol::kSignalCancel;
  for (const Selection::Step& step : selection.steps())
    note(step.name, signal_step(draft, step.id, of_steps, now));
  reply.missing = std::move(selection).missing();
  return draft.take(std::move(reply));
}

}  // namespace sluice::state
