// Which reason each job that waits is told beside the others, as Slurm 22.05 told it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace sluice::sched {
namespace {

const std::string kOthers =
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";

// Two nodes of 4 CPUs; partitions of both, and of one of them.
class ReasonsTest : public ::testing::Test {
 protected:
  ReasonsTest() : w(2, 4) {
    w.config.select_type_parameters = {"CR_CPU_MEMORY"};
    for (const char* name : {"same", "high", "one", "two", "highone", "low"}) w.partition(name);
    of("high").priority_tier = 10;
    of("highone").priority_tier = 20;
    of("low").priority_tier = 0;
    of("one").nodes = of("highone").nodes = {"n1"};
    of("two").nodes = of("low").nodes = {"n2"};
  }
  PartitionConfig& of(const std::string& name) {
    return *std::ranges::find(w.config.partitions, name, &PartitionConfig::name);
  }
  JobId submit(const char* partition, uint32_t tasks, uint32_t nodes = 0, const char* list = "",
               Minutes limit = 60) {
    JobSpec spec = World::spec(tasks, limit);
    spec.partitions = partition;
    spec.min_nodes = spec.max_nodes = nodes;
    spec.required_nodes = list;
    return w.submit(spec);
  }
  // "Resources", "Priority", kOthers; empty: it has started.
  std::string why(JobId id) const {
    if (w.job(id).state != JobState::kPending) return "";
    const SchedulerHints* soft = w.soft->find(id);
    if (soft->reason == JobReason::kPriority) return "Priority";
    if (soft->reason != JobReason::kResources) return "another";
    return soft->reason_detail.empty() ? "Resources" : soft->reason_detail.str();
  }
  std::vector<std::string> reasons(const std::vector<JobId>& jobs) const {
    std::vector<std::string> out;
    for (const JobId id : jobs) out.push_back(why(id));
    return out;
  }
  using Lines = std::vector<std::string>;
  World w;
};

TEST_F(ReasonsTest, OneThatWaitsTakesTheNodesOfItsPartition) {
  w.up();
  submit("debug", 8, 2);
  w.pass();
  const std::vector<JobId> jobs{submit("debug", 8, 2), submit("same", 1), submit("same", 1),
                                submit("one", 1),      submit("two", 1),  submit("low", 1)};
  w.pass();
  EXPECT_EQ(reasons(jobs), (Lines{"Resources", kOthers, "Priority", kOthers, kOthers, kOthers}));
  w.pass({.kept = w.kept});
  EXPECT_EQ(reasons(jobs), (Lines{"Resources", kOthers, "Priority", kOthers, kOthers, kOthers}))
      << "of a plan that is kept, too";
}

TEST_F(ReasonsTest, OnOtherNodesItIsResourcesStill) {
  w.up();
  submit("debug", 8, 2);
  w.pass();
  const std::vector<JobId> jobs{submit("one", 1), submit("two", 1), submit("debug", 1),
                                submit("same", 1), submit("low", 1)};
  w.pass();
  EXPECT_EQ(reasons(jobs), (Lines{"Resources", "Resources", kOthers, kOthers, kOthers}));
}

TEST_F(ReasonsTest, HigherPartitionsCountToo) {
  w.up();
  submit("one", 4);
  w.pass();
  const JobId higher = submit("highone", 1), wide = submit("debug", 8, 2),
              low = submit("low", 1, 0, "", 30);
  w.pass();
  EXPECT_EQ(reasons({higher, wide, low}), (Lines{"Resources", kOthers, ""}));
}

TEST_F(ReasonsTest, WhoNamesItsNodesTakesNoMoreThanThese) {
  w.up();
  submit("debug", 8, 2);
  w.pass();
  const std::vector<JobId> jobs{submit("debug", 1, 0, "n1"), submit("debug", 1),
                                submit("debug", 1, 0, "n2"), submit("debug", 1), submit("two", 1)};
  w.pass();
  EXPECT_EQ(reasons(jobs), (Lines{"Resources", "Resources", "Priority", "Priority", kOthers}));
}

// The bug: too many nodes were told as PartitionConfig, and time before nodes.
TEST_F(ReasonsTest, LimitsOfPartitions) {
  of("same").max_time = 10;
  of("same").max_nodes = 1;
  of("one").max_cpus_per_node = 2;
  w.up();
  const std::vector<std::pair<JobId, JobReason>> expected{
      {submit("debug", 0, 5), JobReason::kPartitionNodeLimit},
      {submit("debug", 9), JobReason::kPartitionConfig},
      {submit("debug", 9, 2), JobReason::kPartitionConfig},
      {submit("debug", 0, 3, "n1"), JobReason::kPartitionNodeLimit},
      {submit("same", 0, 2), JobReason::kPartitionNodeLimit},
      {submit("same", 1), JobReason::kPartitionTimeLimit},
      {submit("one", 0, 2), JobReason::kPartitionNodeLimit},
      {submit("one", 4), JobReason::kPartitionConfig},
      {submit("two", 5), JobReason::kPartitionConfig}};
  w.pass();
  for (const auto& [id, reason] : expected) EXPECT_EQ(w.reason(id), reason) << "job " << id;
}

}  // namespace
}  // namespace sluice::sched
