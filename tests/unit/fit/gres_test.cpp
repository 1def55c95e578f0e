// Placement with generic resources, against what a real Slurm 22.05 gave for the same nodes: two
// sockets of four cores, with two GPUs near each.
#include <memory>

#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "ctld/fit/place.hpp"

namespace sluice::fit {
namespace {

struct GpuCluster {
  ClusterConfig config;
  PartitionConfig partition;
  std::vector<Node> nodes;

  explicit GpuCluster(uint32_t count = 2) {
    config.select_type_parameters = {"CR_CPU_MEMORY"};
    config.def_mem_per_cpu_mib = 100;
    for (uint32_t i = 0; i < count; ++i) {
      NodeConfig c;
      c.name = "n" + std::to_string(i + 1);
      c.cpus = 8;
      c.sockets = 2;
      c.cores_per_socket = 4;
      c.real_memory_mib = 4000;
      c.gres = "gpu:a100:4,fan:3";
      Node node;
      node.id = i;
      node.name = c.name;
      node.gres = make_inventory(
          c.gres, {{.name = "gpu", .type = "a100", .count = 2, .files = {"0", "1"}, .cores = "0-3"},
                   {.name = "gpu", .type = "a100", .count = 2, .files = {"2", "3"}, .cores = "4-7"},
                   {.name = "fan", .count = 3}});
      node.config = std::make_shared<NodeConfig>(c);
      nodes.push_back(node);
    }
  }
  void use(size_t node, const GresShares& shares) {
    nodes[node].used_gres = std::make_shared<const GresShares>(shares);
    nodes[node].running_jobs = 1;
  }
  // "n1:gpu:a100:2(IDX:0-1) n2:…"; "" when it does not fit
  std::string place_text(const JobSpec& spec) {
    std::vector<std::string> parts;
    for (const NodeAllocation& a : place_spec(spec))
      parts.push_back(nodes[a.node].name + ":" + gres_text(a.gres, true));
    return join(parts, " ");
  }
  std::vector<NodeAllocation> place_spec(const JobSpec& spec) {
    const auto needs = needs_of(spec, partition, config);
    EXPECT_TRUE(needs);
    std::vector<Room> rooms;
    for (const Node& node : nodes) rooms.push_back(room_now(node, Unit::kCpu));
    std::vector<const Room*> list;
    for (const Room& room : rooms) list.push_back(&room);
    return place(*needs, list, nullptr, Unit::kCpu).value_or(std::vector<NodeAllocation>());
  }
};

JobSpec on_node(std::string_view gres, uint32_t cpus = 1) {
  JobSpec spec;
  spec.gres = gres;
  spec.cpus_per_task = cpus;
  return spec;
}
Bitmap units(std::string_view text) { return Bitmap::from_text(text).value_or(Bitmap()); }

TEST(PlaceGres, PerNode) {
  GpuCluster cluster;
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:2")), "n1:gpu:a100:2(IDX:0-1)");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:a100:1,gres/fan:2")),
            "n1:gpu:a100:1(IDX:0),fan(CNT:2)");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:5")), "");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:h100:1")), "");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:0")), "n1:");
  JobSpec two = on_node("gres/gpu:1");
  two.min_nodes = two.max_nodes = 2;
  EXPECT_EQ(cluster.place_text(two), "n1:gpu:a100:1(IDX:0) n2:gpu:a100:1(IDX:0)");
}

TEST(PlaceGres, WhatOthersHoldIsGone) {
  GpuCluster cluster;
  cluster.use(0, {{"gpu", "a100", 3, units("0-2"), {}}, {"fan", {}, 2, {}, {}}});
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:1")), "n1:gpu:a100:1(IDX:3)");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:2")), "n2:gpu:a100:2(IDX:0-1)");
  EXPECT_EQ(cluster.place_text(on_node("gres/fan:2")), "n2:fan(CNT:2)");
  const auto needs = needs_of(on_node("gres/gpu:2"), cluster.partition, cluster.config);
  EXPECT_EQ(lack_of(*needs, room_now(cluster.nodes[0], Unit::kCpu)), Lack::kGres);
  EXPECT_EQ(lack_of(*needs, room_now(cluster.nodes[1], Unit::kCpu)), Lack::kNothing);
}

