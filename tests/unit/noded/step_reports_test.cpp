#include "noded/step_reports.hpp"

#include <gtest/gtest.h>

namespace sluice::noded {
namespace {

protocol::StepEnded report(JobId job, const std::string& node, int status) {
  protocol::StepEnded made;
  made.key.id = {job, 0};
  made.nodes = node;
  made.exit_status = status;
  made.usage.user_cpu = std::chrono::seconds(1);
  return made;
}

TEST(StepReports, OfOneStepAreJoined) {
  auto failed = report(1, "n9", 0);
  failed.failure = "no";
  const auto joined = join_reports({report(1, "n2", 0), report(2, "n2", 0), report(1, "n1", 9),
                                    failed, report(1, "n10", 1 << 8)});
  ASSERT_EQ(joined.size(), 3U);
  EXPECT_EQ(joined[0].nodes, "n[1-2,10]");
  EXPECT_EQ(joined[0].exit_status, 1 << 8);
  EXPECT_EQ(joined[0].usage.user_cpu, std::chrono::seconds(3));
  EXPECT_EQ(joined[1].nodes, "n2");
  EXPECT_EQ(joined[2].nodes, "n9");
}

TEST(StepReports, WhoseErrorItWasIsNotMixed) {
  auto ours = report(1, "n1", 53);
  ours.failure = "no";
  auto users = ours;
  users.nodes = "n2";
  users.users_error = true;
  EXPECT_EQ(join_reports({ours, users}).size(), 2U);
}

// A repeated report would have a new one counted as old, or count as new itself.
TEST(StepReports, WhatDrainedNodesAtDifferentTimesIsNotMixed) {
  auto early = report(1, "n1", 9);
  early.drain_node = true;
  early.happened = from_seconds(100);
  auto late = early;
  late.nodes = "n2";
  late.happened = from_seconds(101);
  EXPECT_EQ(join_reports({early, late}).size(), 2U);
}

TEST(StepReports, TheTreeHasWidthNodesOnTop) {
  EXPECT_EQ(parent_position(0, 2), UINT32_MAX);
  EXPECT_EQ(parent_position(1, 2), UINT32_MAX);
  EXPECT_EQ(parent_position(2, 2), 0U);
  EXPECT_EQ(parent_position(5, 2), 1U);
  EXPECT_EQ(parent_position(7, 2), 2U);
  EXPECT_EQ(parent_position(15, 16), UINT32_MAX);
  EXPECT_EQ(parent_position(16, 16), 0U);
}

}  // namespace
}  // namespace sluice::noded
