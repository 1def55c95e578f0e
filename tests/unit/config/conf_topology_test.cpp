// topology.conf.
#include <gtest/gtest.h>

#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

std::string read(const std::string& text, const char* plugin = "topology/tree") {
  auto parsed =
      parse(std::string(kSmallest) + "TopologyPlugin=" + plugin + "\nNodeName=n[1-4] CPUs=1\n");
  if (!parsed) return parsed.error().text;
  const auto lines = lines_of(text);
  if (!lines) return lines.error().text;
  if (Status ok = parse_topology_conf(*lines, *parsed); !ok) return ok.error().text;
  std::string out;
  for (const SwitchConfig& one : parsed->config.switches) {
    out += one.name + ":" + std::to_string(one.nodes.size()) + ":" +
           std::to_string(one.switches.size()) + " ";
  }
  return out;
}

TEST(TopologyConf, Tree) {
  EXPECT_EQ(
      read(
          "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3 LinkSpeed=5\nSwitchName=t Switches=s[1-2]\n"),
      "s1:2:0 s2:1:0 t:0:2 ");
  EXPECT_EQ(read("SwitchName=s1 Nodes=n1\n", "topology/flat"), "")
      << "read with topology/tree alone";
}

TEST(TopologyConf, WhatIsWrong) {
  EXPECT_EQ(read("SwitchName=s1\n"),
            "/etc/slurm.conf:1: a switch has Nodes= or Switches=, and not both");
  EXPECT_EQ(read("Nodes=n1\n"), "/etc/slurm.conf:1: SwitchName= is wanted");
  EXPECT_EQ(read("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n"),
            "/etc/slurm.conf:2: switch s1 is there twice");
  EXPECT_EQ(read("SwitchName=s1 Nodes=n9\n"),
            "topology.conf: switch s1 has node n9, which is not configured");
  EXPECT_EQ(read("SwitchName=s1 Switches=s2\n"), "topology.conf: there is no switch s2");
  EXPECT_EQ(read("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
            "topology.conf: switch a is below itself\ntopology.conf: switch b is below itself");
  EXPECT_EQ(
      read("SwitchName=s1 Nodes=zz[1-2]\nSwitchName=s2 Switches=s9\nSwitchName=s3 Nodes=yy1\n"),
      "topology.conf: switch s1 has nodes zz[1-2], which are not configured\n"
      "topology.conf: there is no switch s9\n"
      "topology.conf: switch s3 has node yy1, which is not configured");
  EXPECT_EQ(read("SwitchName=s1 Nodes=n1 Color=red\n"), "/etc/slurm.conf:1: unknown key \"Color\"");
}

}  // namespace
}  // namespace sluice::tables