TEST(PlaceGres, PerJob) {
  GpuCluster cluster;
  JobSpec spec;
  spec.tres_per_job = "gres/gpu:6";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:4(IDX:0-3) n2:gpu:a100:2(IDX:0-1)");
  spec.tres_per_job = "gres/gpu:9";
  EXPECT_EQ(cluster.place_text(spec), "");
  spec.min_nodes = spec.max_nodes = 2;
  spec.tres_per_job = "gres/gpu:5";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:3(IDX:0-2) n2:gpu:a100:2(IDX:0-1)");
  spec.tres_per_job = "gres/gpu:2";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:1(IDX:0) n2:gpu:a100:1(IDX:0)");
  spec.tres_per_job = "gres/gpu:1";  // each node gives at least one
  EXPECT_EQ(cluster.place_text(spec), "");
  spec = JobSpec();
  spec.tres_per_job = "gres/gpu:4";
  spec.gres = "gres/gpu:2";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:2(IDX:0-1)");
}

TEST(PlaceGres, PerTask) {
  GpuCluster cluster;
  JobSpec spec;
  spec.num_tasks = 3;
  spec.tres_per_task = "gres/gpu:1";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:3(IDX:0-2)");
  spec.num_tasks = 6;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:4(IDX:0-3) n2:gpu:a100:2(IDX:0-1)");
  spec.num_tasks = 9;
  EXPECT_EQ(cluster.place_text(spec), "");
  spec.num_tasks = 4;
  spec.tres_per_task = {};
  spec.ntasks_per_gpu = 2;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:2(IDX:0-1)");
}

TEST(PlaceGres, TasksFillWholeUnits) {
  GpuCluster cluster;
  const auto place = [&](JobSpec spec, uint32_t tasks, uint32_t each) {
    spec.num_tasks = tasks;
    spec.ntasks_per_gpu = each;
    std::string cpus;
    for (const NodeAllocation& a : cluster.place_spec(spec)) cpus += " " + std::to_string(a.cpus);
    return cluster.place_text(spec) + cpus;
  };
  JobSpec two;
  two.min_nodes = two.max_nodes = 2;
  EXPECT_EQ(place(two, 8, 2), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:2(IDX:0-1) 4 4")
      << "as evenly as may be";
  EXPECT_EQ(place(two, 4, 1), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:2(IDX:0-1) 2 2");
  EXPECT_EQ(place(two, 6, 2), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:1(IDX:0) 4 2")
      << "no unit is divided";
  two.gres = "gres/gpu:2";
  EXPECT_EQ(place(two, 8, 2), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:2(IDX:0-1) 4 4");
  EXPECT_EQ(place(two, 9, 2), "") << "these units serve eight";
  EXPECT_EQ(place(JobSpec(), 12, 2), "n1:gpu:a100:4(IDX:0-3) n2:gpu:a100:2(IDX:0-1) 8 4")
      << "a node after the other";
}

TEST(PlaceGres, UnitsOfTwoTypesServeTasksTogether) {
  GpuCluster cluster(1);
  cluster.nodes[0].gres =
      make_inventory("gpu:a:1,gpu:b:1", {{.name = "gpu", .type = "a", .count = 1, .files = {"0"}},
                                         {.name = "gpu", .type = "b", .count = 1, .files = {"1"}}});
  JobSpec spec;
  spec.min_nodes = spec.max_nodes = 1;
  spec.num_tasks = 4;
  spec.ntasks_per_gpu = 2;
  for (SharedText JobSpec::*wish : {&JobSpec::gres, &JobSpec::tres_per_job}) {
    JobSpec both = spec;
    both.*wish = "gres/gpu:a:1,gres/gpu:b:1";
    const std::vector<NodeAllocation> placed = cluster.place_spec(both);
    ASSERT_EQ(placed.size(), 1U);
    EXPECT_EQ(placed[0].cpus, 4U);
    EXPECT_EQ(placed[0].gres.size(), 2U);
  }
}

TEST(PlaceGres, PerSocket) {
  GpuCluster cluster(1);
  JobSpec spec;
  spec.sockets_per_node = 2;
  spec.tres_per_socket = "gres/gpu:1";
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:2(IDX:0,2)");
  spec.tres_per_socket = "gres/gpu:3";
  EXPECT_EQ(cluster.place_text(spec), "");
}

TEST(PlaceGres, MoreThanCanBeCounted) {
  GpuCluster cluster;
  JobSpec spec;
  spec.sockets_per_node = 2;
  spec.tres_per_socket = "gres/gpu:8192P";  // twice that is nothing in 64 bits
  EXPECT_EQ(cluster.place_text(spec), "");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:16384P")), "") << "nor is it nothing by itself";
  JobSpec tasks;
  tasks.ntasks_per_gpu = 2;
  tasks.tres_per_job = "gres/gpu:8192P";
  EXPECT_FALSE(complete_gres(tasks));
  JobSpec several;
  several.min_nodes = several.max_nodes = 2;
  several.tres_per_task = "gres/gpu:8192P";
  several.num_tasks = 4;
  EXPECT_EQ(cluster.place_text(several), "");
}

TEST(PlaceGres, CpusAndMemoryOfGpus) {
  GpuCluster cluster;
  JobSpec spec;
  spec.tres_per_job = "gres/gpu:2";
  spec.cpus_per_gpu = "2";
  auto placed = cluster.place_spec(spec);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].cpus, 4u);
  EXPECT_EQ(placed[0].memory_mib, 400u);
  spec.memory_kind = MemoryKind::kPerGpu;
  spec.memory_mib = 300;
  placed = cluster.place_spec(spec);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].memory_mib, 600u);
  spec.gres = "gres/gpu:4";
  spec.tres_per_job = {};
  spec.cpus_per_gpu = "3";
  EXPECT_TRUE(cluster.place_spec(spec).empty());
}

