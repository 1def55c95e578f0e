// Full passes of conservative backfill over long queues that are hard to place: nodes of three
// sizes, memory that binds, features, exclusive jobs, two partitions that overlap, a reservation.
#include <random>

#include <benchmark/benchmark.h>

#include "ctld/sched/explain/explain.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/apply.hpp"

namespace sluice::sched {
namespace {

constexpr Time kNow = from_seconds(1'000'000);

struct Cluster {
  state::ClusterState state;
  std::mt19937 random{1};
  uint32_t pick(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  }
};

void add_partition(ClusterConfig& config, const char* name, uint32_t from, uint32_t to) {
  PartitionConfig partition;
  partition.name = name;
  partition.is_default = config.partitions.empty();
  for (uint32_t i = from; i < to; ++i) partition.nodes.push_back(config.nodes[i].name);
  config.partitions.push_back(std::move(partition));
}

void set_up(Cluster& cluster, std::shared_ptr<const ClusterConfig> config) {
  const size_t nodes = config->nodes.size();
  state::apply(cluster.state, state::ConfigReplaced{.config = std::move(config), .time = kNow});
  for (NodeId id = 0; id < nodes; ++id) {
    state::apply(cluster.state,
                 state::NodeStateChanged{.node = id, .base = NodeBaseState::kIdle, .time = kNow});
  }
}

void make_nodes(Cluster& cluster, uint32_t nodes) {
  auto config = std::make_shared<ClusterConfig>();
  config->select_type_parameters = {"CR_CORE_MEMORY"};
  config->priority_type = "priority/basic";
  config->max_job_count = 1'000'000;
  for (uint32_t i = 0; i < nodes; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    const uint32_t size = i % 4 == 0 ? 128 : i % 4 == 1 ? 32 : 64;
    node.cpus = node.cores_per_socket = size;
    node.real_memory_mib = size * 4000;
    if (i % 3 == 0) node.features = {"fast"};
    config->nodes.push_back(std::move(node));
  }
  add_partition(*config, "main", 0, nodes);
  add_partition(*config, "half", nodes / 4, nodes * 3 / 4);
  set_up(cluster, std::move(config));
}

// How many jobs ask the same.
enum class Alike : uint8_t {
  kMany,
  kFewByLimit,  // time limits are any minutes up to a day
  kFew,         // and memory any MiB up to 6000 a CPU: hardly two jobs are alike
};

std::shared_ptr<JobSpec> make_spec(Cluster& cluster, uint32_t most_tasks,
                                   Alike alike = Alike::kMany) {
  auto spec = std::make_shared<JobSpec>();
  spec->batch = true;
  spec->uid = 1001;
  spec->user_name = "ann";
  spec->name = "job";
  spec->num_tasks = 1U << cluster.pick(0, 10);
  spec->num_tasks = std::min(spec->num_tasks, most_tasks);
  const uint32_t limits[] = {10, 30, 60, 120, 240, 480, 720, 1440};
  spec->time_limit = alike != Alike::kMany ? cluster.pick(1, 1440) : limits[cluster.pick(0, 7)];
  spec->memory_kind = MemoryKind::kPerCpu;
  spec->memory_mib = alike == Alike::kFew ? cluster.pick(1, 6000) : cluster.pick(1, 4) * 1500;
  return spec;
}

void submit(Cluster& cluster, std::shared_ptr<JobSpec> spec, const char* partition) {
  spec->partitions = partition;
  state::JobSubmitted event;
  event.job.id = cluster.state.next_job_id;
  event.job.partition = partition;
  event.job.time_limit = spec->time_limit;
  event.job.spec = std::move(spec);
  event.job.submit = event.job.eligible = event.job.accrue = kNow - std::chrono::minutes(1);
  state::apply(cluster.state, std::move(event));
}

void submit(Cluster& cluster, uint32_t most_tasks, Alike alike = Alike::kMany) {
  auto spec = make_spec(cluster, most_tasks, alike);
  if (cluster.pick(0, 9) == 0) spec->constraint = "fast";
  if (cluster.pick(0, 19) == 0) spec->sharing = Sharing::kExclusive;
  submit(cluster, std::move(spec), cluster.pick(0, 3) == 0 ? "half" : "main");
}

void reserve(Cluster& cluster, uint32_t nodes) {
  Reservation reservation;
  reservation.id = 1;
  reservation.name = "upkeep";
  reservation.users = "root";
  reservation.uids = {0};
  reservation.start = kNow + std::chrono::hours(8);
  reservation.end = kNow + std::chrono::hours(12);
  reservation.nodes = Bitmap::first(nodes / 10);
  state::apply(cluster.state, state::ReservationChanged{.reservation = reservation});
}

Cluster make(uint32_t nodes, uint32_t jobs, Alike alike = Alike::kMany) {
  Cluster cluster;
  make_nodes(cluster, nodes);
  reserve(cluster, nodes);
  for (uint32_t i = 0; i < jobs; ++i) submit(cluster, nodes * 32, alike);
  return cluster;
}

void full_depth(benchmark::State& run, Alike alike) {
  const auto nodes = static_cast<uint32_t>(run.range(0));
  const auto jobs = static_cast<uint32_t>(run.range(1));
  const Cluster cluster = make(nodes, jobs, alike);
  const Policies policies = make_policies(cluster.state);
  Plan plan;
  for (auto _ : run) plan = plan_pass(cluster.state, policies, kNow);
  size_t planned = plan.starts.size();
  Duration wait{0};
  for (const SchedulerView::Entry& entry : plan.soft->jobs) {
    if (entry.soft.expected_start == kNoTime) continue;
    ++planned;
    wait += entry.soft.expected_start - kNow;
  }
  run.counters["wait_s"] = std::chrono::duration<double>(wait).count();
  run.counters["planned"] = static_cast<double>(planned);
  run.counters["started"] = static_cast<double>(plan.starts.size());
}
void BM_FullDepth(benchmark::State& run) { full_depth(run, Alike::kMany); }
BENCHMARK(BM_FullDepth)
    ->Args({200, 1'000})
    ->Args({200, 10'000})
    ->Args({1'000, 10'000})
    ->Args({10'000, 10'000})
    ->Args({10'000, 30'000})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void BM_FullDepthOfAnyLimit(benchmark::State& run) { full_depth(run, Alike::kFewByLimit); }
BENCHMARK(BM_FullDepthOfAnyLimit)
    ->Args({200, 10'000})
    ->Args({1'000, 10'000})
    ->Args({10'000, 10'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void BM_FullDepthOfAnyMemory(benchmark::State& run) { full_depth(run, Alike::kFew); }
BENCHMARK(BM_FullDepthOfAnyMemory)
    ->Args({200, 10'000})
    ->Args({1'000, 10'000})
    ->Args({10'000, 10'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// Passes that repair the plan of one before, after little has changed.
enum class Change : uint8_t { kNothing, kSubmitted, kUrgent, kEnded, kCancelled };

void change(Cluster& cluster, Change what) {
  const Time now = kNow + std::chrono::minutes(1);
  if (what == Change::kSubmitted || what == Change::kUrgent) submit(cluster, 512);
  if (what == Change::kUrgent) {
    const JobId last = cluster.state.next_job_id - 1;
    cluster.state.jobs.edit(last).priority = UINT32_MAX - 1;
  }
  if (what == Change::kEnded) {
    JobId first = kNoJob;  // of one node
    cluster.state.active.for_each([&](JobId id) {
      const bool small = cluster.state.jobs.at(id).allocation->nodes.size() == 1;
      if (small && first == kNoJob) first = id;
    });
    const Bitmap all = Bitmap::first(cluster.state.jobs.at(first).allocation->nodes.size());
    state::apply(cluster.state, state::JobCompleting{.job = first, .time = now});
    state::apply(cluster.state,
                 state::JobNodesReleased{.job = first, .positions = all, .time = now});
    state::apply(cluster.state, state::JobEnded{.job = first, .time = now});
  }
  if (what == Change::kCancelled) {
    JobId id = kNoJob;
    cluster.state.pending.for_each([&](JobId one) { id = id == kNoJob ? one : id; });
    state::apply(cluster.state,
                 state::JobEnded{.job = id, .state = JobState::kCancelled, .time = now});
  }
}

// What the plan starts runs, each job that much later than the one before.
void start(Cluster& cluster, const Plan& plan, Duration apart = Duration(0)) {
  Time now = kNow;
  for (const state::PlannedStart& start : plan.starts) {
    state::JobStarted event;
    event.record = start.job;
    event.partition = start.partition;
    event.time_limit = cluster.state.jobs.at(start.job).time_limit;
    event.time = now;
    event.end = now + std::chrono::minutes(event.time_limit);
    now += apart;
    event.starts.push_back({.job = start.job, .allocation = start.allocation});
    state::apply(cluster.state, std::move(event));
  }
}

// The queue of bench/backfill_vs_slurm, without daemons: equal nodes, nothing but CPUs binds.
Cluster make_plain(uint32_t nodes, uint32_t jobs) {
  Cluster cluster;
  auto config = std::make_shared<ClusterConfig>();
  config->select_type_parameters = {"CR_CPU_MEMORY"};
  config->priority_type = "priority/basic";
  for (uint32_t i = 0; i < nodes; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    node.cpus = node.sockets = 64;
    node.real_memory_mib = 1'000'000;
    config->nodes.push_back(std::move(node));
  }
  add_partition(*config, "main", 0, nodes);
  set_up(cluster, std::move(config));
  for (uint32_t i = 0; i < jobs; ++i) submit(cluster, make_spec(cluster, 1024), "main");
  return cluster;
}

// Once what can start runs, with and without ends of its own for each job.
void BM_PlainQueue(benchmark::State& run) {
  Cluster cluster =
      make_plain(static_cast<uint32_t>(run.range(0)), static_cast<uint32_t>(run.range(1)));
  start(cluster, plan_pass(cluster.state, make_policies(cluster.state), kNow),
        std::chrono::milliseconds(run.range(2)));
  const Policies policies = make_policies(cluster.state);
  for (auto _ : run) {
    const Plan plan = plan_pass(cluster.state, policies, kNow + std::chrono::minutes(1));
    benchmark::DoNotOptimize(plan.starts.size());
  }
}
BENCHMARK(BM_PlainQueue)->ArgsProduct({{50}, {2'000}, {0, 1'700}})->Unit(benchmark::kMillisecond);

// A cluster whose queue was planned from nothing, and that plan repaired half a minute later.
struct Repaired {
  Cluster cluster;
  Plan plan;
};
constexpr Time kRepaired = kNow + std::chrono::seconds(30);

Repaired make_repaired(const benchmark::State& run) {
  Repaired out{make(static_cast<uint32_t>(run.range(0)), static_cast<uint32_t>(run.range(1))), {}};
  const state::ClusterState& state = out.cluster.state;
  out.plan = plan_pass(state, make_policies(state), kNow);
  start(out.cluster, out.plan);
  WorkBudget budget;
  budget.kept = out.plan.kept;
  out.plan = plan_pass(state, make_policies(state), kRepaired, budget);
  return out;
}

void BM_Repair(benchmark::State& run) {
  auto [cluster, plan] = make_repaired(run);
  WorkBudget budget;
  budget.kept = plan.kept;
  change(cluster, static_cast<Change>(run.range(2)));
  const Policies policies = make_policies(cluster.state);
  const Time now = kNow + std::chrono::minutes(1);
  for (auto _ : run) plan = plan_pass(cluster.state, policies, now, budget);
  run.counters["kept"] = plan.counts.kept;
  run.counters["tested"] = plan.counts.tested;
  run.counters["started"] = static_cast<double>(plan.starts.size());
}
BENCHMARK(BM_Repair)
    ->ArgsProduct({{200, 1'000}, {10'000}, {0, 1, 2, 3, 4}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// sluice explain of a job in the middle of such a queue, with all changes tried; `kept`: it repairs
// the plan of the last pass.
void BM_Explain(benchmark::State& run) {
  const auto [cluster, plan] = make_repaired(run);
  std::vector<JobId> pending;
  cluster.state.pending.for_each([&](JobId id) { pending.push_back(id); });
  ExplainLimits limits;
  if (run.range(2) != 0) limits.kept = plan.kept;
  const std::string job = std::to_string(pending[pending.size() / 2]);
  Result<protocol::ExplainReply> reply;
  for (auto _ : run) reply = explain(cluster.state, plan.soft.get(), job, kRepaired, limits);
  run.counters["lines"] = static_cast<double>(reply->lines.size());
  run.counters["change"] = reply->change ? 1 : 0;
}
BENCHMARK(BM_Explain)
    ->ArgsProduct({{200, 1'000}, {10'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace sluice::sched

BENCHMARK_MAIN();
