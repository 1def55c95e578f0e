// What sbatch says of the last runs of a job.
#include "cli/sacct/advice.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr uint64_t kMib = 1 << 20;

// Of 10 minutes on 8 CPUs, one of which was busy.
protocol::HistoryJob run(uint64_t used_mib, int64_t seconds = 600) {
  protocol::HistoryJob out;
  out.job.state = JobState::kCompleted;
  out.job.start = from_seconds(1000);
  out.job.end = from_seconds(1000 + seconds);
  out.job.cpus = 8;
  StepHistory& step = out.steps.emplace_back();
  step.tasks = step.usage.tasks = 1;
  step.usage.memory.max = used_mib * kMib;
  step.usage.user_cpu = std::chrono::seconds(seconds);
  return out;
}

Lines said(const AskedResources& asked, const std::vector<protocol::HistoryJob>& runs) {
  return advice_for(asked, runs, {});
}

TEST(Advice, NamesWhatIsFarFromWhatIsAskedFor) {
  const std::vector<protocol::HistoryJob> runs(25, run(3000));
  EXPECT_EQ(said({.memory_mib = 64 * 1024, .cpus = 8, .time_limit = 24 * 60}, runs),
            (Lines{"your last 20 runs used at most 3 GB of 64 GB (--mem)",
                   "your last 20 runs kept at most 1.0 of 8 CPUs busy",
                   "your last 20 runs took at most 00:10:00 of 1-00:00:00 (--time)"}));
  EXPECT_EQ(said({.memory_mib = 4096, .cpus = 2, .time_limit = 30}, runs), Lines{})
      << "it asks for what they used";
  EXPECT_EQ(said({}, runs), Lines{}) << "nothing is known of what it asks for";
  EXPECT_EQ(said({.time_limit = kInfiniteMinutes}, runs), Lines{});
}

TEST(Advice, TheLargestRunCounts) {
  std::vector<protocol::HistoryJob> runs(19, run(100));
  runs.push_back(run(40'000, 25'000));
  EXPECT_EQ(said({.memory_mib = 64 * 1024, .time_limit = 24 * 60}, runs), Lines{});
  runs.insert(runs.begin(), run(200));  // the newest 20 are looked at
  EXPECT_EQ(said({.memory_mib = 64 * 1024}, runs),
            Lines{"your last 20 runs used at most 200 MB of 64 GB (--mem)"});
}

TEST(Advice, OnlyRunsThatTellAnything) {
  const AskedResources asked{.memory_mib = 10 * 1024, .cpus = 8};
  std::vector<protocol::HistoryJob> runs(2, run(100));
  EXPECT_EQ(said(asked, runs), Lines{}) << "two are no habit";
  runs.push_back(run(100));
  runs.back().job.state = JobState::kFailed;
  runs.push_back(run(100));
  runs.back().steps.front().usage.tasks = 0;
  EXPECT_EQ(said(asked, runs), Lines{});
  runs.push_back(run(1100, 30));
  EXPECT_EQ(said(asked, runs), Lines{"your last 3 runs used at most 1.1 GB of 10 GB (--mem)"})
      << "of the CPUs of short runs nothing is said";
}

TEST(Advice, WhatAJobAsksFor) {
  const AskedResources asked = asked_resources("cpu=4,mem=1.50G,node=2,billing=4", 90);
  EXPECT_EQ(asked.memory_mib, 1536u);
  EXPECT_EQ(asked.cpus, 4u);
  EXPECT_EQ(asked.time_limit, Minutes{90});
  EXPECT_EQ(asked_resources("cpu=1,mem=3000M", 0).memory_mib, 3000u);
  EXPECT_EQ(asked_resources("cpu=1,node=1", 0).memory_mib, 0u);
  EXPECT_EQ(asked_resources("mem=x,mem=,cpu=M", 0).memory_mib, 0u);
}

TEST(Advice, NamesThatNobodyGave) {
  EXPECT_TRUE(is_named_by_sbatch("wrap"));
  EXPECT_TRUE(is_named_by_sbatch("sbatch"));
  EXPECT_FALSE(is_named_by_sbatch("train"));
}

}  // namespace
}  // namespace sluice::cli