TEST(PlaceGres, CpusAndMemoryWhereNoneAreAskedFor) {
  GpuCluster cluster;
  JobSpec spec;
  spec.tres_per_job = "gres/gpu:2";
  const auto sizes = [&] {
    const auto placed = cluster.place_spec(spec);
    EXPECT_EQ(placed.size(), 1u);
    return std::pair(placed.at(0).cpus, placed.at(0).memory_mib);
  };
  cluster.config.def_cpu_per_gpu = 3;
  EXPECT_EQ(sizes(), std::pair(6u, uint64_t{600}));
  cluster.config.def_mem_per_gpu_mib = 250;
  EXPECT_EQ(sizes(), std::pair(6u, uint64_t{500}));
  cluster.partition.def_cpu_per_gpu = 2;
  cluster.partition.def_mem_per_gpu_mib = 70;
  EXPECT_EQ(sizes(), std::pair(4u, uint64_t{140})) << "the partition's goes before";
  spec.cpus_per_gpu = "1";
  EXPECT_EQ(sizes().first, 2u);
  spec = JobSpec();
  EXPECT_EQ(sizes(), std::pair(1u, uint64_t{100})) << "a job without GPUs";
}

TEST(PlaceGres, TheSiteMayBindAllJobsToNearCores) {
  GpuCluster cluster(1);
  cluster.use(0, {{"gpu", "a100", 2, units("0-1"), {}}});
  EXPECT_EQ(cluster.place_spec(on_node("gres/gpu:1", 6)).size(), 1u);
  cluster.config.select_type_parameters.push_back("ENFORCE_BINDING_GRES");
  EXPECT_TRUE(cluster.place_spec(on_node("gres/gpu:1", 6)).empty());
  EXPECT_EQ(cluster.place_spec(on_node("gres/gpu:1", 4)).size(), 1u);
  EXPECT_EQ(cluster.place_spec(on_node("", 6)).size(), 1u);
}

TEST(PlaceGres, AJobMayDisableTheBinding) {
  GpuCluster cluster(1);
  cluster.use(0, {{"gpu", "a100", 2, units("0-1"), {}}});
  JobSpec spec = on_node("gres/gpu:1", 2);
  spec.gres_flags = "disable-binding";
  auto placed = cluster.place_spec(spec);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].cores, units("0-1")) << "as without a GPU, where 4-7 are near this one";
  EXPECT_EQ(placed[0].gres, (GresShares{{"gpu", "a100", 1, units("2"), {}}}));
  cluster.config.select_type_parameters.push_back("ENFORCE_BINDING_GRES");
  spec.cpus_per_task = 6;
  EXPECT_EQ(cluster.place_spec(spec).size(), 1u) << "whatever the site says";
  spec.gres_flags = "enforce-binding,disable-binding";
  EXPECT_EQ(cluster.place_spec(spec).size(), 1u);
  spec.gres_flags = {};
  EXPECT_TRUE(cluster.place_spec(spec).empty());
}

