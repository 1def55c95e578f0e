#include "common/net/listen_address.hpp"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

TEST(ListenAddress, IsEveryAddressUnlessTheConfigurationSaysOne) {
  ClusterConfig config;
  config.slurmctld_port = 7000;
  config.controllers = {{"ctl1", "10.0.0.1"}, {"ctl2", "10.0.0.2"}};
  NodeConfig node;
  node.name = "n1";
  node.hostname = "host1";
  node.port = 7001;
  EXPECT_EQ(controller_listen_address(config, "ctl2"), "0.0.0.0:7000");
  EXPECT_EQ(agent_listen_address(config, node), "0.0.0.0:7001");

  config.communication_parameters = {"NoCtldInAddrAny"};
  EXPECT_EQ(controller_listen_address(config, "ctl2"), "10.0.0.2:7000");
  EXPECT_EQ(controller_listen_address(config, "elsewhere"), "10.0.0.1:7000");
  EXPECT_EQ(agent_listen_address(config, node), "0.0.0.0:7001");
  config.slurmctld_addr = "10.0.0.9";
  EXPECT_EQ(controller_listen_address(config, "ctl2"), "10.0.0.9:7000");

  config.communication_parameters = {"NoInAddrAny"};
  EXPECT_EQ(controller_listen_address(config, "ctl1"), "0.0.0.0:7000");
  EXPECT_EQ(agent_listen_address(config, node), "host1:7001");
  node.address = "10.0.1.1";
  EXPECT_EQ(agent_listen_address(config, node), "10.0.1.1:7001");
}

}  // namespace
}  // namespace sluice::net
