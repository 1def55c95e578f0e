#include "stepd/binding/memory_bounds.hpp"

#include <gtest/gtest.h>

namespace sluice::stepd {
namespace {

protocol::StepLaunch launch_with(uint64_t job_mib, uint64_t step_mib) {
  protocol::StepLaunch launch;
  launch.allocation_nodes = {{.name = "n1"}, {.name = "n2"}};
  launch.job_memory_mib = {1, job_mib};
  launch.layout.nodes.resize(1);
  launch.layout.nodes[0].memory_mib = step_mib;
  return launch;
}
protocol::StepdStart start_with(bool kill, uint32_t vsize_factor) {
  protocol::StepdStart start;
  start.node_name = "n2";
  start.over_memory_kill = kill;
  start.vsize_factor = vsize_factor;
  return start;
}

TEST(MemoryBounds, AreThoseOfTheStepElseOfTheJob) {
  EXPECT_EQ(memory_bounds(start_with(true, 0), launch_with(400, 50)).rss_kib, 50U * 1024);
  EXPECT_EQ(memory_bounds(start_with(true, 0), launch_with(400, 0)).rss_kib, 400U * 1024);
  EXPECT_EQ(memory_bounds(start_with(true, 0), launch_with(400, 50)).vsize_kib, 0U);
  EXPECT_EQ(memory_bounds(start_with(true, 101), launch_with(500, 0)).vsize_kib, 505U * 1024);
  EXPECT_EQ(memory_bounds(start_with(true, 101), launch_with(0, 0)).rss_kib, 0U);
  EXPECT_EQ(memory_bounds(start_with(false, 101), launch_with(400, 50)).rss_kib, 0U)
      << "without OverMemoryKill";
}

TEST(MemoryBounds, AreThereWithoutTheKillToo) {
  EXPECT_EQ(memory_kib(start_with(false, 0), launch_with(400, 50)), 50U * 1024);
  EXPECT_EQ(memory_kib(start_with(false, 0), launch_with(400, 0)), 400U * 1024);
  EXPECT_EQ(memory_kib(start_with(false, 0), launch_with(0, 0)), 0U);
}

TEST(MemoryBounds, AreExceededByMoreThanThat) {
  EXPECT_EQ(memory_excess({1024, 9000}, {1024, 0}), "");
  EXPECT_EQ(memory_excess({1025, 9000}, {1024, 0}), "exceeded memory limit (1049600 > 1048576)");
  EXPECT_EQ(memory_excess({1024, 9000}, {1024, 8999}),
            "exceeded virtual memory limit (9216000 > 9214976)");
  EXPECT_EQ(memory_excess({UINT64_MAX, 9000}, {0, 0}), "") << "no limit";
}

}  // namespace
}  // namespace sluice::stepd