TEST(PlaceGres, ShardsOfOneUnitOnly) {
  GpuCluster cluster(1);
  const auto place = [&](std::vector<std::string> flags, const char* wanted) {
    cluster.nodes[0].gres =
        make_inventory("gpu:2,shard:8", {{.name = "gpu", .count = 2, .files = {"0", "1"}},
                                         {.name = "shard", .count = 8, .flags = std::move(flags)}});
    return cluster.place_text(on_node(wanted));
  };
  EXPECT_EQ(place({}, "gres/shard:6"), "n1:shard:6(IDX:0-1(2,4))");
  EXPECT_EQ(place({"one_sharing"}, "gres/shard:6"), "");
  EXPECT_EQ(place({"one_sharing"}, "gres/shard:4"), "n1:shard:4(IDX:0(4))");
}

// The bug: a job that had its node whole got all GPUs and none of the shards that it asked for.
TEST(PlaceGres, AWholeNodeServesTheShardsThatWereAskedFor) {
  GpuCluster cluster(1);
  cluster.nodes[0].gres = make_inventory(
      "gpu:2,shard:8",
      {{.name = "gpu", .count = 2, .files = {"0", "1"}}, {.name = "shard", .count = 8}});
  JobSpec spec = on_node("gres/shard:3");
  spec.sharing = Sharing::kExclusive;
  EXPECT_EQ(cluster.place_text(spec), "n1:shard:3(IDX:0(3)),gpu:1(IDX:1)");
}

TEST(PlaceGres, CoresNearTheUnits) {
  GpuCluster cluster(1);
  cluster.use(0, {{"gpu", "a100", 2, units("0-1"), {}}});
  auto placed = cluster.place_spec(on_node("gres/gpu:1", 2));
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].cores, units("4-5"));
  EXPECT_EQ(cluster.place_spec(on_node("gres/gpu:1", 6)).size(), 1u);  // a preference only
  JobSpec must = on_node("gres/gpu:1", 6);
  must.gres_flags = "enforce-binding";
  EXPECT_TRUE(cluster.place_spec(must).empty());
  must.cpus_per_task = 4;
  placed = cluster.place_spec(must);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].cores, units("4-7"));
}

// Was taken for a type of this name, and given to one job at a time.
TEST(PlaceGres, WhatIsNotConsumedServesAllJobs) {
  GpuCluster cluster(1);
  cluster.nodes[0].gres = make_inventory("lustre:no_consume:4K,gpu:a100:no_consume:2,fan:1", {});
  EXPECT_EQ(cluster.place_text(on_node("gres/lustre:4096,gres/fan:1")),
            "n1:lustre(CNT:4096),fan(CNT:1)");
  cluster.use(0, {{"lustre", "", 4096, {}, {}, true}, {"fan", "", 1, {}, {}}});
  EXPECT_EQ(cluster.place_text(on_node("gres/lustre:4096")), "n1:lustre(CNT:4096)");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:a100:2")), "n1:gpu:a100(CNT:2)");
  EXPECT_EQ(cluster.place_text(on_node("gres/lustre:4097")), "");
  EXPECT_EQ(cluster.place_text(on_node("gres/fan:1")), "");
  EXPECT_EQ(used_gres_text(*cluster.nodes[0].gres, *cluster.nodes[0].used_gres),
            "lustre:0,gpu:a100:0,fan:1");
}

struct SixGpus : GpuCluster {
  SixGpus() {
    for (Node& node : nodes) {
      node.gres = make_inventory(
          "gpu:6", {{.name = "gpu", .count = 3, .files = {"0", "1", "2"}, .cores = "0-3"},
                    {.name = "gpu", .count = 3, .files = {"3", "4", "5"}, .cores = "4-7"}});
    }
  }
  static JobSpec bound(const char* gres, uint32_t cpus) {
    JobSpec spec = on_node(gres, cpus);
    spec.gres_flags = "enforce-binding";
    return spec;
  }
};

