#include "ctld/sched/pass.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ctld/sched/rooms.hpp"
#include "ctld/sched/why.hpp"

namespace sluice::sched {
namespace {

using state::ClusterState;
using state::Partition;

// A pending record in one of the partitions it asks for.
struct Candidate {
  const Job* job = nullptr;
  const Partition* partition = nullptr;
  uint32_t priority = 0;
};

// Partition tier, priority, age in the queue, id: Slurm's order.
bool goes_before(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::tuple(~c.partition->config->priority_tier, ~c.priority, c.job->submit, c.job->id);
  };
  return key(a) < key(b);
}

class Pass {
 public:
  Pass(const ClusterState& state, const Policies& policies, Time now, const WorkBudget& budget)
      : state_(state), policies_(policies), now_(now), budget_(budget), rooms_(state, now) {}

  Plan run() {
    collect();
    std::ranges::sort(candidates_, goes_before);
    for (const Candidate& c : candidates_) consider(c);
    plan_.counts.started = static_cast<uint32_t>(plan_.starts.size());
    auto soft = std::make_shared<SoftView>();
    soft->made = now_;
    for (auto& [id, entry] : soft_) soft->jobs.push_back({id, std::move(entry)});
    plan_.soft = std::move(soft);
    return std::move(plan_);
  }

 private:
  // What is known of a partition while the pass goes on.
  struct Blocked {
    bool any = false;  // a job of higher priority waits for resources here
  };

  void collect() {
    state_.pending.for_each([&](JobId id) {
      const Job& job = state_.jobs.at(id);
      ++plan_.counts.pending;
      JobSoft& soft = soft_[id];
      soft.last_evaluated = now_;
      const std::optional<JobReason> waits = why_not_eligible(job, now_);
      soft.priority = job.hold == HoldKind::kNone ? 1 : 0;
      for (const std::string& name : state::partitions_of(state_, job)) {
        const Partition* partition = state::find_partition(state_, name);
        if (partition == nullptr) continue;
        uint32_t priority = job.spec->priority;
        if (priority == UINT32_MAX) priority = policies_.priority->priority(job, *partition->config, now_);
        if (job.hold == HoldKind::kNone) soft.priority = std::max(soft.priority, priority);
        if (!waits) candidates_.push_back({&job, partition, priority});
      }
      if (waits) soft.reason = *waits;
    });
  }

  void wait(const Job& job, JobReason reason, std::string detail = {}) {
    JobSoft& soft = soft_[job.id];
    // of several partitions, the one that is nearest to a start speaks for the job
    if (soft.reason != JobReason::kNone && soft.reason != JobReason::kPriority) return;
    soft.reason = reason;
    soft.reason_detail = std::move(detail);
  }

  void consider(const Candidate& c) {
    const Job& job = *c.job;
    if (started_whole_.contains(job.id)) return;
    soft_[job.id].partition = c.partition->config->name;
    if (const auto reason = why_partition_refuses(state_, job, *c.partition)) return wait(job, *reason);
    if (plan_.starts.size() >= budget_.most_starts || failed_tests_ >= budget_.most_tests) {
      return wait(job, JobReason::kPriority);
    }
    const auto needs = fit::needs_of(*job.spec, *c.partition->config, *state_.config);
    if (!needs) return wait(job, JobReason::kBadConstraints);
    if (job.array && job.array->task == kNoTask) return start_tasks(c, *needs);
    if (!try_start(c, *needs, kNoTask)) blocked(c, *needs);
  }

  // As many tasks of a pending array as fit and its %limit allows.
  void start_tasks(const Candidate& c, const fit::Needs& needs) {
    const Job& job = *c.job;
    uint32_t may = UINT32_MAX;
    if (job.array->max_running > 0) {
      const state::ArrayTasks* tasks = state_.arrays.find(job.array->array_job);
      const uint32_t running = (tasks != nullptr ? tasks->running : 0) + tasks_started_[job.array->array_job];
      may = job.array->max_running > running ? job.array->max_running - running : 0;
    }
    auto [left, fresh] = tasks_left_.try_emplace(job.id, job.array->pending);
    uint32_t started = 0;
    while (!left->second.empty()) {
      if (started >= may) {
        wait(job, JobReason::kJobArrayTaskLimit);
        break;
      }
      if (plan_.starts.size() >= budget_.most_starts || !try_start(c, needs, left->second.front())) {
        blocked(c, needs);
        break;
      }
      left->second.pop_first();
      ++started;
    }
    tasks_started_[job.array->array_job] += started;
    if (left->second.empty()) started_whole_.insert(job.id);
  }

  bool try_start(const Candidate& c, const fit::Needs& needs, uint32_t task) {
    ++plan_.counts.tested;
    const Minutes limit = limit_of(*c.job, *c.partition);
    auto chosen = rooms_.place_now(*c.job, *c.partition, needs, limit);
    if (!chosen) return false;
    rooms_.take(*chosen, needs.whole_nodes);
    auto allocation = std::make_shared<Allocation>();
    Bitmap nodes;
    for (const NodeAllocation& a : *chosen) {
      allocation->cpus += a.cpus;
      nodes.set(a.node);
    }
    allocation->nodes = std::move(*chosen);
    allocation->node_list = state::node_list(state_, nodes);
    allocation->whole_nodes = needs.whole_nodes;
    plan_.starts.push_back({c.job->id, task, c.partition->config->name, std::move(allocation)});
    if (task == kNoTask) started_whole_.insert(c.job->id);
    return true;
  }

  // The job has to wait for resources: say why, forecast its start, and keep its nodes for it.
  void blocked(const Candidate& c, const fit::Needs& needs) {
    ++failed_tests_;
    Blocked& here = blocked_[c.partition];
    const Waiting waiting = rooms_.why_waiting(*c.job, *c.partition, needs);
    if (waiting.reason != JobReason::kResources) return wait(*c.job, waiting.reason, waiting.detail);
    wait(*c.job, here.any ? JobReason::kPriority : JobReason::kResources, waiting.detail);
    if (here.any) return;
    here.any = true;
    if (const auto forecast = rooms_.reserve_earliest(*c.job, *c.partition, needs)) {
      JobSoft& soft = soft_[c.job->id];
      soft.expected_start = forecast->start;
      soft.planned_nodes = state::node_list(state_, forecast->nodes);
    }
  }

  const ClusterState& state_;
  const Policies& policies_;
  const Time now_;
  const WorkBudget budget_;
  Rooms rooms_;
  Plan plan_;
  std::vector<Candidate> candidates_;
  std::map<JobId, JobSoft> soft_;
  std::unordered_map<const Partition*, Blocked> blocked_;
  std::unordered_set<JobId> started_whole_;
  std::unordered_map<JobId, IndexSet> tasks_left_;   // of arrays this pass took tasks from
  std::unordered_map<JobId, uint32_t> tasks_started_;
  uint32_t failed_tests_ = 0;
};

}  // namespace

const JobSoft* SoftView::find(JobId job) const {
  const auto at = std::ranges::lower_bound(jobs, job, {}, &Entry::job);
  return at != jobs.end() && at->job == job ? &at->soft : nullptr;
}

Plan plan_pass(const ClusterState& state, const Policies& policies, Time now, const WorkBudget& budget) {
  return Pass(state, policies, now, budget).run();
}

}  // namespace sluice::sched
