// What the scheduler's log says of passes.
#include "ctld/logs/schedule_log.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/ranges.h>

#include "unit/temp_folder.hpp"
#include "unit/sched/world.hpp"

namespace sluice::ctld {
namespace {

struct Log {
  test::TempFolder folder;
  sched::World world{2, 4};
  ScheduleLog log;
  std::string path = (folder / "sched.log").string();

  Log() {
    world.config.slurm_sched_log_file = path;
    world.up();
  }
  void pass(uint32_t level = 1, size_t dropped = 0) {
    sched::Plan plan = sched::plan_pass(world.state, sched::make_policies(world.state), world.now);
    log.note({world.state, plan, std::chrono::microseconds(5), dropped}, level);
    if (plan.starts.empty()) return;
    ASSERT_TRUE(world.run(state::StartJobs{plan.starts}));
  }
  // The lines since the last call, without their times.
  std::vector<std::string> read() {
    std::ifstream file(path);
    std::vector<std::string> out;
    std::string line;
    for (size_t i = 0; std::getline(file, line); ++i) {
      if (i >= seen) out.push_back(line.substr(line.find("] ") + 2));
    }
    seen += out.size();
    return out;
  }
  size_t seen = 0;
};

using Lines = std::vector<std::string>;

TEST(ScheduleLog, StartsAndWhoWaits) {
  Log log;
  log.world.submit(sched::World::spec(4, 10));
  log.world.submit(sched::World::spec(8, 10));
  log.pass();
  const Lines lines = log.read();
  ASSERT_EQ(lines.size(), 3U) << fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_EQ(lines[0],
            "Pass=1 Pending=2 Tried=2 Started=1 Backfilled=0 Dropped=0 Planned=1 Microseconds=5");
  EXPECT_EQ(lines[1], "Start JobId=1 NodeList=n1 NumCPUs=4 Partition=debug");
  EXPECT_TRUE(lines[2].starts_with("Wait JobId=2 Reason=Resources Priority=")) << lines[2];
  EXPECT_NE(lines[2].find(" ExpectedStart="), std::string::npos);
  EXPECT_TRUE(lines[2].ends_with(" PlannedNodes=n[1-2]")) << lines[2];
  log.pass();
  EXPECT_EQ(
      log.read(),
      (Lines{
          "Pass=2 Pending=1 Tried=1 Started=0 Backfilled=0 Dropped=0 Planned=1 Microseconds=5"}));
}

TEST(ScheduleLog, OneWhoHasNothingToDoSaysNothing) {
  Log log;
  log.pass();
  EXPECT_EQ(log.read(), Lines{});
}

TEST(ScheduleLog, LevelZeroWritesNothing) {
  Log log;
  log.world.submit(sched::World::spec(1, 10));
  log.pass(0);
  EXPECT_FALSE(std::filesystem::exists(log.path));
}

TEST(ScheduleLog, GoesOnInANewFileWhenTheOldOneWasMoved) {
  Log log;
  log.world.submit(sched::World::spec(1, 10));
  log.pass();
  std::filesystem::rename(log.path, log.path + ".1");
  log.log.reopen();
  log.seen = 0;
  log.world.submit(sched::World::spec(1, 10));
  log.pass(1, 1);
  const Lines lines = log.read();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            "Pass=2 Pending=1 Tried=1 Started=1 Backfilled=0 Dropped=1 Planned=0 Microseconds=5");
}

}  // namespace
}  // namespace sluice::ctld
