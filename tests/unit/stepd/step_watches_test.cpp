// What is looked at from time to time: usage, and what the kernel did for limits.
#include <gtest/gtest.h>

#include "stepd/limit_watch.hpp"
#include "stepd/usage_watch.hpp"
#include "unit/stepd/step_fakes.hpp"

namespace sluice::stepd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class UsageWatchTest : public ::testing::Test {
 protected:
  UsageWatchTest() {
    facts->start.sample_interval = seconds(30);
    facts->start.over_memory_kill = true;
    facts->launch.layout.nodes[0].memory_mib = 1;
    watch.meter().add_task(0, 100);
  }
  std::unique_ptr<StepFacts> facts = test::step_facts();
  test::FakeClock clock;
  test::FakeProcesses processes;
  uint64_t rss_kib = 512;
  int looks = 0;
  std::vector<std::string> excesses;
  UsageWatch watch{*facts, clock, processes,
                   [this](pid_t pid) -> std::optional<ProcessUsage> {
                     ++looks;
                     if (pid != 100) return std::nullopt;  // it has just gone
                     ProcessUsage usage;
                     usage.pid = pid;
                     usage.rss_kib = rss_kib;
                     return usage;
                   },
                   [this](const std::string& text) { excesses.push_back(text); }};
};

TEST_F(UsageWatchTest, LooksAtEachInterval) {
  processes.alive = {100, 101};
  watch.start();
  EXPECT_EQ(looks, 2);
  clock.advance(seconds(60));
  EXPECT_EQ(looks, 6);
  EXPECT_EQ(watch.answer().tasks.at(0).rss_kib, 512U);
  EXPECT_EQ(watch.answer().pids, (std::vector<uint32_t>{100, 101}));
  watch.stop();
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(UsageWatchTest, WithoutAnIntervalItLooksWhenItIsAsked) {
  facts->start.sample_interval = Duration(0);
  processes.alive = {100};
  watch.start();
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(clock.waiting(), 0U);
  watch.measure();
  EXPECT_EQ(looks, 1);
}

TEST_F(UsageWatchTest, SaysWhenItIsTooMuch) {
  processes.alive = {100};
  watch.start();
  EXPECT_TRUE(excesses.empty());
  rss_kib = 1025;
  clock.advance(seconds(30));
  ASSERT_EQ(excesses.size(), 1U);
  EXPECT_EQ(excesses[0], "StepId=7.0 exceeded memory limit (1049600 > 1048576), being killed");
}

class LimitWatchTest : public ::testing::Test {
 protected:
  void use(std::unique_ptr<StepFacts> made) {
    facts = std::move(made);
    watch = std::make_unique<LimitWatch>(*facts, clock, groups, [this] {
      ++ends;
      watch->stop();
    });
  }
  test::FakeClock clock;
  test::FakeGroups groups;
  std::unique_ptr<StepFacts> facts;
  std::unique_ptr<LimitWatch> watch;
  int ends = 0;
};

TEST_F(LimitWatchTest, EndsTheStepThatWantsItSo) {
  use(test::step_facts([](StepSpec& step) { step.oom_kill_step = Toggle::kYes; }));
  watch->start();
  clock.advance(seconds(10));
  EXPECT_EQ(ends, 0);
  groups.kills = 1;
  clock.advance(milliseconds(250));
  EXPECT_EQ(ends, 1);
  clock.advance(seconds(10));
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(LimitWatchTest, LooksNotAtAllWhereNobodyWantsIt) {
  use(test::step_facts());
  groups.kills = 1;
  watch->start();
  EXPECT_EQ(ends, 0);
  EXPECT_EQ(clock.waiting(), 0U);
}

TEST_F(LimitWatchTest, OneThatWasStoppedDoesNotBegin) {
  use(test::step_facts([](StepSpec& step) { step.oom_kill_step = Toggle::kYes; }));
  watch->stop();
  groups.kills = 1;
  watch->start();
  EXPECT_EQ(ends, 0);
}

TEST_F(LimitWatchTest, TellsTheUserWhatTheKernelDid) {
  use(test::step_facts());
  EXPECT_EQ(watch->oom_text(), "");
  EXPECT_EQ(watch->refused_forks_text(), "");
  groups.kills = 2;
  groups.victims = {"python3 (pid 5, task 0)"};
  groups.refusals = 1;
  EXPECT_EQ(watch->oom_text(),
            "slurmstepd: error: Detected 2 oom_kill events in StepId=7.0. Some of the step tasks "
            "have been OOM Killed.\n"
            "slurmstepd: error: out of memory: python3 (pid 5, task 0) was killed\n");
  EXPECT_EQ(watch->refused_forks_text(),
            "slurmstepd: error: StepId=7.0: 1 fork refused, the job's limit of 100 processes and "
            "threads on this node was reached\n");
}

}  // namespace
}  // namespace sluice::stepd
