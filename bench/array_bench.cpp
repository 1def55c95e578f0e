// What ended tasks of an array cost until they are purged: memory and bytes of a checkpoint per
// task, with records of their own and folded.
//
//   array_bench [TASKS]
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "common/wire/codec.hpp"
#include "ctld/state/apply.hpp"

namespace {

using namespace sluice;         // NOLINT(google-build-using-namespace): a program's main file
using namespace sluice::state;  // NOLINT(google-build-using-namespace)

constexpr uint32_t kNodes = 8, kCores = 64;

ClusterState make_cluster() {
  auto config = std::make_shared<ClusterConfig>();
  PartitionConfig partition;
  partition.name = "debug";
  for (uint32_t i = 0; i < kNodes; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i + 1);
    node.cpus = node.cores_per_socket = kCores;
    node.real_memory_mib = 1'000'000;
    partition.nodes.push_back(node.name);
    config->nodes.push_back(std::move(node));
  }
  config->partitions.push_back(std::move(partition));
  ClusterState state;
  apply(state, ConfigReplaced{.config = config, .time = from_seconds(1)});
  return state;
}

JobId submit(ClusterState& state, uint32_t tasks) {
  auto spec = std::make_shared<JobSpec>();
  spec->batch = true;
  spec->name = "job";
  spec->work_dir = "/home/ann";
  Job job;
  job.id = state.next_job_id;
  job.spec = spec;
  job.submit = job.eligible = job.accrue = from_seconds(2);
  auto info = std::make_shared<ArrayInfo>();
  info->array_job = job.id;
  info->pending = IndexSet(0, tasks);  // one more than will run
  job.array = std::move(info);
  apply(state, JobSubmitted{job});
  return job.id;
}

void run_tasks(ClusterState& state, JobId array, uint32_t tasks) {
  for (uint32_t task = 0; task < tasks; ++task) {
    auto allocation = std::make_shared<Allocation>();
    NodeAllocation part{.node = task / kCores % kNodes, .cpus = 1, .memory_mib = 100};
    part.cores.set(task % kCores);
    allocation->node_list = "n" + std::to_string(part.node + 1);
    allocation->cpus = 1;
    allocation->nodes.push_back(std::move(part));
    const Time now = from_seconds(10 + task / 100);
    JobStarted started{.record = array,
                       .partition = "debug",
                       .time_limit = 60,
                       .time = now,
                       .end = now + std::chrono::hours(1)};
    const JobId job = state.next_job_id;
    started.starts.push_back({task, job, allocation});
    apply(state, started);
    apply(state, StepEnded{.id = {job, kBatchStep}, .time = now});
    apply(state, JobCompleting{.job = job, .time = now});
    apply(state, JobNodesReleased{.job = job, .positions = Bitmap::first(1), .time = now});
    apply(state, JobEnded{.job = job, .time = now});
  }
}

size_t in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

}  // namespace

int main(int argc, char** argv) {
  const uint32_t tasks = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 100'000;
  const size_t empty = in_use();
  ClusterState state = make_cluster();
  const JobId array = submit(state, tasks);
  run_tasks(state, array, tasks);
  const auto print = [&](const char* what) {
    const size_t memory = in_use() - empty;
    const size_t image = wire::encode(make_image(state)).size();
    std::printf("%-8s %6zu bytes of memory, %5zu bytes of a checkpoint a task\n", what,
                memory / tasks, image / tasks);
  };
  print("records");
  ArrayTasksFolded folded;
  state.finished.for_each([&](uint32_t id) { folded.jobs.insert(id); });
  apply(state, folded);
  print("folded");
  return 0;
}
