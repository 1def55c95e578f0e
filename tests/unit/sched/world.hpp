// A small cluster for tests of the scheduler: jobs are submitted by commands, passes are planned
// and their starts go through decide(), so that a plan which the engine would refuse fails the
// test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "ctld/sched/pass.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/core/invariants.hpp"

namespace sluice::sched {

struct World {
  ClusterConfig config;
  state::ClusterState state;
  Time now = from_seconds(1'000'000);
  std::shared_ptr<const SchedulerView> soft;
  std::shared_ptr<const KeptPlan> kept;  // of the last pass
  std::vector<GresDevices> devices;      // that each node registers
  std::string leave;                     // who had to make room in the last pass: "1 for 3"

  // n1 … of `cpus` cores in one socket and 1000 MiB; a partition "debug" of all of them.
  explicit World(uint32_t nodes = 4, uint32_t cpus = 8) {
    config.cluster_name = "test";
    config.select_type_parameters = {"CR_CORE_MEMORY"};
    config.def_mem_per_cpu_mib = 1;
    config.priority_type = "priority/basic";
    for (uint32_t i = 1; i <= nodes; ++i) {
      NodeConfig node;
      node.name = node.hostname = "n" + std::to_string(i);
      node.cpus = node.cores_per_socket = cpus;
      node.real_memory_mib = 1000;
      config.nodes.push_back(std::move(node));
    }
    partition("debug").is_default = true;
  }
  PartitionConfig& partition(const std::string& name) {
    PartitionConfig made;
    made.name = name;
    for (const NodeConfig& node : config.nodes) made.nodes.push_back(node.name);
    config.partitions.push_back(std::move(made));
    return config.partitions.back();
  }
  // The configuration is complete: the cluster comes up.
  World& up() {
    run(state::StartEpoch{"cluster", 1});
    run(state::ReplaceConfig{std::make_shared<ClusterConfig>(config)});
    for (const NodeConfig& node : config.nodes) {
      state::RegisterNode command;
      command.node.name = node.name;
      command.node.hardware.boot_id = "boot";
      command.node.hardware.cpus = node.cpus;
      command.node.hardware.real_memory_mib = node.real_memory_mib;
      command.node.hardware.devices = devices;
      run(command);
    }
    return *this;
  }

  Result<state::Reply> run(const state::Command& command) {
    auto decision = state::decide(state, command, now);
    if (!decision) return tl::unexpected(decision.error());
    for (const state::Event& event : decision->events) state::apply(state, event);
    return decision->reply;
  }
  static JobSpec spec(uint32_t tasks = 0, Minutes limit = 0) {
    JobSpec made;
    made.batch = true;
    made.uid = 1001;
    made.user_name = "ann";
    made.num_tasks = tasks;
    made.time_limit = limit;
    return made;
  }
  JobId submit(const JobSpec& job) {
    const auto reply = run(state::SubmitJob{{job.uid, job.uid}, job, {}});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text)
                       << (reply ? 0 : static_cast<int>(reply.error().code));
    return reply ? std::get<state::JobSubmittedReply>(*reply).job : kNoJob;
  }
  // Plans and starts; what was started, with its nodes: "1:n1 2_3:n[1-2]".
  std::string pass(const WorkBudget& budget = {}) {
    Plan plan = plan_pass(state, make_policies(state), now, budget);
    soft = plan.soft;
    kept = plan.kept;
    std::string out;
    for (const state::PlannedStart& start : plan.starts) {
      out += out.empty() ? "" : " ";
      out += std::to_string(start.job);
      if (start.task != kNoTask) out += "_" + std::to_string(start.task);
      out += ":" + start.allocation->node_list;
    }
    leave.clear();
    for (const state::PlannedPreemption& one : plan.preemptions) {
      leave += (leave.empty() ? "" : " ") + std::to_string(one.job) + " for " +
               std::to_string(one.preemptor);
    }
    const size_t planned = plan.starts.size();
    const auto reply = run(state::StartJobs{std::move(plan.starts), std::move(plan.preemptions),
                                            std::move(plan.resumes)});
    EXPECT_TRUE(reply);
    if (reply) { EXPECT_EQ(std::get<state::StartedReply>(*reply).started, planned); }
    EXPECT_EQ(state::check_state(state), std::vector<std::string>{});
    return out;
  }
  // Its nodes are clean.
  void clean(JobId id) {
    const Job& ended = state.jobs.at(id);
    EXPECT_TRUE(run(state::JobsCleaned{
        {{.job = id, .restart = ended.restart_count, .nodes = ended.allocation->node_list}}}));
  }
  // The job ends and gives its nodes back.
  void finish(JobId id) {
    state::apply(state, state::JobCompleting{.job = id, .time = now});
    const Bitmap all = Bitmap::first(state.jobs.at(id).allocation->nodes.size());
    state::apply(state, state::JobNodesReleased{.job = id, .positions = all, .time = now});
    state::apply(state, state::JobEnded{.job = id, .time = now});
  }
  void set_node(const std::string& nodes, const std::string& to) {
    state::UpdateNode command;
    command.update.nodes = nodes;
    command.update.state = to;
    command.update.reason = "test";
    EXPECT_TRUE(run(command));
  }
  void pass_time(Duration time) {
    now += time;
    run(state::Tick{});
  }
  [[nodiscard]] JobReason reason(JobId id) const {
    const SchedulerHints* found = soft ? soft->find(id) : nullptr;
    return found == nullptr ? JobReason::kNone : found->reason;
  }
  [[nodiscard]] const Job& job(JobId id) const { return state.jobs.at(id); }
};

}  // namespace sluice::sched
