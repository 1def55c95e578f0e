// Which nodes, cores and CPUs jobs of a pass share, and which they have alone.
#include <algorithm>

#include <gtest/gtest.h>

#include "common/names/job_states.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

TEST(Pass, WholeNodesByTheirConfiguration) {
  World w(2, 4);
  w.config.select_type = "select/linear";
  w.config.select_type_parameters = {"CR_MEMORY"};
  w.up();
  w.submit(World::spec(1));
  w.submit(World::spec(1));
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "1:n1 2:n2");
  EXPECT_EQ(w.job(1).allocation->cpus, 4U);
  EXPECT_TRUE(w.job(1).allocation->whole_nodes);
}

TEST(Pass, SharedCores) {
  World w(1, 4);
  w.partition("force").over_subscribe = OverSubscribe::kForce;
  w.config.partitions.back().over_subscribe_count = 2;
  w.partition("yes").over_subscribe = OverSubscribe::kYes;
  w.config.partitions.back().over_subscribe_count = 2;
  w.up();
  JobSpec force = World::spec(4);
  force.partitions = "force";
  for (int i = 0; i < 3; ++i) w.submit(force);
  EXPECT_EQ(w.pass(), "1:n1 2:n1") << "two jobs a core";
  EXPECT_EQ(w.reason(3), JobReason::kResources);
  w.finish(1);
  EXPECT_EQ(w.pass(), "3:n1");
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "") << "not with one that does not share";
  w.finish(2);
  w.finish(3);
  EXPECT_EQ(w.pass(), "4:n1");
  JobSpec yes = World::spec(3);
  yes.partitions = "yes";
  w.submit(yes);
  w.submit(yes);
  EXPECT_EQ(w.pass(), "5:n1") << "OverSubscribe=YES only for jobs that ask";
  yes.sharing = Sharing::kOversubscribe;
  w.submit(yes);
  EXPECT_EQ(w.pass(), "") << "and only with others that ask";
}

TEST(Pass, NoJobIsAloneWhereSharingIsForced) {
  World w(1, 4);
  w.partition("force").over_subscribe = OverSubscribe::kForce;
  w.config.partitions.back().over_subscribe_count = 2;
  w.partition("single").over_subscribe = OverSubscribe::kForce;
  w.config.partitions.back().over_subscribe_count = 1;
  w.up();
  JobSpec alone = World::spec(4);
  alone.partitions = "force";
  alone.sharing = Sharing::kExclusive;
  w.submit(alone);
  JobSpec user = alone;
  user.sharing = Sharing::kUser;
  user.uid = 2000;
  w.submit(user);
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  EXPECT_FALSE(w.job(1).allocation->whole_nodes);
  w.finish(1);
  w.finish(2);
  alone.partitions = "single";
  alone.num_tasks = 1;
  w.submit(alone);
  EXPECT_EQ(w.pass(), "3:n1");
  EXPECT_TRUE(w.job(3).allocation->whole_nodes) << "one job a core: nobody shares";
}

// As in Slurm 22.05. The bug: it had the CPUs of its tasks alone.
TEST(Pass, ExclusiveJobsTakeAllCpusWhereSharingIsForced) {
  World w(2, 4);
  w.partition("force").over_subscribe = OverSubscribe::kForce;
  w.config.partitions.back().over_subscribe_count = 2;
  w.config.def_mem_per_cpu_mib = 100;
  w.up();
  JobSpec alone = World::spec(1);
  alone.partitions = "force";
  alone.sharing = Sharing::kExclusive;
  alone.required_nodes = "n1";
  JobSpec plain = alone;
  plain.sharing = Sharing::kDefault;
  w.submit(plain);
  w.submit(alone);
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  EXPECT_EQ(w.job(1).allocation->cpus, 1U);
  EXPECT_EQ(w.job(2).allocation->cpus, 4U);
  EXPECT_EQ(w.job(2).allocation->nodes[0].cores.count(), 4U);
  EXPECT_EQ(w.job(2).allocation->nodes[0].memory_mib, 400U);
  EXPECT_FALSE(w.job(2).allocation->whole_nodes);
  w.submit(alone);
  EXPECT_EQ(w.pass(), "") << "one of the cores has its two jobs";
  w.finish(1);
  EXPECT_EQ(w.pass(), "3:n1");
  w.submit(plain);
  EXPECT_EQ(w.pass(), "");
  JobSpec other = World::spec(1);
  other.required_nodes = "n2";
  w.submit(other);
  alone.required_nodes = "n2";
  w.submit(alone);
  EXPECT_EQ(w.pass(), "5:n2") << "nor beside jobs that do not share";
}

TEST(Pass, NodesOfOneUser) {
  World w(2, 4);
  w.partition("apart").exclusive = ExclusiveMode::kUser;
  w.up();
  JobSpec ann = World::spec(1);
  ann.partitions = "apart";
  JobSpec bob = ann;
  bob.uid = 1002;
  w.submit(ann);
  w.submit(ann);
  w.submit(bob);
  JobSpec plain = World::spec(1);
  plain.uid = 1003;
  w.submit(plain);
  EXPECT_EQ(w.pass(), "1:n1 2:n1 3:n2") << "others may not join either";
  w.finish(3);
  EXPECT_EQ(w.pass(), "4:n2");
  w.submit(bob);
  EXPECT_EQ(w.pass(), "");
}

