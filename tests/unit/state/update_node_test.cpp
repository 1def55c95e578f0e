// What administrators change of nodes: states, reasons, features, addresses.
#include <algorithm>

#include "common/base/text.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

TEST_F(CoreTest, AdministratorsChangeNodes) {
  const auto update = [&](Identity who, const std::string& nodes, const std::string& state,
                          const std::string& reason) {
    UpdateNode command{who, {}};
    command.update.nodes = nodes;
    command.update.state = state;
    if (!reason.empty()) command.update.reason = reason;
    return error_of(command);
  };
  EXPECT_EQ(update(kAnn, "n1", "drain", "x"), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kRoot, "n9", "drain", "x"), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(update(kRoot, "n1", "drain", ""), ErrorCode::kInvalidState);
  EXPECT_EQ(update(kRoot, "n1", "drain", "disk"), ErrorCode::kOk);
  EXPECT_FALSE(is_schedulable(state_.nodes.at(0)));
  EXPECT_EQ(state_.nodes.at(0).reason_time, now_);
  EXPECT_EQ(update(kRoot, "n1", "resume", ""), ErrorCode::kOk);
  EXPECT_TRUE(is_schedulable(state_.nodes.at(0)));
  EXPECT_EQ(update(kRoot, "n1", "resume", ""), ErrorCode::kInvalidState) << "it is in use";
  EXPECT_EQ(update(kRoot, "n2", "drain", "disk"), ErrorCode::kOk);
  const auto resumed = run(node_update("n[1-2]", "resume"));
  ASSERT_TRUE(resumed) << "one of a list that needs none stops no other";
  const auto* part = std::get_if<DoneInPart>(&*resumed);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->error.code, ErrorCode::kInvalidState);
  EXPECT_TRUE(is_schedulable(state_.nodes.at(1)));
  EXPECT_EQ(update(kRoot, "n3", "future", ""), ErrorCode::kOk);
  EXPECT_EQ(update(kRoot, "n3", "resume", ""), ErrorCode::kOk);
  EXPECT_TRUE(is_schedulable(state_.nodes.at(2)));
  EXPECT_EQ(update(kRoot, "n[1-2]", "down", "power"), ErrorCode::kOk);
  register_node("n1");
  EXPECT_EQ(state_.nodes.at(0).base, NodeBaseState::kDown) << "only an administrator takes it back";
}

TEST_F(CoreTest, UndrainKeepsWhyANodeIsDown) {
  ASSERT_EQ(error_of(node_update("n1", "down", "power")), ErrorCode::kOk);
  ASSERT_EQ(error_of(node_update("n1", "drain", "disk")), ErrorCode::kOk);
  ASSERT_EQ(error_of(node_update("n1", "undrain")), ErrorCode::kOk);
  EXPECT_EQ(find_node(state_, "n1")->flags & kNodeDrain, 0u);
  EXPECT_EQ(find_node(state_, "n1")->reason, "disk");
  ASSERT_EQ(error_of(node_update("n1", "resume")), ErrorCode::kOk);
  EXPECT_EQ(find_node(state_, "n1")->reason, "");
}

TEST_F(CoreTest, NodesMoveToOtherAddresses) {
  const auto move = [&](const std::string& nodes, const std::string& addresses) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = nodes;
    command.update.addresses = addresses;
    return error_of(command);
  };
  EXPECT_EQ(move("n[1-2]", "10.0.0.1"), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(move("ALL", "10.0.0.1"), ErrorCode::kInvalidNodeName) << "which is no name of a node";
  ASSERT_EQ(move("n2,n1", "10.0.0.[1-2]"), ErrorCode::kOk);
  EXPECT_EQ(node_host_address(*find_node(state_, "n2")), "10.0.0.1")
      << "in the order that they were named in";
  EXPECT_EQ(node_host_address(*find_node(state_, "n1")), "10.0.0.2");
  UpdateNode named{kRoot, {}};
  named.update.nodes = "n1";
  named.update.hostnames = "host1";
  ASSERT_EQ(error_of(named), ErrorCode::kOk);
  EXPECT_EQ(find_node(state_, "n1")->config->hostname, "host1");
  EXPECT_EQ(find_node(state_, "n1")->config->address, "10.0.0.2");
}

