// Look-ups in lists of parameters and names of files.
#include "common/model/cluster_config.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ClusterConfig, FindsAParameterWhateverItsCase) {
  const std::vector<std::string> list{"defer", "bf_window=60", "BF_Window=90"};
  EXPECT_EQ(option_value(list, "bf_window"), "90");
  EXPECT_EQ(option_value(list, "DEFER"), "");
  EXPECT_FALSE(has_option(list, "bf"));
}

TEST(ClusterConfig, FillsInNodeAndHost) {
  const NodeConfig node{.name = "n1", .hostname = "rack4"};
  EXPECT_EQ(node_path("/spool/%n-%h/%p%", node), "/spool/n1-rack4/%p%");
}

}  // namespace
}  // namespace sluice
