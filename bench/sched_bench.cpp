// Scheduling passes over long queues: what a pass costs when nothing can start, and what starts
// cost.
#include <benchmark/benchmark.h>

#include "ctld/sched/pass.hpp"
#include "ctld/state/apply.hpp"

namespace sluice::sched {
namespace {

constexpr Time kNow = from_seconds(1'000'000);

state::ClusterState make_cluster(uint32_t nodes, uint32_t cpus) {
  auto config = std::make_shared<ClusterConfig>();
  config->select_type_parameters = {"CR_CORE_MEMORY"};
  config->def_mem_per_cpu_mib = 1;
  config->priority_weight_age = 1000;
  config->max_job_count = 1'000'000;
  PartitionConfig partition;
  partition.name = "debug";
  partition.is_default = true;
  for (uint32_t i = 0; i < nodes; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    node.cpus = node.cores_per_socket = cpus;
    node.real_memory_mib = 1'000'000;
    partition.nodes.push_back(node.name);
    config->nodes.push_back(std::move(node));
  }
  PartitionConfig high = partition;
  high.name = "high";
  high.is_default = false;
  high.priority_tier = 2;
  config->preempt_type = "preempt/partition_prio";
  config->preempt_mode = PreemptMode::kCancel;
  config->partitions = {std::move(partition), std::move(high)};
  state::ClusterState state;
  state::apply(state, state::ConfigReplaced{.config = config, .time = kNow});
  for (NodeId id = 0; id < nodes; ++id) {
    state::apply(state,
                 state::NodeStateChanged{.node = id, .base = NodeBaseState::kIdle, .time = kNow});
  }
  return state;
}

JobId submit(state::ClusterState& state, uint32_t tasks, uint32_t array = 0,
             const char* partition = "debug") {
  auto spec = std::make_shared<JobSpec>();
  spec->batch = true;
  spec->uid = 1001;
  spec->user_name = "ann";
  spec->name = "job";
  spec->num_tasks = tasks;
  spec->time_limit = 60;
  spec->partitions = partition;
  state::JobSubmitted event;
  event.job.id = state.next_job_id;
  event.job.spec = spec;
  event.job.partition = partition;
  event.job.time_limit = 60;
  event.job.submit = event.job.eligible = event.job.accrue = kNow - std::chrono::minutes(1);
  if (array > 0) {
    auto info = std::make_shared<ArrayInfo>();
    info->array_job = event.job.id;
    info->pending = IndexSet(0, array - 1);
    event.job.array = std::move(info);
  }
  const JobId id = event.job.id;
  state::apply(state, std::move(event));
  return id;
}

// Every core is taken by a job of its own node.
void fill(state::ClusterState& state) {
  for (NodeId node = 0; node < state.next_node_id; ++node)
    submit(state, state.nodes.at(node).config->cpus);
  Plan plan = plan_pass(state, make_policies(state), kNow);
  for (const state::PlannedStart& start : plan.starts) {
    state::JobStarted event;
    event.record = start.job;
    event.partition = start.partition;
    event.time_limit = 60;
    event.time = kNow;
    event.end = kNow + std::chrono::minutes(60);
    event.starts.push_back({kNoTask, start.job, start.allocation});
    state::apply(state, std::move(event));
  }
}

void plan(benchmark::State& run, const state::ClusterState& state, size_t starts) {
  const Policies policies = make_policies(state);
  for (auto _ : run) {
    const Plan made = plan_pass(state, policies, kNow);
    if (made.starts.size() != starts) run.SkipWithError("not the starts expected");
    benchmark::DoNotOptimize(made);
  }
}

// All nodes are full; jobs differ in size (`range` many sizes).
void BM_NothingToDo(benchmark::State& run) {
  state::ClusterState state = make_cluster(1000, 64);
  fill(state);
  for (uint32_t i = 0; i < 100'000; ++i) submit(state, 1 + i % static_cast<uint32_t>(run.range(0)));
  plan(run, state, 0);
}
BENCHMARK(BM_NothingToDo)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

void BM_ThousandOneCoreJobs(benchmark::State& run) {
  state::ClusterState state = make_cluster(1000, static_cast<uint32_t>(run.range(0)));
  for (uint32_t i = 0; i < 1000; ++i) submit(state, 1);
  plan(run, state, 1000);
}
BENCHMARK(BM_ThousandOneCoreJobs)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

void BM_ArrayOfTenThousand(benchmark::State& run) {
  state::ClusterState state = make_cluster(1000, 64);
  submit(state, 1, 10'000);
  plan(run, state, 10'000);
}
BENCHMARK(BM_ArrayOfTenThousand)->Unit(benchmark::kMillisecond);

// Every core is taken, 10,000 jobs of a higher tier wait: for as many as a pass looks at others
// make room.
void BM_Preemption(benchmark::State& run) {
  state::ClusterState state = make_cluster(1000, 64);
  fill(state);
  for (uint32_t i = 0; i < 10'000; ++i)
    submit(state, 1 + i % static_cast<uint32_t>(run.range(0)), 0, "high");
  const Policies policies = make_policies(state);
  size_t leave = 0;
  for (auto _ : run) {
    const Plan made = plan_pass(state, policies, kNow);
    leave = made.preemptions.size();
    if (leave == 0) run.SkipWithError("nobody makes room");
  }
  run.counters["leave"] = static_cast<double>(leave);
}
BENCHMARK(BM_Preemption)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

// 64-core jobs over four nodes each, while 100,000 others wait.
void BM_WideJobs(benchmark::State& run) {
  state::ClusterState state = make_cluster(1000, 16);
  for (uint32_t i = 0; i < 100'000; ++i) submit(state, 64);
  plan(run, state, 250);
}
BENCHMARK(BM_WideJobs)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::sched

BENCHMARK_MAIN();
