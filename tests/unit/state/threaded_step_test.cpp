// Steps on cores of two threads.
#include "support/core_fixture.hpp"

#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

class ThreadedStepTest : public CoreTest {
 protected:
  ThreadedStepTest() {
    auto config = std::make_shared<ClusterConfig>(*config_);
    for (NodeConfig& node : config->nodes) {
      node.sockets = node.cores_per_socket = node.threads_per_core = 2;
    }
    config->select_type_parameters = {"CR_CORE_MEMORY"};
    config_ = config;
    run(ReplaceConfig{config_});
  }
  Result<StepNode> lay_out(uint32_t threads, StepSpec spec) { return lay_out_in(threads, spec, 8); }
  // In a job that has so many CPUs on four cores.
  Result<StepNode> lay_out_in(uint32_t threads, StepSpec spec, uint32_t cpus) {
    auto job_spec = std::make_shared<JobSpec>();
    job_spec->threads_per_core = threads;
    Job job;
    job.spec = job_spec;
    auto allocation = std::make_shared<Allocation>();
    NodeAllocation part{.node = find_node(state_, "n1")->id};
    part.cpus = cpus;
    part.cores = Bitmap::first(4);
    part.memory_mib = 10 * 4 * (threads == 1 ? 1 : 2);
    allocation->nodes.push_back(part);
    job.allocation = allocation;
    const auto layout = lay_out_step(state_, job, spec);
    if (!layout) return tl::unexpected(layout.error());
    return layout->nodes[0];
  }
  static StepSpec tasks(uint32_t count, uint32_t threads = 0) {
    StepSpec spec;
    spec.num_tasks = count;
    spec.threads_per_core = threads;
    spec.memory_kind = MemoryKind::kPerCpu;
    spec.memory_mib = 10;
    return spec;
  }
};

TEST_F(ThreadedStepTest, CoresAreTakenInTurnFromEachSocket) {
  StepSpec spec = tasks(2);
  spec.cpus_per_task = 2;
  EXPECT_EQ(lay_out(0, spec)->cores, "0,2");
  EXPECT_EQ(lay_out(0, spec)->cpus, 4u);
  spec.distribution = "block:block";
  EXPECT_EQ(lay_out(0, spec)->cores, "0-1");
  spec = tasks(3);
  spec.exact = true;
  EXPECT_EQ(lay_out(0, spec)->cores, "0-1") << "tasks that share a core";
}

TEST_F(ThreadedStepTest, MemoryIsForTheThreadsThatAreUsed) {
  EXPECT_EQ(lay_out(0, tasks(1))->memory_mib, 80u);
  EXPECT_EQ(lay_out(1, tasks(1, 1))->memory_mib, 40u) << "no more than the job has";
  EXPECT_EQ(lay_out(1, tasks(4, 1))->memory_mib, 40u);
  EXPECT_EQ(lay_out(0, tasks(2, 1))->memory_mib, 80u) << "all of the node is the step's";
  StepSpec spec = tasks(2, 1);
  spec.exact = true;
  EXPECT_EQ(lay_out(1, spec)->memory_mib, 20u);
  EXPECT_EQ(lay_out(1, spec)->cores, "0,2");
  EXPECT_EQ(lay_out(1, tasks(5, 1)).error().code, ErrorCode::kTooManyCpus);
}

// The bug: with CR_CPU, which charges a job for the threads that it uses, steps had room for half
// of them.
TEST_F(ThreadedStepTest, ThreadsThatAreNotChargedAreNotCountedAgain) {
  StepSpec spec = tasks(4, 1);
  ASSERT_TRUE(lay_out_in(1, spec, 4)) << lay_out_in(1, spec, 4).error().text;
  EXPECT_EQ(lay_out_in(1, spec, 4)->tasks.size(), 4u);
  EXPECT_EQ(lay_out_in(1, tasks(5, 1), 4).error().code, ErrorCode::kTooManyCpus);
  spec = tasks(3);
  spec.exact = true;
  EXPECT_EQ(lay_out_in(1, spec, 4)->cpus, 3u);
  EXPECT_EQ(lay_out_in(1, spec, 4)->cores, "0-2");
}

}  // namespace
}  // namespace sluice::state
