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
  Bitmap required;

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
    std::vector<std::string> parts;
    const auto placed = place_spec(spec);
    if (!placed) return placed.error().code == ErrorCode::kNodesBusy ? "" : "error";
    for (const auto& a : *placed)
      parts.push_back(nodes[a.node].name + ":" + std::to_string(a.cpus));
    return join(parts, " ");
  }
  Result<std::vector<NodeAllocation>> place_spec(const JobSpec& spec) {
    const auto needs = needs_of(spec, partition, config);
    if (!needs) return tl::unexpected(needs.error());
    const Unit unit = rules_of(config).unit;
    std::vector<Room> rooms;
    for (const auto& node : nodes) rooms.push_back(room_now(node, unit));
    std::vector<const Room*> list;
    for (const auto& room : rooms) list.push_back(&room);
    auto placed = place(*needs, list, required.any() ? &required : nullptr, unit);
    if (!placed) return failure(ErrorCode::kNodesBusy);
    return std::move(*placed);
  }
};

JobSpec ask(uint32_t tasks, uint32_t min_nodes = 0, uint32_t max_nodes = 0,
            uint32_t cpus_per_task = 0) {
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
  EXPECT_EQ(c.place_text(ask(4, 5)), "n1:1 n2:1 n3:1 n4:1")
      << "more nodes than tasks are cut to the tasks";
  JobSpec per_node = ask(0, 2);
  per_node.ntasks_per_node = 3;
  EXPECT_EQ(c.place_text(per_node), "n1:3 n2:3");
  per_node.max_nodes = 4;
  EXPECT_EQ(c.place_text(per_node), "n1:3 n2:3 n3:3 n4:3");
  per_node.ntasks_per_node = 1;
  EXPECT_EQ(c.place_text(per_node), "n1:1 n2:1") << "as many nodes as -n2 takes of them";
  JobSpec at_most = ask(4, 2, 2);
  at_most.ntasks_per_node = 1;
  EXPECT_EQ(c.place_text(at_most), "error") << "four tasks, one a node, do not go on two nodes";
  at_most.max_nodes = 4;
  EXPECT_EQ(c.place_text(at_most), "n1:1 n2:1 n3:1 n4:1");
  at_most.min_nodes = at_most.max_nodes = 0;
  EXPECT_EQ(c.place_text(at_most), "n1:1 n2:1 n3:1 n4:1");
  const auto each_node = [&](uint32_t tasks, uint32_t nodes, uint32_t cpus, uint32_t per) {
    JobSpec spec = ask(tasks, nodes, nodes, cpus);
    spec.ntasks_per_node = per;
    return c.place_text(spec);
  };
  EXPECT_EQ(each_node(3, 2, 2, 2), "n1:4 n2:4") << "a node has room for as many tasks as were said";
  EXPECT_EQ(each_node(3, 0, 0, 2), "n1:2 n2:2");
  EXPECT_EQ(each_node(4, 3, 0, 2), "n1:2 n2:2 n3:2");
  EXPECT_EQ(each_node(2, 0, 2, 4), "n1:8");
  EXPECT_EQ(each_node(2, 2, 0, 2), "n1:2 n2:2");
  EXPECT_EQ(each_node(2, 0, 0, 9), "");
  EXPECT_EQ(each_node(1, 0, 0, 2), "n1:1") << "save for a single task";
  c.use(0, 3);
  EXPECT_EQ(c.place_text(ask(2, 0, 0, 3)), "n2:6") << "one node that holds it whole comes first";
}

// The bug: what scontrol update NumCPUs= said was taken and had no effect when the tasks wanted
// more.
TEST(Place, FewerCpusThanItsTasksWant) {
  Cluster c;
  JobSpec spec = ask(4);
  spec.min_cpus = 2;
  EXPECT_EQ(c.place_text(spec), "n1:2");
  spec.cpus_per_task = 2;
  spec.min_cpus = 3;
  EXPECT_EQ(c.place_text(spec), "n1:3");
  spec.min_nodes = 2;
  EXPECT_EQ(c.place_text(spec), "n1:2 n2:2") << "a task on each node";
  spec = ask(4);
  spec.min_cpus = 6;
  EXPECT_EQ(c.place_text(spec), "n1:6");
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
  c.use(0, 1);
  for (const MemoryKind kind : {MemoryKind::kPerNode, MemoryKind::kPerCpu}) {
    spec.memory_kind = kind;  // --mem=0, --mem-per-cpu=0: all of an idle node
    EXPECT_EQ(c.place_text(spec), "n2:1");
  }
}

