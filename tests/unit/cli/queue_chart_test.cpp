#include "cli/format/queue_chart.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using std::chrono::minutes;

constexpr Time kNow = from_seconds(1'700'000'000);

ChartJob running(const char* id, int until) {
  return {.id = id,
          .user = "ann",
          .partition = "debug",
          .nodes = "n1",
          .start = kNow,
          .end = kNow + minutes(until),
          .runs = true};
}
ChartJob planned(const char* id, int from, int until) {
  ChartJob job = running(id, until);
  job.start = kNow + minutes(from);
  job.runs = false;
  return job;
}
std::string bar(const std::string& line) { return line.substr(line.find_first_of("=#.")); }

TEST(QueueChart, JobsStandWhereTheyRunAndAreToRun) {
  Chart chart{.jobs = {planned("3", 10, 15), running("1", 10), planned("2", 5, 10)}, .now = kNow};
  chart.unplanned = 2;
  const auto lines = chart_lines(chart, 60, 100);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_TRUE(lines[0].ends_with("; a column is 1 minute, = runs, # is planned.")) << lines[0];
  EXPECT_EQ(bar(lines[2]), "==========");
  EXPECT_EQ(bar(lines[3]), ".....#####");
  EXPECT_EQ(bar(lines[4]), "..........#####");
  EXPECT_EQ(lines[5], "2 jobs that wait have no start: `sluice explain JOB` tells why");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 70U);
}

TEST(QueueChart, TheScaleShowsTheLastStart) {
  Chart chart{.jobs = {planned("1", 60 * 24 * 3, 60 * 24 * 400)}, .now = kNow};
  const auto lines = chart_lines(chart, 80, 100);
  EXPECT_NE(lines[0].find("a column is 2 hours"), std::string::npos) << lines[0];
  EXPECT_EQ(bar(lines[2]).substr(34, 4), "..##");
  EXPECT_EQ(lines[2].back(), '>') << "it ends later";
}

TEST(QueueChart, LongNamesAreCutAndManyJobsCounted) {
  ChartJob job = running("123456789_[1-1000]", 1);
  job.nodes = "a-very-long-name[1-100]";
  Chart chart{.jobs = {job, job, job}, .now = kNow};
  const auto lines = chart_lines(chart, 60, 2);
  EXPECT_NE(lines[2].find("123456789_[+ ann  debug     a-very-long-nam+ "), std::string::npos)
      << lines[2];
  EXPECT_EQ(lines.back(), "and 1 more that start later");
}

TEST(QueueChart, AnEmptyQueueIsSaid) { EXPECT_EQ(chart_lines({.now = kNow}, 80, 10).size(), 1U); }

}  // namespace
}  // namespace sluice::cli