TEST_F(CoreTest, ActiveFeaturesAreAvailableOnes) {
  const auto update = [&](std::optional<std::string> available, std::optional<std::string> active) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = "n2";
    command.update.available_features = std::move(available);
    command.update.active_features = std::move(active);
    return error_of(command);
  };
  EXPECT_EQ(update({}, "slow"), ErrorCode::kFeaturesNotSubset);
  EXPECT_EQ(update("fast,slow", "slow"), ErrorCode::kOk);
  EXPECT_EQ(update("fast", {}), ErrorCode::kFeaturesNotSubset) << "slow is active";
  const auto active = [&] { return join(active_features(*find_node(state_, "n2")), ","); };
  EXPECT_EQ(update("fast", ""), ErrorCode::kOk);
  EXPECT_EQ(active(), "") << "none is not all";
  register_node("n2");
  EXPECT_EQ(active(), "") << "a node has no say in it";
  EXPECT_EQ(update("quick", {}), ErrorCode::kOk);
  EXPECT_EQ(active(), "quick") << "all that are available now";
  EXPECT_EQ(update("fast", {}), ErrorCode::kFeaturesNotSubset);
  EXPECT_EQ(update("fast,quick", {}), ErrorCode::kOk);
  EXPECT_EQ(active(), "fast,quick");
  EXPECT_EQ(update({}, "fast"), ErrorCode::kOk);
  EXPECT_EQ(update("slow,fast", {}), ErrorCode::kOk);
  EXPECT_EQ(active(), "slow,fast");
  EXPECT_EQ(update("quick", "quick"), ErrorCode::kOk);
  EXPECT_EQ(update("", ""), ErrorCode::kOk);
  EXPECT_EQ(active(), "");
}

TEST_F(CoreTest, ReasonsAreOfNodesThatAreNotFine) {
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n[1-2]";
  const auto say = [&](const std::string& reason) {
    command.update.reason = reason;
    return error_of(command);
  };
  const auto reasons = [&] {
    return find_node(state_, "n1")->reason.str() + "|" + find_node(state_, "n2")->reason.str();
  };
  ASSERT_EQ(say("nothing"), ErrorCode::kOk);
  EXPECT_EQ(reasons(), "|");
  for (const char* wish : {"drain", "fail", "down"}) {
    ASSERT_EQ(error_of(node_update("n2", wish, "disk")), ErrorCode::kOk);
    ASSERT_EQ(say("fan"), ErrorCode::kOk);
    EXPECT_EQ(reasons(), "|fan") << wish;
    ASSERT_EQ(say(""), ErrorCode::kOk);
    EXPECT_EQ(reasons(), "|fan") << "it stays";
    ASSERT_EQ(error_of(node_update("n2", "resume", "good")), ErrorCode::kOk);
    EXPECT_EQ(reasons(), "|") << wish;
  }
}

TEST_F(CoreTest, NodesFailOrDrain) {
  const auto flags = [&](const char* wish) {
    const ErrorCode code = error_of(node_update("n1", wish, "disk"));
    EXPECT_EQ(code, ErrorCode::kOk) << wish;
    return find_node(state_, "n1")->flags & (kNodeDrain | kNodeFailing);
  };
  EXPECT_EQ(flags("fail"), kNodeFailing);
  EXPECT_EQ(flags("dra"), kNodeDrain) << "a beginning is enough";
  EXPECT_EQ(flags("FAIL"), kNodeFailing);
  EXPECT_EQ(flags("undrain"), 0u);
  EXPECT_EQ(find_node(state_, "n1")->reason, "");
  for (const char* wish : {"alloc", "mixed", "unknown", "draining", "re", "power_up"}) {
    EXPECT_EQ(error_of(node_update("n1", wish, "disk")), ErrorCode::kInvalidState) << wish;
  }
  ASSERT_EQ(error_of(node_update("n1", "noresp")), ErrorCode::kOk);
  EXPECT_EQ(error_of(node_update("n1", "resume")), ErrorCode::kInvalidState)
      << "that it does not answer is no drain";
  ASSERT_TRUE(run(NodesResponding{{0}}));
  EXPECT_TRUE(is_schedulable(state_.nodes.at(0)));
}

// The bug: NodeName= of an empty variable drained the whole cluster.
TEST_F(CoreTest, AnEmptyListOfNodesIsNotAllOfThem) {
  UpdateNode drain{kRoot, {}};
  drain.update.state = "drain";
  drain.update.reason = "fan";
  EXPECT_EQ(error_of(drain), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0U);
  drain.update.nodes = "ALL";
  ASSERT_TRUE(run(drain));
  EXPECT_NE(state_.nodes.at(0).flags & kNodeDrain, 0U);
  EXPECT_NE(state_.nodes.at(3).flags & kNodeDrain, 0U);
}

}  // namespace
}  // namespace sluice::state