TEST(Place, MemoryWhereNoneIsAskedFor) {
  Cluster c;
  const auto memory = [&] { return c.place_spec(ask(2)).value()[0].memory_mib; };
  EXPECT_EQ(memory(), 200u);
  c.config.def_mem_per_cpu_mib = 0;
  c.config.def_mem_per_node_mib = 700;
  EXPECT_EQ(memory(), 700u);
  c.partition.def_mem_per_node_mib = 300;
  EXPECT_EQ(memory(), 300u) << "the partition's goes before";
  c.partition.def_mem_per_node_mib = {};
  c.partition.def_mem_per_cpu_mib = 50;
  EXPECT_EQ(memory(), 100u);
}

TEST(Place, MemoryOfANodeTakesCpusUnderMaxMemPerCpu) {
  Cluster c;
  c.partition.max_mem_per_cpu_mib = 50;
  JobSpec spec = ask(1);
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 200;
  EXPECT_EQ(c.place_text(spec), "n1:4");
}

// The bug: only what --mem and --mem-per-cpu said was bounded, not what the job came to have.
TEST(Place, AllMemoryOfANodeIsWithinTheLimits) {
  Cluster c;
  c.config.def_mem_per_cpu_mib = 0;
  c.partition.max_mem_per_cpu_mib = 499;
  EXPECT_EQ(c.place_text(ask(1)), "") << "4,000 MiB are more than 8 CPUs may have";
  c.partition.max_mem_per_cpu_mib = 500;
  EXPECT_EQ(c.place_text(ask(1)), "n1:8") << "all memory comes with all CPUs";
  c.partition.max_mem_per_cpu_mib = {};
  c.partition.max_mem_per_node_mib = 3999;
  EXPECT_EQ(c.place_text(ask(1)), "");
  c.partition.max_mem_per_node_mib = 4000;
  EXPECT_EQ(c.place_text(ask(1)), "n1:1");
}

TEST(Place, MemoryOfSeveralCpusIsWithinTheLimitOfANode) {
  Cluster c;
  c.partition.max_mem_per_node_mib = 1000;
  JobSpec spec = ask(4);
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 400;
  EXPECT_EQ(c.place_text(spec), "n1:2 n2:2");
  spec.min_nodes = spec.max_nodes = 1;
  EXPECT_EQ(c.place_text(spec), "");
  EXPECT_TRUE(exceeds_memory_limit(spec, c.partition, c.config, 4000));
  spec = ask(1);
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 400;
  EXPECT_FALSE(exceeds_memory_limit(spec, c.partition, c.config, 4000));
  spec.sharing = Sharing::kExclusive;
  EXPECT_EQ(c.place_text(spec), "") << "8 CPUs have 3,200 MiB";
}

TEST(Place, MemoryBeyondAllMeasureUnderMaxMemPerCpu) {
  Cluster c;
  c.partition.max_mem_per_cpu_mib = 100;
  JobSpec spec = ask(1);
  for (const MemoryKind kind : {MemoryKind::kPerCpu, MemoryKind::kPerNode}) {
    spec.memory_kind = kind;
    for (const uint64_t mib : {UINT64_MAX, UINT64_MAX / 2, uint64_t{100} << 32}) {
      spec.memory_mib = mib;
      EXPECT_EQ(c.place_text(spec), "") << mib;
    }
  }
}

TEST(Place, ThePartitionsNumberOfNodes) {
  Cluster c;
  c.partition.max_nodes = 1;
  EXPECT_EQ(c.place_text(ask(8)), "n1:8");
  EXPECT_EQ(c.place_text(ask(9)), "") << "a second node is not allowed";
  c.partition.max_nodes = kUnlimited;
  c.partition.min_nodes = 2;
  EXPECT_EQ(c.place_text(ask(0)), "n1:1 n2:1");
  EXPECT_EQ(c.place_text(ask(1)), "n1:1 n2:1") << "for one task, too";
  EXPECT_EQ(c.place_text(ask(0, 1, 3)), "n1:1 n2:1 n3:1");
}

