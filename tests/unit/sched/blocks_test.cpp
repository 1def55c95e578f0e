// topology/block: jobs in one block or group of blocks, segments, and blocks for one job alone.
#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

// Four blocks of two nodes; two blocks in a row are a group.
World with_blocks() {
  World w(8, 2);
  w.config.topology_plugin = "topology/block";
  w.config.switches = {{"b1", {"n1", "n2"}, {}, ""},
                       {"b2", {"n3", "n4"}, {}, ""},
                       {"b3", {"n5", "n6"}, {}, ""},
                       {"b4", {"n7", "n8"}, {}, ""}};
  w.config.block_sizes = {2, 4};
  w.up();
  return w;
}

JobSpec wide(uint32_t nodes) {
  JobSpec made = World::spec(0, 10);
  made.min_nodes = made.max_nodes = nodes;
  made.sharing = Sharing::kExclusive;
  return made;
}

JobSpec on(const char* node, Minutes limit = 10) {
  JobSpec made = wide(1);
  made.required_nodes = node;
  made.time_limit = limit;
  return made;
}

TEST(Blocks, AJobIsInTheBlockThatIsNearlyFull) {
  World w = with_blocks();
  w.submit(on("n3"));
  w.submit(wide(1));
  w.submit(wide(2));
  EXPECT_EQ(w.pass(), "1:n3 2:n4 3:n[1-2]");
}

TEST(Blocks, ItWaitsForAGroupThatHoldsIt) {
  World w = with_blocks();
  w.submit(on("n1"));
  w.submit(on("n8", 20));
  w.submit(wide(4));  // six nodes are free
  EXPECT_EQ(w.pass(), "1:n1 2:n8");
  w.pass_time(std::chrono::minutes(5));
  EXPECT_EQ(w.pass(), "");
  w.finish(1);
  EXPECT_EQ(w.pass(), "3:n[1-4]");
}

TEST(Blocks, WhatNoGroupHoldsTakesFewBlocks) {
  World w = with_blocks();
  w.submit(on("n1"));
  w.submit(on("n3"));
  w.submit(wide(5));
  EXPECT_EQ(w.pass(), "1:n1 2:n3 3:n[2,5-8]");
}

TEST(Blocks, SegmentsAreEachInABlock) {
  World w = with_blocks();
  w.submit(on("n1"));
  JobSpec parts = wide(4);
  parts.segment = 2;
  w.submit(parts);
  parts = wide(2);
  parts.segment = 1;
  parts.spread_segments = true;
  w.submit(parts);
  EXPECT_EQ(w.pass(), "1:n1 2:n[3-6] 3:n[2,7]");
}

TEST(Blocks, SomeJobsHaveTheirBlocksAlone) {
  World w = with_blocks();
  w.submit(on("n1"));
  JobSpec alone = World::spec(1, 10);
  alone.sharing = Sharing::kTopo;
  w.submit(alone);
  JobSpec beside = World::spec(1, 10);
  beside.required_nodes = "n4";
  w.submit(beside);
  alone.required_nodes = "n2";  // beside the first
  w.submit(alone);
  EXPECT_EQ(w.pass(), "1:n1 2:n3");
  w.finish(2);
  EXPECT_EQ(w.pass(), "3:n4");
  w.finish(1);
  EXPECT_EQ(w.pass(), "4:n2");
}

}  // namespace
}  // namespace sluice::sched
