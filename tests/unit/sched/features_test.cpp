// Jobs whose features some nodes can be given (helpers.conf).
#include <gtest/gtest.h>

#include "common/syntax/node_helpers.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

struct Helped : World {
  explicit Helped(uint32_t nodes, uint32_t cpus = 2) : World(nodes, cpus) {
    config.node_features_plugins = {"node_features/helpers"};
    config.reboot_program = "/sbin/reboot";
    config.helpers.helpers = {{{}, {"nps1", "nps4"}, "/nps", false}};
    for (NodeConfig& node : config.nodes) adopt_helpers(config, node);
    up();
    for (const NodeConfig& node : config.nodes) report(node.name, "nps1");
  }
  void report(const std::string& name, const std::string& active,
              const std::string& boot_id = "boot") {
    state::RegisterNode command;
    command.node.name = name;
    command.node.hardware.boot_id = boot_id;
    command.node.hardware.cpus = config.nodes.front().cpus;
    command.node.hardware.real_memory_mib = 1000;
    command.node.active_features = active;
    EXPECT_TRUE(run(command));
  }
  static JobSpec wants(const std::string& constraint, uint32_t tasks = 1) {
    JobSpec made = spec(tasks);
    made.constraint = constraint;
    return made;
  }
};

TEST(Features, NodesThatHaveThemGoFirst) {
  Helped w(3);
  w.report("n2", "nps4");
  w.submit(Helped::wants("nps4", 2));
  w.submit(Helped::wants("nps4", 2));
  EXPECT_EQ(w.pass(), "1:n2 2:n1");
  EXPECT_NE(w.job(2).flags & kJobConfiguring, 0U);
  EXPECT_EQ(w.job(1).flags & kJobConfiguring, 0U);
}

TEST(Features, NodesInUseDoNotChange) {
  Helped w(1);
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "1:n1");
  w.submit(Helped::wants("nps4"));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(2), JobReason::kResources);
  w.finish(1);
  EXPECT_EQ(w.pass(), "2:n1");
}

TEST(Features, NothingElseBeginsWhereANodeChanges) {
  Helped w(1);
  w.submit(Helped::wants("nps4"));
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "1:n1");
  EXPECT_EQ(w.pass(), "");
  w.report("n1", "nps4", "another");
  EXPECT_EQ(w.pass(), "2:n1");
}

TEST(Features, SameAlternativeOnAllNodes) {
  Helped w(2);
  w.report("n2", "nps4");
  JobSpec both = Helped::wants("[nps4|nps1]", 4);
  both.min_nodes = both.max_nodes = 2;
  w.submit(both);
  EXPECT_EQ(w.pass(), "1:n[1-2]");
}

TEST(Features, DelayBoot) {
  Helped w(1);
  JobSpec patient = Helped::wants("nps4");
  patient.delay_boot_seconds = 120;
  w.submit(patient);
  w.pass_time(std::chrono::seconds(119));
  EXPECT_EQ(w.pass(), "");
  w.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(w.pass(), "1:n1");
}

// It kept the node that it would have rebooted later, and nobody used it meanwhile.
TEST(Features, DelayBootKeepsNoNodeFromOthers) {
  Helped w(1);
  JobSpec patient = Helped::wants("nps4", 2);
  patient.delay_boot_seconds = 120;
  w.submit(patient);
  w.submit(World::spec(2, 60));
  w.submit(World::spec(2, 60));
  EXPECT_EQ(w.pass(), "2:n1");
  ASSERT_NE(w.soft->find(1), nullptr);
  EXPECT_EQ(w.soft->find(1)->expected_start, kNoTime) << "no node has its features";
  w.pass_time(std::chrono::seconds(120));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.soft->find(1)->expected_start, w.job(2).end) << "now it is the node's next";
  w.finish(2);
  EXPECT_EQ(w.pass(), "1:n1");
}

// The bug: a job was ended for one that would not have its node rebooted yet.
TEST(Features, NobodyMakesRoomWhereAJobWaitsForItsBoot) {
  Helped w(1);
  w.config.preempt_type = "preempt/partition_prio";
  w.config.preempt_mode = PreemptMode::kCancel;
  w.partition("high").priority_tier = 2;
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  w.submit(World::spec(2, 60));
  EXPECT_EQ(w.pass(), "1:n1");
  JobSpec patient = Helped::wants("nps4", 2);
  patient.partitions = "high";
  patient.delay_boot_seconds = 120;
  w.submit(patient);
  EXPECT_EQ(w.pass() + w.leave, "");
  w.pass_time(std::chrono::seconds(120));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.leave, "1 for 2");
}

TEST(Features, OneUserMayWhatAnotherMayNot) {
  Helped w(2);
  w.config.helpers.allow_user_boot = {"ann"};
  w.config.helpers.allow_user_boot_ids = {1001};
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  w.report("n2", "nps4");
  JobSpec bobs = Helped::wants("nps4", 2);
  bobs.uid = 1002;
  w.submit(bobs);
  w.submit(bobs);
  w.submit(Helped::wants("nps4", 2));
  EXPECT_EQ(w.pass(), "1:n2 3:n1");
}

}  // namespace
}  // namespace sluice::sched