TEST(Place, OneOfTheListedSizes) {
  Cluster c;
  JobSpec spec = ask(0, 1);
  spec.max_nodes = 4;
  spec.node_counts = "1,3";
  EXPECT_EQ(c.place_text(spec), "n1:1 n2:1 n3:1") << "the largest that can be had";
  c.use(1, 8);
  c.use(2, 8);
  EXPECT_EQ(c.place_text(spec), "n1:1") << "two are free, and two is no size of the list";
  spec.node_counts = "3,4";
  spec.min_nodes = 3;
  EXPECT_EQ(c.place_text(spec), "");
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

TEST(Place, AListOfNodesLeavesRoomForOthers) {
  Cluster c;
  c.required.set(1);
  JobSpec spec = ask(9, 1);  // -w n2 -n9: the list says that it has one node at least
  spec.required_nodes = "n2";
  EXPECT_EQ(c.place_text(spec), "n1:8 n2:1");
  spec.num_tasks = 4;
  EXPECT_EQ(c.place_text(spec), "n2:4") << "it has no more than it needs";
  spec.num_tasks = 9;
  spec.max_nodes = 1;
  EXPECT_EQ(c.place_text(spec), "") << "-N1";
  c.required.set(3);
  spec = ask(0, 2);
  spec.required_nodes = "n[2,4]";
  EXPECT_EQ(c.place_text(spec), "n2:1 n4:1");
  spec.contiguous = true;
  EXPECT_EQ(c.place_text(spec), "n2:1 n3:1 n4:1") << "and what is between them";
  spec.max_nodes = 2;
  EXPECT_EQ(c.place_text(spec), "");
  c.required.reset(3);
  spec = ask(9, 1);
  spec.required_nodes = "n2";
  spec.contiguous = true;
  EXPECT_EQ(c.place_text(spec), "n1:8 n2:1");
}

// Each number of nodes costs no look at all of them, and the largest that can be had is taken.
TEST(Place, TheLargestOfManyNumbersOfNodes) {
  Cluster c;
  JobSpec spec = ask(0, 1, 4);
  spec.node_counts = "1,3-4";
  EXPECT_EQ(c.place_text(spec), "n1:1 n2:1 n3:1 n4:1");
  c.feature(1, "a");
  c.feature(3, "a");
  spec.constraint = "a";
  EXPECT_EQ(c.place_text(spec), "n2:1") << "of two that have it";
  spec.node_counts = "2-4";
  EXPECT_EQ(c.place_text(spec), "n2:1 n4:1");
  spec.contiguous = true;
  EXPECT_EQ(c.place_text(spec), "") << "they are no neighbours";
  spec.node_counts = "1,2-4";
  EXPECT_EQ(c.place_text(spec), "n2:1");
}

TEST(Place, NeighboursOfCountedFeatures) {
  Cluster c;
  c.feature(1, "a");
  c.feature(2, "b");
  JobSpec spec = ask(0, 2, 2);
  spec.contiguous = true;
  spec.constraint = "[a*1&b*1]";
  EXPECT_EQ(c.place_text(spec), "n2:1 n3:1") << "n1 and n2 have but one of them";
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
  EXPECT_EQ(with("(a&b)*1", 2), "n1:1 n3:1") << "and any other";
  EXPECT_EQ(with("[(a&b)*1&b*1]", 2), "n3:1 n4:1");
  EXPECT_EQ(with("[(a|b)*3]", 3), "n2:1 n3:1 n4:1");
  EXPECT_EQ(with("[(a&b)*2]", 2), "");
  for (const char* bad : {"a&", "(a", "(a&b)*", "(a&b)*0", "(a&b)*x", "[a&b]*2", "(a*1&b)",
                          "((a*1)&b)", "[a&b]", "[a*1&b]", "[a,b]", "[[a|b]]", "[a|[b]]"}) {
    EXPECT_EQ(with(bad, 1), "error") << bad;
  }
}

// Two sockets of four cores of two threads a node; cases and answers from a real Slurm 22.05.
struct Threaded : Cluster {
  explicit Threaded(const char* parameters, const char* select = "select/cons_tres") {
    config.select_type = select;
    config.select_type_parameters = {parameters};
    config.def_mem_per_cpu_mib = 10;
    for (auto& node : nodes) {
      auto c = std::make_shared<NodeConfig>(*node.config);
      c->cpus = 16;
      c->sockets = 2;
      c->cores_per_socket = 4;
      c->threads_per_core = 2;
      c->real_memory_mib = 1000;
      node.config = c;
    }
  }
  // "n1:4/0,4/40": CPUs, cores, MiB
  std::string detail(const JobSpec& spec) {
    std::vector<std::string> parts;
    const auto placed = place_spec(spec);
    if (!placed) return "";
    for (const auto& a : *placed) {
      parts.push_back(nodes[a.node].name + ":" + std::to_string(a.cpus) + "/" + a.cores.to_text() +
                      "/" + std::to_string(a.memory_mib));
    }
    return join(parts, " ");
  }
};

TEST(Place, Cores) {
  Threaded c("CR_CORE_MEMORY");
  EXPECT_EQ(c.detail(ask(1)), "n1:2/0/20");
  EXPECT_EQ(c.detail(ask(3)), "n1:4/0,4/40") << "cores in turn from each socket";
  EXPECT_EQ(c.detail(ask(1, 0, 0, 3)), "n1:4/0-1/40") << "the CPUs of a task stay together";
  EXPECT_EQ(c.detail(ask(2, 0, 0, 3)), "n1:6/0-2/60");
  EXPECT_EQ(c.detail(ask(9)), "n1:10/0-2,4-5/100");
  EXPECT_EQ(c.detail(ask(17)), "n1:16/0-7/160 n2:2/0/20");
  EXPECT_EQ(c.detail(ask(10, 2)), "n1:8/0-1,4-5/80 n2:2/0/20") << "a further node keeps a core";
  EXPECT_EQ(c.detail(ask(4, 2)), "n1:2/0/20 n2:2/0/20");
  EXPECT_EQ(c.detail(ask(0, 2, 0, 3)), "n1:4/0-1/40 n2:4/0-1/40");
  JobSpec spec = ask(3);
  spec.distribution = "*:block";
  EXPECT_EQ(c.detail(spec), "n1:4/0-1/40");
  spec.distribution = "block:cyclic";
  EXPECT_EQ(c.detail(spec), "n1:4/0,4/40");
  spec = ask(2);
  spec.threads_per_core = 1;
  EXPECT_EQ(c.detail(spec), "n1:4/0,4/20") << "a thread of each core is used, both are charged";
  spec = ask(10);
  spec.threads_per_core = 1;
  EXPECT_EQ(c.detail(spec), "n1:16/0-7/80 n2:4/0,4/20");
  spec = ask(2);
  spec.ntasks_per_core = 1;
  EXPECT_EQ(c.detail(spec), "n1:4/0,4/40");
  spec = ask(4);
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 300;
  EXPECT_EQ(c.detail(spec), "n1:2/0/600 n2:2/0/600");
  spec = ask(6);
  spec.ntasks_per_socket = 2;
  EXPECT_EQ(c.place_text(spec), "n1:4 n2:2");
  spec = ask(3);
  spec.spread = true;
  EXPECT_EQ(c.place_text(spec), "n1:2 n2:2 n3:2");
  // The bug: a job that says no number of tasks was spread over all nodes.
  spec.num_tasks = 0;
  EXPECT_EQ(c.place_text(spec), "n1:2");
  spec = ask(40);
  spec.overcommit = true;
  EXPECT_EQ(c.place_text(spec), "n1:2");
  // The bug: it had the CPUs of a task of one CPU.
  spec.cpus_per_task = 3;
  EXPECT_EQ(c.place_text(spec), "n1:4");
  spec.cpus_per_task = 99;
  EXPECT_EQ(c.place_text(spec), "");
}

TEST(Place, OneTaskPerCoreUnlessMoreAreAskedFor) {
  Threaded c("CR_CORE_MEMORY");
  EXPECT_EQ(c.detail(ask(2)), "n1:2/0/20");
  c.config.select_type_parameters.push_back("CR_ONE_TASK_PER_CORE");
  EXPECT_EQ(c.detail(ask(2)), "n1:4/0,4/40");
  JobSpec spec = ask(2);
  spec.ntasks_per_core = 2;
  EXPECT_EQ(c.detail(spec), "n1:2/0/20");
}

// 2 cores times 2^31 tasks are no tasks at all in 32 bits.
TEST(Place, AnyNumberOfTasksPerCore) {
  Threaded c("CR_CORE_MEMORY");
  for (const uint32_t many : {1U << 31, UINT32_MAX}) {
    JobSpec spec = ask(2);
    spec.ntasks_per_core = many;
    EXPECT_EQ(c.detail(spec), "n1:2/0/20") << many;
    spec.ntasks_per_core = 0;
    spec.ntasks_per_socket = many;
    EXPECT_EQ(c.detail(spec), "n1:2/0/20") << many;
  }
}

TEST(Place, CpusAreChargedAsUsed) {
  Threaded c("CR_CPU_MEMORY");
  EXPECT_EQ(c.detail(ask(1)), "n1:1/0/10") << "the core is the job's alone";
  EXPECT_EQ(c.detail(ask(3)), "n1:3/0-1/30");
  EXPECT_EQ(c.detail(ask(9)), "n1:9/0-4/90");
  EXPECT_EQ(c.detail(ask(0, 2, 0, 3)), "n1:3/0-1/30 n2:3/0-1/30");
  JobSpec spec = ask(2);
  spec.threads_per_core = 1;
  EXPECT_EQ(c.detail(spec), "n1:2/0-1/20");
}

TEST(Place, WholeSockets) {
  Threaded c("CR_SOCKET_MEMORY");
  EXPECT_EQ(c.detail(ask(1)), "n1:8/0-3/80");
  EXPECT_EQ(c.detail(ask(9)), "n1:16/0-7/160");
  c.use(0, 1);
  EXPECT_EQ(c.detail(ask(1)), "n1:8/4-7/80");
  c.use(0, 5);
  EXPECT_EQ(c.detail(ask(1)), "n2:8/0-3/80");
}

// With one thread a core, as asked of Slurm 22.05: a task keeps to a socket that has room for it,
// and what no socket has room for is spread evenly.
TEST(Place, CoresOfLargeTasks) {
  Threaded c("CR_CORE_MEMORY");
  for (Node& node : c.nodes) {
    auto config = std::make_shared<NodeConfig>(*node.config);
    config->threads_per_core = 1;
    config->cpus = 8;
    node.config = config;
  }
  const auto cores = [&](uint32_t tasks, uint32_t each, const char* distribution = "") {
    JobSpec spec = ask(tasks, 0, 0, each);
    spec.distribution = distribution;
    const auto placed = c.place_spec(spec);
    return placed && placed->size() == 1 ? (*placed)[0].cores.to_text() : std::string("none");
  };
  EXPECT_EQ(cores(1, 4), "0-3");
  EXPECT_EQ(cores(1, 5), "0-2,4-5");
  EXPECT_EQ(cores(1, 6), "0-2,4-6");
  EXPECT_EQ(cores(1, 7), "0-6");
  EXPECT_EQ(cores(2, 2), "0-3");
  EXPECT_EQ(cores(2, 3), "0-2,4-6");
  EXPECT_EQ(cores(3, 2), "0-5");
  EXPECT_EQ(cores(1, 6, "block:block"), "0-5");
  EXPECT_EQ(cores(2, 3, "block:block"), "0-5");
  JobSpec apart = ask(2, 0, 0, 2);
  apart.ntasks_per_socket = 1;
  EXPECT_EQ((*c.place_spec(apart))[0].cores.to_text(), "0-1,4-5");
  for (Node& node : c.nodes) node.used_cores = Bitmap::first(1);
  EXPECT_EQ(cores(1, 3), "1-3");
  EXPECT_EQ(cores(1, 4), "4-7");
  EXPECT_EQ(cores(1, 5), "1-5");
  EXPECT_EQ(cores(1, 6), "1-6");
  EXPECT_EQ(cores(2, 2), "1-2,4-5");
  EXPECT_EQ(cores(2, 3), "1-6");
  EXPECT_EQ(cores(3, 2), "1-2,4-7");
}

// Node n1 keeps the last cores of both sockets, 3 and 7.
struct Reserved : Threaded {
  using Threaded::Threaded;
  void keep(uint32_t cores) {
    auto c = std::make_shared<NodeConfig>(*nodes[0].config);
    c->core_spec_count = cores;
    nodes[0].config = c;
  }
};

TEST(Place, CoresOfTheSystemAreNobodys) {
  Reserved c("CR_CORE_MEMORY");
  c.keep(2);
  EXPECT_EQ(c.detail(ask(12)), "n1:12/0-2,4-6/120");
  EXPECT_EQ(c.detail(ask(13)), "n2:14/0-6/140") << "n1 has no room for it";
  JobSpec whole = ask(1);
  whole.sharing = Sharing::kExclusive;
  EXPECT_EQ(c.detail(whole), "n1:12/0-2,4-6/120");
  c.nodes.resize(1);
  EXPECT_EQ(c.place_text(ask(13)), "");
}

TEST(Place, ASocketWithACoreOfTheSystem) {
  Reserved c("CR_SOCKET_MEMORY");
  c.keep(1);
  c.nodes.resize(1);
  EXPECT_EQ(c.detail(ask(2)), "n1:8/0-3/80");
  EXPECT_EQ(c.detail(ask(8)), "n1:14/0-6/140") << "its cores are of both";
  EXPECT_EQ(c.detail(ask(9)), "n1:14/0-6/140");
  c.use(0, 1);
  EXPECT_EQ(c.detail(ask(1)), "n1:6/4-6/60") << "the rest of it is a socket";
  EXPECT_EQ(c.place_text(ask(7)), "");
}

TEST(Place, AJobMayLeaveLessToTheSystem) {
  Reserved c("CR_CORE_MEMORY");
  c.keep(2);
  c.nodes.resize(1);
  c.config.allow_spec_resources_usage = true;
  JobSpec spec = ask(1);
  spec.sharing = Sharing::kExclusive;
  spec.core_spec = 0;
  EXPECT_EQ(c.detail(spec), "n1:16/0-7/160");
  spec.num_tasks = 16;
  EXPECT_EQ(c.place_text(spec), "n1:16");
  spec.core_spec = 1;
  EXPECT_EQ(c.place_text(spec), "");
  spec.num_tasks = 14;
  EXPECT_EQ(c.detail(spec), "n1:14/0-6/140");
  c.config.allow_spec_resources_usage = false;
  EXPECT_EQ(c.place_text(spec), "");
  c.config.allow_spec_resources_usage = true;
  c.use(0, 1);
  EXPECT_EQ(c.place_text(spec), "") << "a job has it, so it is not to be had whole";
}

TEST(Place, WholeNodes) {
  Threaded c("CR_MEMORY", "select/linear");
  EXPECT_EQ(c.detail(ask(1)), "n1:16/0-7/160");
  EXPECT_EQ(c.detail(ask(20)), "n1:16/0-7/160 n2:16/0-7/160");
  c.use(0, 1);
  EXPECT_EQ(c.place_text(ask(1)), "n2:16");
}

TEST(Place, OneUser) {
  Cluster c;
  Room room = room_now(c.nodes[0], Unit::kCpu);
  Needs needs;
  needs.uid = 7;
  needs.one_user = true;
  EXPECT_TRUE(place_on(needs, room, Unit::kCpu));
  room.jobs = 1;
  room.user = 8;
  EXPECT_FALSE(place_on(needs, room, Unit::kCpu));
  needs.one_user = false;
  EXPECT_TRUE(place_on(needs, room, Unit::kCpu));
  room.one_user = true;
  EXPECT_FALSE(place_on(needs, room, Unit::kCpu));
  room.user = 7;
  EXPECT_TRUE(place_on(needs, room, Unit::kCpu));
}

TEST(Needs, SameDemand) {
  JobSpec a = ask(2), b = ask(2);
  b.name = "another";
  EXPECT_TRUE(same_demand(a, b));
  EXPECT_EQ(demand_hash(a), demand_hash(b));
  b.constraint = "x";
  EXPECT_FALSE(same_demand(a, b));
}

}  // namespace
}  // namespace sluice::fit
