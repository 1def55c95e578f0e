// Whose turn it is to be checked.
#include "ctld/agents/health_checks.hpp"

#include "support/core_fixture.hpp"

namespace sluice::ctld {
namespace {

class HealthTest : public state::CoreTest {
 protected:
  std::string meant(const std::vector<std::string>& states, double from = 0, double to = 1) {
    auto config = std::make_shared<ClusterConfig>(*config_);
    config->health_check_node_state = states;
    state_.config = config;
    return node_list(state_, nodes_to_check(state_, from, to));
  }
};

TEST_F(HealthTest, StatesOfNodes) {
  ASSERT_TRUE(start_job(submit(batch_spec()), "n1"));  // one CPU of eight
  ASSERT_TRUE(start_job(submit(batch_spec()), "n2", 8));
  state::UpdateNode drain;
  drain.update.nodes = "n3";
  drain.update.state = "DRAIN";
  drain.update.reason = "test";
  ASSERT_TRUE(run(drain));
  EXPECT_EQ(meant({"ANY"}), "n[1-4]");
  EXPECT_EQ(meant({}), "n[1-4]");
  EXPECT_EQ(meant({"MIXED"}), "n1");
  EXPECT_EQ(meant({"ALLOC"}), "n2");
  EXPECT_EQ(meant({"IDLE"}), "n[3-4]");
  EXPECT_EQ(meant({"NONDRAINED_IDLE"}), "n4");
  EXPECT_EQ(meant({"IDLE", "MIXED"}), "n[1,3-4]");
  EXPECT_EQ(meant({"START_ONLY"}), "");
  EXPECT_EQ(meant({"ANY"}, 0, 0.9), "") << "at the end of the interval";
}

TEST_F(HealthTest, CycleTakesOneAfterTheOther) {
  EXPECT_EQ(meant({"ANY", "CYCLE"}, 0, 0.25), "n1");
  EXPECT_EQ(meant({"ANY", "CYCLE"}, 0.25, 0.6), "n[2-3]");
  EXPECT_EQ(meant({"ANY", "CYCLE"}, 0.6, 1), "n4");
}

}  // namespace
}  // namespace sluice::ctld