// Four of six were all of one socket and one of the other, and both CPUs of the first.
TEST(PlaceGres, EnforcedBindingTakesUnitsAndCoresOfTheSameSockets) {
  SixGpus cluster;
  const auto placed = cluster.place_spec(SixGpus::bound("gres/gpu:4", 2));
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].gres, (GresShares{{"gpu", "", 4, units("0-1,3-4"), {}}}));
  EXPECT_EQ(placed[0].cores, units("0,4"));
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:3", 2)), "n1:gpu:3(IDX:0-2)")
      << "one socket has them";
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:2", 6)), "")
      << "no socket has so many cores";
  EXPECT_EQ(cluster.place_spec(SixGpus::bound("gres/gpu:4", 1))[0].cores, units("0,4"))
      << "a core beside the units of each socket";
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:1", 5)), "");
  JobSpec two = SixGpus::bound("gres/gpu:4", 2);
  two.min_nodes = two.max_nodes = two.num_tasks = 2;
  EXPECT_EQ(cluster.place_text(two), "n1:gpu:4(IDX:0-1,3-4) n2:gpu:4(IDX:0-1,3-4)");
  cluster.nodes[0].used_cores = units("0-3");
  cluster.nodes[0].running_jobs = 1;
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:3", 2)), "n1:gpu:3(IDX:3-5)");
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:4", 2)), "n2:gpu:4(IDX:0-1,3-4)");
}

// Two GPUs and a CPU wait for both on one socket; they were given from two.
TEST(PlaceGres, EnforcedBindingWaitsForTheUnitsOfASocket) {
  SixGpus cluster;
  for (size_t node : {0, 1}) cluster.use(node, {{"gpu", "", 4, units("0-1,3-4"), {}}});
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:2", 1)), "");
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:2", 2)), "n1:gpu:2(IDX:2,5)");
  EXPECT_EQ(cluster.place_text(SixGpus::bound("gres/gpu:1", 1)), "n1:gpu:1(IDX:2)");
}

// Two tasks of two CPUs were given two CPUs: of three GPUs two are near to two cores alone, and the
// third to any.
TEST(PlaceGres, EnforcedBindingGivesNoFewerCpusThanTasksNeed) {
  GpuCluster cluster(1);
  cluster.nodes[0].gres =
      make_inventory("gpu:a:2,gpu:b:1",
                     {{.name = "gpu", .type = "a", .count = 2, .files = {"0", "1"}, .cores = "0-1"},
                      {.name = "gpu", .type = "b", .count = 1, .files = {"2"}}});
  JobSpec spec;
  spec.num_tasks = spec.cpus_per_task = 2;
  spec.min_nodes = spec.max_nodes = 1;
  spec.tres_per_task = "gres/gpu:1";
  spec.gres_flags = "enforce-binding";
  for (const NodeAllocation& part : cluster.place_spec(spec)) EXPECT_GE(part.cpus, 4u);
  spec.cpus_per_task = 1;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a:2(IDX:0-1)");
}

// Was given a node whose GPUs are too few for its tasks.
TEST(PlaceGres, GpusOfTasksAndNodesThatContradictEachOther) {
  GpuCluster cluster;
  JobSpec spec = on_node("gres/gpu:2");
  spec.tres_per_task = "gres/gpu:1";
  spec.min_nodes = spec.max_nodes = 1;
  spec.num_tasks = 4;
  EXPECT_EQ(needs_of(spec, cluster.partition, cluster.config).error().code,
            ErrorCode::kNodesNotAvailable);
  spec.num_tasks = 2;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:2(IDX:0-1)");
  spec.min_nodes = spec.max_nodes = 0;
  spec.num_tasks = 4;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:2(IDX:0-1) n2:gpu:a100:2(IDX:0-1)");
}

// Of GPUs that come with the node, too.
TEST(PlaceGres, MemoryOfAWholeNodeIsForAllOfItsGpus) {
  GpuCluster cluster(1);
  JobSpec spec = on_node("gres/gpu:1");
  spec.memory_kind = MemoryKind::kPerGpu;
  spec.memory_mib = 300;
  spec.sharing = Sharing::kExclusive;
  const auto placed = cluster.place_spec(spec);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].memory_mib, 1200u);
}

// Four GPUs of a node, of which 0 and 3, and 1 and 2, are connected.
struct LinkedCluster : GpuCluster {
  LinkedCluster() : GpuCluster(1) {
    std::vector<GresDevices> found;
    for (const char* links : {"-1,0,0,4", "0,-1,4,0", "0,4,-1,1", "4,0,1,-1"}) {
      found.push_back({.name = "gpu",
                       .type = "a100",
                       .count = 1,
                       .files = {std::to_string(found.size())},
                       .links = links});
    }
    nodes[0].gres = make_inventory("gpu:a100:4", found);
  }
};

