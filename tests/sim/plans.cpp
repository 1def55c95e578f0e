// Who starts and who makes room in the simulated cluster.
#include "world.hpp"

#include "ctld/sched/pass.hpp"

namespace sluice::sim {

using namespace sluice::state;

// A plan of the whole free part of an old snapshot: much of it may no longer be possible.
StartJobs World::greedy_plan(const ClusterState& snapshot) {
  StartJobs plan;
  ClusterState tried = snapshot;  // its nodes are used up as the plan grows
  snapshot.pending.for_each([&](uint32_t id) {
    const Job& job = snapshot.jobs.at(id);
    if (!is_eligible(job, now_)) return true;
    const Partition* partition = find_partition(snapshot, job.partition.view());
    if (partition == nullptr) return true;
    std::vector<NodeAllocation> found;
    const uint32_t cpus = std::max(1U, job.spec->cpus_per_task);
    const uint32_t wanted = std::max(1U, job.spec->min_nodes);
    partition->nodes.for_each([&](size_t node_id) {
      if (found.size() >= wanted) return;
      const Node& node = tried.nodes.at(static_cast<NodeId>(node_id));
      const bool shares = partition->config->over_subscribe == OverSubscribe::kForce && chance(2);
      const bool full = !shares && node.used_cpus + cpus > node.config->cpus;
      if (full || !may_serve(snapshot, node) || node.exclusive) return;
      Bitmap free = Bitmap::first(node.config->cores());
      if (!shares) free.and_not(node.used_cores);
      NodeAllocation part{.node = node.id, .cores = free.take_first(cpus), .cpus = cpus};
      part.memory_mib = 100;
      const bool room = node.used_memory_mib + part.memory_mib <= node.config->real_memory_mib;
      if (free.count() >= cpus && room) found.push_back(std::move(part));
    });
    if (found.size() < wanted) return true;
    for (const NodeAllocation& part : found) {
      Node& node = tried.nodes.edit(part.node);
      node.used_cores |= part.cores;
      node.used_cpus += part.cpus;
      node.used_memory_mib += part.memory_mib;
    }
    auto allocation = std::make_shared<Allocation>();
    allocation->nodes = std::move(found);
    const bool array = job.array != nullptr && job.array->task == kNoTask;
    plan.starts.push_back({id, array ? job.array->pending.front() : kNoTask,
                           partition->config->name, std::move(allocation)});
    return plan.starts.size() < 8;
  });
  plan.preemptions = any_preemptions(snapshot);
  return plan;
}

// Of any job for any other.
std::vector<state::PlannedPreemption> World::any_preemptions(const ClusterState& snapshot) {
  if (snapshot.active.empty() || snapshot.pending.empty() || chance(2)) return {};
  std::vector<JobId> active, pending;
  snapshot.active.for_each([&](uint32_t id) { active.push_back(id); });
  snapshot.pending.for_each([&](uint32_t id) { pending.push_back(id); });
  const Job& runs = snapshot.jobs.at(active[below(static_cast<uint32_t>(active.size()))]);
  const Job& waits = snapshot.jobs.at(pending[below(static_cast<uint32_t>(pending.size()))]);
  return {
      {runs.id, runs.restart_count, waits.id, chance(2) ? "small" : "main", chance(4) ? "r1" : ""}};
}

void World::schedule() {
  if (!controller_.up()) return;
  // its passes cost more than all else
  if (options_.real_scheduler && !quiet_ && !chance(4)) return;
  if (quiet_ || chance(2)) snapshot_ = controller_.state();  // else an old one is used again
  StartJobs plan;
  if (options_.real_scheduler) {
    sched::WorkBudget budget;
    budget.kept = kept_;
    sched::Plan planned =
        sched::plan_pass(snapshot_, sched::make_policies(snapshot_), now_, budget);
    if (planned.kept != nullptr) kept_ = std::move(planned.kept);
    plan = {std::move(planned.starts), std::move(planned.preemptions), std::move(planned.resumes)};
  } else {
    plan = greedy_plan(snapshot_);
  }
  if (plan.starts.empty() && plan.preemptions.empty() && plan.resumes.empty()) return;
  controller_.handle(plan, now_);
  flush_later();
}

}  // namespace sluice::sim
