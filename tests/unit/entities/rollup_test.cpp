#include "dbd/usage/rollup.hpp"

#include <gtest/gtest.h>

namespace sluice::dbd {
namespace {

constexpr Time kMidnight{std::chrono::seconds(1'700'006'400)};
Time at(int minutes) { return kMidnight + std::chrono::minutes(minutes); }

ClusterHistory cluster(uint64_t cpus) {
  ClusterHistory out;
  out.time = kMidnight - std::chrono::hours(24);
  out.tres = {{"cpu", cpus}, {"node", 2}};
  return out;
}
JobHistory job(Time start, Time end, uint64_t cpus) {
  JobHistory out;
  out.account = "physics";
  out.user = "alice";
  out.eligible = start;
  out.start = start;
  out.end = end;
  out.requested_cpus = static_cast<uint32_t>(cpus);
  out.allocated_tres = {{"cpu", cpus}};
  return out;
}
const UsageKey kAlice{"physics", "alice", "", "", "cpu"};

TEST(Rollup, AJobsTimeIsSharedAmongItsHours) {
  Rollup rollup(kMidnight, 3, at(600));
  rollup.add(cluster(16), kNever);
  rollup.add(job(at(30), at(150), 4));
  const std::vector<HourUsage> hours = rollup.finish();
  EXPECT_EQ(hours[0].jobs.at(kAlice), 30U * 60 * 4);
  EXPECT_EQ(hours[1].jobs.at(kAlice), 60U * 60 * 4);
  EXPECT_EQ(hours[2].jobs.at(kAlice), 30U * 60 * 4);
  const ClusterUsage& cpu = hours[1].cluster.at("cpu");
  EXPECT_EQ(cpu.allocated, 3600U * 4);
  EXPECT_EQ(cpu.idle, 3600U * 12);
  EXPECT_EQ(cpu.count, 16U);
}

TEST(Rollup, AllOfATimeIsReported) {
  Rollup rollup(kMidnight, 1, at(600));
  rollup.add(cluster(16), kNever);
  rollup.add(job(at(0), at(20), 8));
  JobHistory waiting = job(kNoTime, kNoTime, 40);
  waiting.eligible = at(50);
  waiting.start = kNoTime;
  rollup.add(waiting);
  NodeHistory down;
  down.start = at(40);
  down.state = "DOWN";
  down.tres = {{"cpu", 8}};
  rollup.add(down, kNoTime);
  NodeHistory maintenance = down;
  maintenance.state = "MAINT";
  rollup.add(maintenance, at(50));
  const ClusterUsage cpu = rollup.finish()[0].cluster.at("cpu");
  EXPECT_EQ(cpu.allocated, 20U * 60 * 8);
  EXPECT_EQ(cpu.down, 20U * 60 * 8);
  EXPECT_EQ(cpu.planned_down, 10U * 60 * 8);
  EXPECT_EQ(cpu.planned, 10U * 60 * 40);
  EXPECT_EQ(cpu.allocated + cpu.down + cpu.planned_down + cpu.planned + cpu.idle, 3600U * 16);
}

TEST(Rollup, ASuspendedJobUsesNothing) {
  Rollup rollup(kMidnight, 1, at(600));
  rollup.add(cluster(16), kNever);
  JobHistory suspended = job(at(0), at(60), 4);
  suspended.suspended = std::chrono::minutes(15);
  rollup.add(suspended);
  EXPECT_EQ(rollup.finish()[0].jobs.at(kAlice), 45U * 60 * 4);
}

TEST(Rollup, ASuspendedJobKeepsItsMemory) {
  Rollup rollup(kMidnight, 1, at(600));
  JobHistory suspended = job(at(0), at(60), 4);
  suspended.allocated_tres.push_back({"mem", 100});
  suspended.suspended = std::chrono::minutes(15);
  rollup.add(suspended);
  EXPECT_EQ(rollup.finish()[0].jobs.at({"physics", "alice", "", "", "mem"}), 3600U * 100);
}

TEST(Rollup, PartsOfASuspendedJobAddUpToAllOfIt) {
  JobHistory suspended = job(at(30), at(30 + 7 * 60), 1);
  suspended.suspended = std::chrono::seconds(1001);
  uint64_t sum = 0;
  for (const int from : {0, 3}) {  // hours that are summed up at two times
    Rollup rollup(at(from * 60), from == 0 ? 3 : 9, at(600));
    rollup.add(suspended);
    for (const HourUsage& hour : rollup.finish())
      if (const auto had = hour.jobs.find(kAlice); had != hour.jobs.end()) sum += had->second;
  }
  EXPECT_EQ(sum, 7U * 3600 - 1001);
}

ReservationHistory reservation(const std::string& flags) {
  ReservationHistory out;
  out.name = "course";
  out.flags = flags;
  out.id = 7;
  out.start = at(0);
  out.end = at(90);
  out.tres = {{"cpu", 8}};
  return out;
}

TEST(Rollup, WhatAReservationKeepsIdleIsItsHolders) {
  Rollup rollup(kMidnight, 2, at(600));
  rollup.add(cluster(16), kNever);
  rollup.add(reservation("SPEC_NODES"), {{"physics", "alice"}, {"biology", ""}});
  JobHistory inside = job(at(0), at(30), 4);
  inside.reservation = "course";
  inside.reservation_id = 7;
  rollup.add(inside);
  rollup.add(job(at(0), at(60), 2));
  const auto hours = rollup.finish();
  const uint64_t idle = 3600U * 8 - 1800U * 4;
  EXPECT_EQ(hours[0].jobs.at(kAlice), 1800U * 4 + 3600U * 2 + idle / 2);
  EXPECT_EQ(hours[0].jobs.at({"biology", "", "", "", "cpu"}), idle / 2);
  EXPECT_EQ(hours[0].cluster.at("cpu").allocated, 3600U * 10);
  EXPECT_EQ(hours[1].jobs.at({"biology", "", "", "", "cpu"}), 900U * 8);
}

TEST(Rollup, MaintenanceIsPlannedDown) {
  Rollup rollup(kMidnight, 1, at(600));
  rollup.add(cluster(16), kNever);
  rollup.add(reservation("MAINT,SPEC_NODES"), {{"root", ""}});
  const ClusterUsage cpu = rollup.finish()[0].cluster.at("cpu");
  EXPECT_EQ(cpu.planned_down, 3600U * 8);
  EXPECT_EQ(cpu.allocated, 0U);
}

TEST(Rollup, ARunningJobCountsUntilNow) {
  Rollup rollup(kMidnight, 2, at(90));
  rollup.add(cluster(16), kNever);
  rollup.add(job(at(0), kNoTime, 4));
  const auto hours = rollup.finish();
  EXPECT_EQ(hours[1].jobs.at(kAlice), 30U * 60 * 4);
  EXPECT_EQ(hours[1].cluster.at("cpu").idle, 30U * 60 * 12);
}

TEST(Rollup, MoreThanThereIsIsOver) {
  Rollup rollup(kMidnight, 1, at(60));
  rollup.add(cluster(4), kNever);
  rollup.add(job(at(0), at(60), 6));
  const ClusterUsage cpu = rollup.finish()[0].cluster.at("cpu");
  EXPECT_EQ(cpu.allocated, 3600U * 4);
  EXPECT_EQ(cpu.over, 3600U * 2);
}

}  // namespace
}  // namespace sluice::dbd
