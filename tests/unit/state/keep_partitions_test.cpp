// ReconfigFlags: what scontrol reconfigure leaves of partitions that scontrol has changed.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class KeepPartitions : public CoreTest {
 protected:
  // slurm.conf as it was first, with `change` and these flags.
  template <class Change>
  void reconfigure(std::vector<std::string> flags, Change change) {
    auto config = std::make_shared<ClusterConfig>(*config_);
    config->reconfig_flags = std::move(flags);
    change(*config);
    ASSERT_TRUE(run(ReplaceConfig{config, false, true}));
  }
  template <class Change>
  void update(Change change) {
    UpdatePartition command{kRoot, protocol::PartitionAction::kUpdate, "debug", debug()};
    change(command.config);
    ASSERT_TRUE(run(command));
  }
  void create(const std::string& name) {
    UpdatePartition command{kRoot, protocol::PartitionAction::kCreate, name, {}};
    command.config.nodes_text = "n2";
    command.config.nodes = {"n2"};
    ASSERT_TRUE(run(command));
  }
  PartitionConfig debug() { return *find_partition(state_, "debug")->config; }
};

void nothing(ClusterConfig&) {}

TEST_F(KeepPartitions, WithoutFlagsTheFileCounts) {
  update([](PartitionConfig& part) { part.state = PartitionState::kDown; });
  create("extra");
  reconfigure({}, nothing);
  EXPECT_EQ(debug().state, PartitionState::kUp);
  EXPECT_EQ(find_partition(state_, "extra"), nullptr);
}

TEST_F(KeepPartitions, StateAlone) {
  update([](PartitionConfig& part) {
    part.state = PartitionState::kDown;
    part.max_nodes = 3;
  });
  create("extra");
  reconfigure({"KeepPartState"}, nothing);
  EXPECT_EQ(debug().state, PartitionState::kDown);
  EXPECT_EQ(debug().max_nodes, PartitionConfig().max_nodes);
  EXPECT_EQ(find_partition(state_, "extra"), nullptr);
}

TEST_F(KeepPartitions, InfoIsMergedWithTheFile) {
  update([](PartitionConfig& part) {
    part.state = PartitionState::kDown;
    part.max_nodes = 3;
  });
  create("extra");
  reconfigure({"KeepPartInfo"}, [](ClusterConfig& config) {
    config.partitions[0].min_nodes = 2;
    config.partitions[0].max_nodes = 4;
    config.partitions[0].nodes = {"n1", "n2"};
  });
  EXPECT_EQ(debug().state, PartitionState::kDown);
  EXPECT_EQ(debug().max_nodes, 3U);  // as scontrol said
  EXPECT_EQ(debug().min_nodes, 2U);  // as the file says now
  EXPECT_EQ(debug().nodes, (std::vector<std::string>{"n1", "n2"}));
  ASSERT_NE(find_partition(state_, "extra"), nullptr);
  EXPECT_EQ(find_partition(state_, "extra")->config->nodes, std::vector<std::string>{"n2"});
}

TEST_F(KeepPartitions, NodesThatScontrolGaveStayAsLongAsTheyAre) {
  update([](PartitionConfig& part) {
    part.nodes_text = "n[3-4]";
    part.nodes = {"n3", "n4"};
  });
  reconfigure({"KeepPartInfo"}, [](ClusterConfig& config) {
    config.nodes.pop_back();
    config.partitions[0].nodes.pop_back();
  });
  EXPECT_EQ(debug().nodes, std::vector<std::string>{"n3"});
}

TEST_F(KeepPartitions, ARestartIsNoReconfigure) {
  update([](PartitionConfig& part) { part.state = PartitionState::kDown; });
  configure([](ClusterConfig& config) { config.reconfig_flags = {"KeepPartInfo"}; });
  EXPECT_EQ(debug().state, PartitionState::kUp);
}

}  // namespace
}  // namespace sluice::state
