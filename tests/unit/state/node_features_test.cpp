// Features that helpers.conf manages: what nodes report of them, and what jobs have changed.
#include "common/base/text.hpp"
#include "common/tables/node_helpers.hpp"
#include "unit/state/fixture.hpp"

namespace sluice::state {
namespace {

class NodeFeaturesTest : public CoreTest {
 protected:
  NodeFeaturesTest() {
    auto changed = std::make_shared<ClusterConfig>(*config_);
    changed->node_features_plugins = {"node_features/helpers"};
    changed->reboot_program = "/sbin/reboot";
    changed->helpers.helpers = {{{}, {"nps1", "nps4"}, "/nps", false}, {{}, {"mig"}, "/mig", true}};
    changed->helpers.exclusive = {"nps1,nps4"};
    changed->helpers.boot_time = std::chrono::seconds(100);
    for (NodeConfig& node : changed->nodes) adopt_helpers(*changed, node);
    config_ = changed;
    run(ReplaceConfig{changed});
    for (const NodeConfig& node : changed->nodes) report(node.name, "nps1");
  }
  void report(const std::string& name, const std::string& active, const std::string& boot_id = "boot") {
    RegisterNode command;
    command.node.name = name;
    command.node.hardware.boot_id = boot_id;
    command.node.active_features = active;
    ASSERT_TRUE(run(command));
  }
  const Node& node(const std::string& name) { return *find_node(state_, name); }
  std::string active(const std::string& name) { return join(active_features(node(name)), ","); }
};

TEST_F(NodeFeaturesTest, NodesReportWhatIsActive) {
  EXPECT_EQ(active("n1"), "fast,nps1") << "what no helper manages is active";
  report("n1", "mig,nps4,unknown");
  EXPECT_EQ(active("n1"), "fast,nps4,mig");
  names_.clear();
  report("n1", "mig,nps4,unknown");
  EXPECT_TRUE(names_.empty()) << "nothing is journaled that is as it was";
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n1";
  command.update.active_features = "nps4";
  ASSERT_TRUE(run(command));
  report("n1", "mig");
  EXPECT_EQ(active("n1"), "mig") << "the others are the administrator's";
  report("n1", "");
  EXPECT_EQ(active("n1"), "");
  register_node("n1");
  EXPECT_EQ(active("n1"), "fast,nps1,nps4,mig") << "without helpers it is as configured";
}

TEST_F(NodeFeaturesTest, NewFeaturesOfTheLineAreActive) {
  auto changed = std::make_shared<ClusterConfig>(*config_);
  changed->nodes[0].features.emplace_back("large");
  ASSERT_TRUE(run(ReplaceConfig{changed}));
  EXPECT_EQ(active("n1"), "fast,nps1,large");
}

}  // namespace
}  // namespace sluice::state