TEST(Pass, SocketsAndLoad) {
  World w(2, 8);
  for (NodeConfig& node : w.config.nodes) {
    node.sockets = 2;
    node.cores_per_socket = 4;
  }
  w.config.select_type_parameters = {"CR_SOCKET", "CR_LLN"};
  w.up();
  for (int i = 0; i < 5; ++i) w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "1:n1 2:n2 3:n1 4:n2") << "the emptiest node first, a socket a job";
}

TEST(Pass, CpusOfAPartitionOnANode) {
  World w(1, 8);
  w.partition("few").max_cpus_per_node = 3;
  w.up();
  JobSpec few = World::spec(1, 60);
  few.partitions = "few";
  for (int i = 0; i < 4; ++i) w.submit(few);
  w.submit(World::spec(5, 10));
  EXPECT_EQ(w.pass(), "1:n1 2:n1 3:n1 5:n1") << "its jobs together have no more";
  EXPECT_EQ(w.reason(4), JobReason::kResources);
  ASSERT_NE(w.soft->find(4), nullptr);
  EXPECT_EQ(w.soft->find(4)->expected_start, w.now + std::chrono::minutes(60))
      << "free cores are not enough";
  w.finish(1);
  EXPECT_EQ(w.pass(), "4:n1");
  few.num_tasks = 4;
  EXPECT_FALSE(w.run(state::SubmitJob{{few.uid, few.uid}, few, {}}));
}

TEST(Pass, CpusOfAPartitionOnASocket) {
  World w(1, 8);
  w.config.nodes[0].sockets = 2;
  w.config.nodes[0].cores_per_socket = 4;
  w.partition("few").max_cpus_per_socket = 1;
  w.up();
  JobSpec few = World::spec(1);
  few.partitions = "few";
  for (int i = 0; i < 3; ++i) w.submit(few);
  const auto cores = [&w](JobId id) { return w.job(id).allocation->nodes[0].cores.to_text(); };
  EXPECT_EQ(w.pass(), "1:n1 2:n1");
  EXPECT_EQ(cores(1), "0");
  EXPECT_EQ(cores(2), "4");
  EXPECT_EQ(w.reason(3), JobReason::kResources);
  w.finish(1);
  EXPECT_EQ(w.pass(), "3:n1");
  EXPECT_EQ(cores(3), "0");
  few.num_tasks = 3;
  EXPECT_FALSE(w.run(state::SubmitJob{{few.uid, few.uid}, few, {}}));
}

TEST(Pass, AJobThatLeavesLessToTheSystem) {
  World w(1, 8);
  w.config.allow_spec_resources_usage = true;
  w.config.nodes[0].core_spec_count = 2;
  w.up();
  JobSpec spec = World::spec(8);
  EXPECT_FALSE(w.run(state::SubmitJob{{spec.uid, spec.uid}, spec, {}}));
  w.submit(World::spec(6));
  spec.core_spec = 0;
  w.submit(spec);
  EXPECT_EQ(w.pass(), "1:n1") << "the other one needs the node for itself";
  w.finish(1);
  EXPECT_EQ(w.pass(), "2:n1");
  EXPECT_EQ(w.job(2).allocation->cpus, 8U);
  EXPECT_EQ(w.job(2).spec->sharing, Sharing::kExclusive);
}

// A core for each task has more CPUs, and by them more memory, than the tasks ask for: the engine
// refused each of the starts that were planned, once a second, though there was room elsewhere.
TEST(Pass, MemoryOfAllCpusThatComeWithTheCores) {
  World w(2, 4);
  for (NodeConfig& node : w.config.nodes) {
    node.cpus = 8;
    node.threads_per_core = 2;
  }
  w.up();
  JobSpec large = World::spec(1);
  large.memory_kind = MemoryKind::kPerNode;
  large.memory_mib = 700;
  ASSERT_EQ(w.submit(large), 1U);
  EXPECT_EQ(w.pass(), "1:n1");
  JobSpec spread = World::spec(2);
  spread.memory_kind = MemoryKind::kPerCpu;
  spread.memory_mib = 100;
  spread.ntasks_per_core = 1;
  w.submit(spread);
  EXPECT_EQ(w.pass(), "2:n2") << "four CPUs' memory is not free on n1";
}

// FORCE:2 is of each partition: its jobs share with one another, not with those of another one.
TEST(Pass, CoresAreSharedWithinAPartition) {
  World w(1, 4);
  for (const char* name : {"one", "two"}) {
    w.partition(name).over_subscribe = OverSubscribe::kForce;
    w.config.partitions.back().over_subscribe_count = 2;
  }
  w.up();
  const auto in = [](const char* partition) {
    JobSpec made = World::spec(4);
    made.partitions = partition;
    return made;
  };
  w.submit(in("one"));
  EXPECT_EQ(w.pass(), "1:n1");
  w.submit(in("two"));
  w.submit(in("one"));
  EXPECT_EQ(w.pass(), "3:n1");
  w.finish(1);
  EXPECT_EQ(w.pass(), "");
  w.finish(3);
  EXPECT_EQ(w.pass(), "2:n1");
}

}  // namespace
}  // namespace sluice::sched
