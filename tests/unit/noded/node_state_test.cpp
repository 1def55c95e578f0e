#include "noded/node/node_state.hpp"

#include <chrono>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace sluice::noded {
namespace {

using std::chrono::seconds;

// Whether launches that were signed until now are refused when the controller is heard after
// `silence`.
bool refuses_earlier(Duration slurmd_timeout, Duration silence) {
  ClusterConfig config;
  config.slurmd_timeout = slurmd_timeout;
  boost::asio::io_context io;
  NodeState node{.io = io};
  node.config = std::make_shared<const ClusterConfig>(config);
  heard_controller(node);
  EXPECT_EQ(node.launches_from, kNoTime) << "it is the first time";
  node.last_controller_message -= silence;
  const Time before = now();
  heard_controller(node);
  EXPECT_GE(node.last_controller_message, before);
  return node.launches_from >= before;
}

TEST(NodeState, LaunchesFromBeforeALongSilenceCountNoMore) {
  EXPECT_TRUE(refuses_earlier(seconds(300), seconds(301)));
  EXPECT_TRUE(refuses_earlier(seconds(300), seconds(271)))
      << "the answer to the ping before may have been lost";
  EXPECT_FALSE(refuses_earlier(seconds(300), seconds(60)));
  EXPECT_TRUE(refuses_earlier(seconds(8), seconds(6)));
  EXPECT_FALSE(refuses_earlier(seconds(8), seconds(3)));
  EXPECT_FALSE(refuses_earlier(seconds(2), seconds(1))) << "it pings once a second";
  EXPECT_FALSE(refuses_earlier(Duration(0), seconds(100'000))) << "no node is given up";
}

}  // namespace
}  // namespace sluice::noded