TEST(PlaceGres, TheBestConnectedUnits) {
  LinkedCluster cluster;
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:2")), "n1:gpu:a100:2(IDX:0,3)");  // as Slurm does
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:3")), "n1:gpu:a100:3(IDX:0,2-3)");
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:1")), "n1:gpu:a100:1(IDX:0)");
  cluster.use(0, {{"gpu", "a100", 1, units("0"), {}}});
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:2")), "n1:gpu:a100:2(IDX:1-2)");
  JobSpec by_job;
  by_job.tres_per_job = "gres/gpu:2";
  EXPECT_EQ(cluster.place_text(by_job), "n1:gpu:a100:2(IDX:1-2)");
}

// Units near the cores of one socket are taken first, whatever connects them to others.
TEST(PlaceGres, NearCoresComeBeforeLinks) {
  GpuCluster cluster(1);
  std::vector<GresDevices> found;
  for (const char* links : {"-1,0,0,4", "0,-1,2,0", "0,2,-1,0", "4,0,0,-1"}) {
    const bool first = found.size() < 2;
    found.push_back({.name = "gpu",
                     .type = "a100",
                     .count = 1,
                     .files = {std::to_string(found.size())},
                     .cores = first ? "0-3" : "4-7",
                     .links = links});
  }
  cluster.nodes[0].gres = make_inventory("gpu:a100:4", found);
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:2")), "n1:gpu:a100:2(IDX:0-1)");
  // and what is connected with them
  EXPECT_EQ(cluster.place_text(on_node("gres/gpu:3")), "n1:gpu:a100:3(IDX:0-1,3)");
}

TEST(PlaceGres, WholeNodesHaveAllOfIt) {
  GpuCluster cluster;
  JobSpec spec;
  spec.sharing = Sharing::kExclusive;
  EXPECT_EQ(cluster.place_text(spec), "n1:gpu:a100:4(IDX:0-3),fan(CNT:3)");
}

TEST(PlaceGres, WishesThatContradict) {
  const GpuCluster cluster;
  const auto code = [&](const JobSpec& spec) {
    const auto needs = needs_of(spec, cluster.partition, cluster.config);
    return needs ? ErrorCode::kOk : needs.error().code;
  };
  EXPECT_EQ(code(on_node("gres/gpu:1,gres/gpu:a100:1")), ErrorCode::kGresTypes);
  EXPECT_EQ(code(on_node("gpu:x:y")), ErrorCode::kInvalidGres);
  JobSpec tasks;
  tasks.ntasks_per_gpu = 2;
  EXPECT_EQ(code(tasks), ErrorCode::kInvalidGres);
}

TEST(PlaceGres, TasksFollowFromGpus) {
  JobSpec spec;
  spec.tres_per_job = "gres/gpu:4";
  spec.ntasks_per_gpu = 2;
  ASSERT_TRUE(complete_gres(spec));
  EXPECT_EQ(spec.num_tasks, 8u);
  JobSpec other;
  other.tres_per_job = "gres/gpu:4";
  other.tres_per_task = "gres/gpu:2";
  ASSERT_TRUE(complete_gres(other));
  EXPECT_EQ(other.num_tasks, 2u);
  JobSpec nodes;
  nodes.ntasks_per_gpu = 2;
  nodes.min_nodes = nodes.max_nodes = 3;
  ASSERT_TRUE(complete_gres(nodes));
  EXPECT_EQ(nodes.num_tasks, 6u) << "a GPU of each node";
}

TEST(PlaceGres, SpareOfAKeptNode) {
  const GpuCluster cluster(1);
  Room room = room_now(cluster.nodes[0], Unit::kCpu);
  std::vector<uint64_t> spare = free_counts(room);
  EXPECT_EQ(spare, (std::vector<uint64_t>{4, 3}));
  take_spare(spare, room, {{"gpu", "a100", 3, units("0-2"), {}}});
  hold_back(room, spare);
  EXPECT_EQ(free_counts(room), (std::vector<uint64_t>{1, 3}));
}

}  // namespace
}  // namespace sluice::fit
