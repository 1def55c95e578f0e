// %N in the names of files.
#include <gtest/gtest.h>

#include "noded/node/node_state.hpp"

namespace sluice::noded {
namespace {

NodeConfig node(const std::string& name, const std::string& host) {
  NodeConfig made;
  made.name = name;
  made.hostname = host;
  return made;
}

TEST(FileHost, IsTheHostsShortName) {
  ClusterConfig config;
  config.nodes = {node("cloud1", "ip-10-0-0-1.example.org"),
                  node("cloud2", "ip-10-0-0-2.example.org")};
  EXPECT_EQ(host_in_file_names(config, config.nodes[1]), "ip-10-0-0-2");
}

// As of a trial cluster: the nodes would write one file, each over the other's output.
TEST(FileHost, IsTheNodesNameWhereAHostHasSeveral) {
  ClusterConfig config;
  config.nodes = {node("n1", "here"), node("n2", "here"), node("n3", "there")};
  EXPECT_EQ(host_in_file_names(config, config.nodes[1]), "n2");
  EXPECT_EQ(host_in_file_names(config, config.nodes[2]), "there");
}

}  // namespace
}  // namespace sluice::noded
