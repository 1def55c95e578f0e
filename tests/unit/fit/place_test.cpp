// Placement against cases asked of a real Slurm 22.05 with 4 nodes of 8 CPUs.
#include "ctld/fit/place.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "common/base/text.hpp"

namespace sluice::fit {
namespace {

struct Cluster {
  ClusterConfig config;
  PartitionConfig partition;
  std::vector<Node> nodes;

  explicit Cluster(uint32_t count = 4, uint32_t cpus = 8) {
    config.select_type_parameters = {"CR_CPU_MEMORY"};
    config.def_mem_per_cpu_mib = 100;
    for (uint32_t i = 0; i < count; ++i) {
      NodeConfig c;
      c.name = "n" + std::to_string(i + 1);
      c.cpus = c.sockets = cpus;
      c.real_memory_mib = 4000;
      Node node;
      node.id = i;
      node.name = c.name;
      node.config = std::make_shared<NodeConfig>(c);
      nodes.push_back(node);
    }
  }
  void feature(size_t node, const std::string& name) {
    auto c = std::make_shared<NodeConfig>(*nodes[node].config);
    c->features.push_back(name);
    nodes[node].config = c;
  }
  void use(size_t node, uint32_t cpus) {
    nodes[node].used_cores = Bitmap::first(cpus);
    nodes[node].running_jobs = 1;
  }
  // "n1:3 n2:1", "" when it does not fit
  std::string place_text(const JobSpec& spec) {
    const auto needs = needs_of(spec, partition, config);
    if (!needs) return "error";
    std::vector<Room> rooms;
    for (const auto& node : nodes) rooms.push_back(room_now(node, unit_of(config)));
    const auto placed = place(*needs, rooms, unit_of(config));
    std::vector<std::string> parts;
    if (placed) {
      for (const auto& a : *placed) parts.push_back(nodes[a.node].name + ":" + std::to_string(a.cpus));
    }
    return join(parts, " ");
  }
};

JobSpec ask(uint32_t tasks, uint32_t min_nodes = 0, uint32_t max_nodes = 0, uint32_t cpus_per_task = 0) {
  JobSpec spec;
  spec.num_tasks = tasks;
  spec.min_nodes = min_nodes;
  spec.max_nodes = max_nodes;
  spec.cpus_per_task = cpus_per_task;
  return spec;
}

TEST(Place, DealsTasksAsSlurmDoes) {
  Cluster c;
  EXPECT_EQ(c.place_text(ask(4)), "n1:4");
  EXPECT_EQ(c.place_text(ask(4, 2)), "n1:3 n2:1");
  EXPECT_EQ(c.place_text(ask(0, 2)), "n1:1 n2:1");
  EXPECT_EQ(c.place_text(ask(20, 2, 3)), "n1:8 n2:8 n3:4");
  EXPECT_EQ(c.place_text(ask(4, 3, 3, 2)), "n1:4 n2:2 n3:2");
  EXPECT_EQ(c.place_text(ask(4, 2, 4)), "n1:1 n2:1 n3:1 n4:1");
  EXPECT_EQ(c.place_text(ask(33)), "");
  EXPECT_EQ(c.place_text(ask(4, 5)), "n1:1 n2:1 n3:1 n4:1") << "more nodes than tasks are cut to the tasks";
  JobSpec per_node = ask(0, 2);
  per_node.ntasks_per_node = 3;
  EXPECT_EQ(c.place_text(per_node), "n1:3 n2:3");
  c.use(0, 3);
  EXPECT_EQ(c.place_text(ask(2, 0, 0, 3)), "n2:6") << "one node that holds it whole comes first";
}

TEST(Place, ExclusiveTakesIdleNodesWhole) {
  Cluster c;
  c.use(0, 1);
  JobSpec spec;
  spec.sharing = Sharing::kExclusive;
  EXPECT_EQ(c.place_text(spec), "n2:8");
}

TEST(Place, MemoryBoundsCpus) {
  Cluster c;
  JobSpec spec = ask(4);
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 2000;  // two a node
  EXPECT_EQ(c.place_text(spec), "n1:2 n2:2");
  spec.memory_mib = 5000;
  EXPECT_EQ(c.place_text(spec), "");
  spec = ask(1);
  spec.memory_kind = MemoryKind::kPerNode;  // --mem=0: all of an idle node
  c.use(0, 1);
  EXPECT_EQ(c.place_text(spec), "n2:1");
}

TEST(Place, Contiguous) {
  Cluster c;
  c.use(1, 8);
  JobSpec spec = ask(0, 2);
  spec.contiguous = true;
  EXPECT_EQ(c.place_text(spec), "n3:1 n4:1");
  spec.min_nodes = 3;
  EXPECT_EQ(c.place_text(spec), "");
}

TEST(Place, Features) {
  Cluster c;
  c.feature(1, "a");
  c.feature(2, "a");
  c.feature(2, "b");
  c.feature(3, "b");
  JobSpec spec;
  const auto with = [&](const char* constraint, uint32_t nodes) {
    spec.constraint = constraint;
    spec.min_nodes = nodes;
    return c.place_text(spec);
  };
  EXPECT_EQ(with("a&b", 1), "n3:1");
  EXPECT_EQ(with("a|b", 3), "n2:1 n3:1 n4:1");
  EXPECT_EQ(with("[a|b]", 3), "");
  EXPECT_EQ(with("[b|a]", 2), "n3:1 n4:1");
  EXPECT_EQ(with("[a*1&b*2]", 3), "n2:1 n3:1 n4:1");
  EXPECT_EQ(with("a&", 1), "error");
  EXPECT_EQ(with("(a", 1), "error");
}

TEST(Place, StillFits) {
  Cluster c;
  NodeAllocation a;
  a.node = 0;
  a.cores = Bitmap::first(2);
  a.memory_mib = 200;
  EXPECT_TRUE(still_fits(a, room_now(c.nodes[0], Unit::kCpu), true));
  c.use(0, 1);
  EXPECT_FALSE(still_fits(a, room_now(c.nodes[0], Unit::kCpu), false));
}

}  // namespace
}  // namespace sluice::fit
