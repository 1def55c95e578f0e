#include "noded/reports/gatherer.hpp"

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

TEST(StepReports, TheLastEndCountsForAll) {
  auto early = report(1, "n1", 0);
  early.happened = from_seconds(100);
  auto late = report(1, "n2", 0);
  late.happened = from_seconds(101);
  for (const auto& both : {std::vector{early, late}, std::vector{late, early}}) {
    const auto joined = join_reports(both);
    ASSERT_EQ(joined.size(), 1U);
    EXPECT_EQ(joined[0].happened, from_seconds(101));
  }
}

TEST(JobReports, CleanNodesOfOneJobAreJoined) {
  protocol::JobCleaned first{1, 2, "n2", 0, false, from_seconds(100)};
  auto later = first;
  later.nodes = "n1";
  later.happened = from_seconds(101);
  auto other_run = first;
  other_run.restart = 3;
  auto failed = first;
  failed.nodes = "n3";
  failed.epilog_status = 1 << 8;
  auto failed_later = failed;  // each drains its node, and counts once
  failed_later.nodes = "n4";
  failed_later.happened = from_seconds(101);
  auto unkillable = first;
  unkillable.kill_failed = true;
  const auto joined = join_reports({first, later, other_run, failed, failed_later, unkillable});
  ASSERT_EQ(joined.size(), 5U);
  EXPECT_EQ(joined[0].nodes, "n[1-2]");
  EXPECT_EQ(joined[1].restart, 3U);
  EXPECT_EQ(joined[2].nodes, "n3");
  EXPECT_EQ(joined[3].nodes, "n4");
  EXPECT_TRUE(joined[4].kill_failed);
}

TEST(JobReports, PrologsOfOneJobAreJoined) {
  protocol::PrologEnded first{1, 0, "n2", 0, from_seconds(100)};
  auto later = first;
  later.nodes = "n1";
  later.happened = from_seconds(101);
  auto other = first;
  other.job = 2;
  auto failed = first;
  failed.nodes = "n3";
  failed.status = 1 << 8;
  auto failed_later = failed;
  failed_later.nodes = "n4";
  failed_later.happened = from_seconds(101);
  const auto joined = join_reports({first, other, later, failed, failed_later});
  ASSERT_EQ(joined.size(), 4U);
  EXPECT_EQ(joined[0].nodes, "n[1-2]");
  EXPECT_EQ(joined[1].job, 2U);
  EXPECT_EQ(joined[2].nodes, "n3");
  EXPECT_EQ(joined[3].nodes, "n4");
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
