// What limits and fair share cost a pass, an engine and a decay: 10,000 users in 1,000 accounts.
#include <benchmark/benchmark.h>

#include "ctld/sched/pass.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/core/charging.hpp"

namespace sluice::sched {
namespace {

constexpr Time kNow = from_seconds(1'000'000);
constexpr uint32_t kUsers = 10'000, kAccounts = 1'000, kNodes = 500;

AssociationRecord association(AssociationId id, AssociationId parent, std::string account,
                              std::string user) {
  AssociationRecord record;
  record.id = id;
  record.parent = parent;
  record.account = std::move(account);
  record.user = std::move(user);
  record.qos = {1};
  return record;
}

// root, ten faculties, their accounts, ten users in each.
state::AccountingChanged site() {
  state::AccountingChanged event;
  event.version = 1;
  event.tres = {{kTresCpu, "cpu", ""}, {kTresMem, "mem", ""}, {kTresNode, "node", ""}};
  event.associations.push_back(association(1, 0, "root", ""));
  for (uint32_t f = 0; f < 10; ++f)
    event.associations.push_back(association(2 + f, 1, "faculty" + std::to_string(f), ""));
  for (uint32_t a = 0; a < kAccounts; ++a) {
    AssociationRecord record = association(12 + a, 2 + a % 10, "account" + std::to_string(a), "");
    record.group.tres = {{kTresCpu, 100'000}};
    record.group.tres_mins = {{kTresCpu, 100'000'000}};
    record.member.jobs = 1000;
    record.job.tres = {{kTresCpu, 10'000}};
    record.job.wall = std::chrono::hours(48);
    event.associations.push_back(std::move(record));
  }
  for (uint32_t u = 0; u < kUsers; ++u) {
    event.associations.push_back(association(12 + kAccounts + u, 12 + u / 10,
                                             "account" + std::to_string(u / 10),
                                             "user" + std::to_string(u)));
  }
  QosRecord normal;
  normal.id = 1;
  normal.name = "normal";
  normal.user.tres = {{kTresCpu, 5'000}};
  normal.user.jobs = 5'000;
  event.qos = {normal};
  return event;
}

state::ClusterState cluster(bool enforced, uint32_t jobs) {
  auto config = std::make_shared<ClusterConfig>();
  config->select_type_parameters = {"CR_CORE_MEMORY"};
  config->max_job_count = 1'000'000;
  config->priority_weight_fair_share = 1000;
  if (enforced) {
    config->accounting_storage_type = "accounting_storage/slurmdbd";
    config->accounting_storage_enforce = {"associations", "limits", "qos"};
  }
  PartitionConfig partition;
  partition.name = "main";
  partition.is_default = true;
  for (uint32_t i = 0; i < kNodes; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    node.cpus = node.cores_per_socket = 64;
    node.real_memory_mib = 256'000;
    partition.nodes.push_back(node.name);
    config->nodes.push_back(std::move(node));
  }
  config->partitions.push_back(std::move(partition));
  state::ClusterState state;
  state::apply(state, state::ConfigReplaced{.config = config, .time = kNow});
  for (NodeId id = 0; id < kNodes; ++id) {
    state::apply(state,
                 state::NodeStateChanged{.node = id, .base = NodeBaseState::kIdle, .time = kNow});
  }
  if (enforced) state::apply(state, site());
  for (uint32_t i = 0; i < jobs; ++i) {
    const uint32_t user = i * 7919 % kUsers;
    auto spec = std::make_shared<JobSpec>();
    spec->batch = true;
    spec->uid = 1000 + user;
    spec->user_name = "user" + std::to_string(user);
    spec->account = "account" + std::to_string(user / 10);
    spec->qos = "normal";
    spec->name = "job";
    spec->num_tasks = 1U << (i % 8);
    spec->time_limit = 60 * (1 + i % 24);
    spec->memory_kind = MemoryKind::kPerCpu;
    spec->memory_mib = 2000;
    state::JobSubmitted event;
    event.job.id = state.next_job_id;
    event.job.partition = "main";
    event.job.time_limit = spec->time_limit;
    event.job.spec = std::move(spec);
    event.job.submit = event.job.eligible = event.job.accrue = kNow - std::chrono::minutes(1);
    if (enforced) {
      event.job.account = std::make_shared<JobAccount>(JobAccount{12 + kAccounts + user, 1, 0});
    }
    state::apply(state, std::move(event));
  }
  return state;
}

// 0: nothing is enforced; 1: limits of a user, his account, the faculty and the QOS.
void BM_Pass(benchmark::State& run) {
  const state::ClusterState state = cluster(run.range(0) != 0, static_cast<uint32_t>(run.range(1)));
  size_t started = 0;
  for (auto _ : run) started = plan_pass(state, make_policies(state), kNow).starts.size();
  run.counters["started"] = static_cast<double>(started);
}
BENCHMARK(BM_Pass)->ArgsProduct({{0, 1}, {10'000}})->Unit(benchmark::kMillisecond)->Iterations(3);

void BM_FairShare(benchmark::State& run) {
  const state::ClusterState state = cluster(true, 0);
  for (auto _ : run)
    benchmark::DoNotOptimize(state::fair_shares(state.accounting, {run.range(0) != 0, 1}));
}
BENCHMARK(BM_FairShare)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// All that the engine does each PriorityCalcPeriod.
void BM_Decay(benchmark::State& run) {
  state::ClusterState state = cluster(true, 0);
  for (AssociationId id = 1; id < 12 + kAccounts + kUsers; ++id) {
    state::Usage& usage = state.accounting.association_usage.edit_or_insert(id);
    usage.id = id;
    usage.raw = id;
    usage.tres = {{kTresCpu, 1}, {kTresMem, 1}, {kTresNode, 1}};
  }
  for (auto _ : run) {
    const state::ClusterState snapshot = state;  // as a reader holds one
    state::apply(state, state::UsageDecayed{.time = kNow, .factor = 0.9999});
  }
}
BENCHMARK(BM_Decay)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::sched

BENCHMARK_MAIN();
