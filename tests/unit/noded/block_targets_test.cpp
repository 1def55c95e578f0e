// Where a block of a file goes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "noded/requests.hpp"

namespace sluice::noded {
namespace {

std::vector<std::string> names(const Result<std::vector<net::FanoutTarget>>& targets) {
  std::vector<std::string> out;
  if (targets) {
    for (const net::FanoutTarget& target : *targets)
      out.push_back(target.node + "@" + target.address);
  }
  return out;
}

TEST(BlockTargets, AreTheTicketsNodesOrThoseThatAreNamed) {
  std::vector<protocol::NodeAddress> nodes(3);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].host = "host" + std::to_string(i);
    nodes[i].port = 7;
  }
  EXPECT_EQ(names(block_targets(nodes, {})),
            (std::vector<std::string>{"n0@host0:7", "n1@host1:7", "n2@host2:7"}));
  EXPECT_EQ(names(block_targets(nodes, {"n2", "n0", "other"})),
            (std::vector<std::string>{"n0@host0:7", "n2@host2:7"}));
  // The bug: each node was sought in as many names as came, on the agent's only thread.
  const auto refused = block_targets(nodes, {"n0", "n0", "n0", "n0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadRequest);
}

}  // namespace
}  // namespace sluice::noded
