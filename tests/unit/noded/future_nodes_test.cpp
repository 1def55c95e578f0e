// slurmd -F: which FUTURE nodes a host may become.
#include <gtest/gtest.h>

#include "common/protocol/node_query.hpp"
#include "noded/node/node_line.hpp"

namespace sluice::noded {
namespace {

class FutureNodesTest : public ::testing::Test {
 protected:
  FutureNodesTest() {
    host_.host_name = "h1";
    host_.sockets = 2;
    host_.cores_per_socket = 4;
    host_.threads_per_core = 1;
  }
  Node& add(const std::string& name, NodeBaseState base = NodeBaseState::kFuture,
            std::vector<std::string> features = {}) {
    NodeConfig line;
    line.name = name;
    line.sockets = 2;
    line.cores_per_socket = 4;
    line.features = std::move(features);
    Node& node = nodes_.emplace_back().node;
    node.name = name;
    node.base = base;
    node.config = std::make_shared<const NodeConfig>(line);
    return node;
  }
  std::vector<std::string> found(const std::string& feature = {}, const std::string& name = {}) {
    return future_nodes(nodes_, host_, feature, name);
  }
  using Names = std::vector<std::string>;

  NodeHardware host_;
  std::vector<protocol::NodeRecord> nodes_;
};

TEST_F(FutureNodesTest, ThoseThatAreAlike) {
  add("used", NodeBaseState::kIdle);
  add("f1");
  add("f2", NodeBaseState::kFuture, {"spot"});
  Node& other = add("other");
  NodeConfig line = *other.config;
  line.threads_per_core = 2;
  other.config = std::make_shared<const NodeConfig>(line);
  EXPECT_EQ(found(), (Names{"f1", "f2"}));
  EXPECT_EQ(found("spot"), Names{"f2"});
  EXPECT_EQ(found("gpu"), Names{});
  EXPECT_EQ(found("", "f2"), Names{"f2"});
  EXPECT_EQ(found("", "used"), Names{});
  host_.cores_per_socket = 8;
  EXPECT_EQ(found(), Names{});
}

TEST_F(FutureNodesTest, AHostStaysWhatItIs) {
  add("f1");
  auto hardware = std::make_shared<NodeHardware>();
  hardware->host_name = "h1";
  Node& own = add("f2", NodeBaseState::kDown);
  own.hardware = hardware;
  EXPECT_EQ(found(), Names{"f1"}) << "nobody became it";
  own.flags = kNodeDynamicFuture;
  EXPECT_EQ(found(), Names{"f2"});
  EXPECT_EQ(found("spot"), Names{"f2"});
  own.base = NodeBaseState::kFuture;
  EXPECT_EQ(found(), (Names{"f1", "f2"})) << "it was taken away from the host";
}

}  // namespace
}  // namespace sluice::noded
