// Steps with more tasks than CPUs (--overcommit).
#include "support/core_fixture.hpp"

#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

class OvercommitStepTest : public CoreTest {
 protected:
  using Sizes = std::vector<size_t>;

  // Tasks of each node, in a job of nodes of so many CPUs.
  Sizes counts(const std::vector<uint32_t>& cpus, uint32_t tasks, std::string_view order = "") {
    auto allocation = std::make_shared<Allocation>();
    for (size_t i = 0; i < cpus.size(); ++i) {
      NodeAllocation part{.node = find_node(state_, "n" + std::to_string(i + 1))->id};
      part.cpus = cpus[i];
      part.cores = Bitmap::first(cpus[i]);
      allocation->nodes.push_back(std::move(part));
    }
    Job job;
    job.spec = std::make_shared<JobSpec>();
    job.allocation = allocation;
    StepSpec spec;
    spec.num_tasks = tasks;
    spec.min_nodes = static_cast<uint32_t>(cpus.size());
    spec.overcommit = true;
    spec.distribution = std::string(order);
    const auto layout = lay_out_step(state_, job, spec);
    Sizes out;
    if (!layout) return out;
    for (const StepNode& part : layout->nodes) out.push_back(part.tasks.size());
    return out;
  }
};

// As in Slurm 22.05. The bug: tasks were dealt round from the first on, whatever CPUs nodes have.
TEST_F(OvercommitStepTest, EachCpuHasATaskBeforeOneHasASecond) {
  EXPECT_EQ(counts({4, 2}, 3), (Sizes{2, 1}));
  EXPECT_EQ(counts({4, 2}, 6), (Sizes{4, 2}));
  EXPECT_EQ(counts({4, 2}, 7), (Sizes{5, 2}));
  EXPECT_EQ(counts({4, 2}, 8), (Sizes{5, 3}));
  EXPECT_EQ(counts({4, 2}, 20), (Sizes{11, 9}));
  EXPECT_EQ(counts({8, 4, 2}, 11), (Sizes{5, 4, 2}));
  EXPECT_EQ(counts({8, 4, 2}, 20), (Sizes{10, 6, 4}));
  EXPECT_EQ(counts({1, 1}, 7), (Sizes{4, 3}));
}

TEST_F(OvercommitStepTest, OtherOrdersShareCpusAfterAllAreTakenToo) {
  EXPECT_EQ(counts({4, 2}, 5, "cyclic"), (Sizes{3, 2}));
  EXPECT_EQ(counts({4, 2}, 7, "cyclic"), (Sizes{4, 3})) << "the turn goes on with the second node";
  EXPECT_EQ(counts({4, 2}, 8, "cyclic"), (Sizes{5, 3}));
  EXPECT_EQ(counts({4, 2}, 8, "plane=2"), (Sizes{6, 2}));
  EXPECT_EQ(counts({4, 2}, 9, "plane=3"), (Sizes{7, 2}));
  EXPECT_EQ(counts({4, 2}, 5, "pack"), (Sizes{4, 1}));
  EXPECT_EQ(counts({4, 2}, 7, "pack"), (Sizes{5, 2}));
  EXPECT_EQ(counts({4, 2}, 9, "pack"), (Sizes{6, 3}));
}

}  // namespace
}  // namespace sluice::state
