#include <cmath>

#include <gtest/gtest.h>

#include "sim/trace/formats.hpp"
#include "sim/trace/lublin.hpp"
#include "sim/trace/sacct.hpp"
#include "sim/trace/swf.hpp"

namespace sluice::sim {
namespace {

TEST(Swf, ReadsWhatIsKnown) {
  const auto trace = parse_swf(
      "; UnixStartTime: 749458803\n"
      "; MaxNodes: 128\n"
      "\n"
      "2 70 -1 20 4 -1 -1 8 100 2048 1 3 1 -1 0 -1 -1 -1\n"
      "1 60 5 10.4 2 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\r\n"
      "3 80 -1 -1 2 -1 -1 2 -1 -1 5 -1 -1 -1 0 -1 -1 -1\n",
      "t.swf");
  ASSERT_TRUE(trace) << trace.error().text;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->passed_over, 1U) << "it never ran";
  EXPECT_EQ(trace->begin, from_seconds(749458863)) << "of the first submission";
  EXPECT_EQ(trace->jobs[0].id, "1");
  EXPECT_EQ(trace->jobs[0].submit_s, 0);
  EXPECT_EQ(trace->jobs[0].run_s, 10);
  EXPECT_EQ(trace->jobs[0].cpus, 2U);
  EXPECT_EQ(trace->jobs[0].user, "");
  EXPECT_EQ(trace->jobs[1].cpus, 8U) << "requested";
  EXPECT_EQ(trace->jobs[1].limit_s, 100);
  EXPECT_EQ(trace->jobs[1].memory_mib, 2U);
  EXPECT_EQ(trace->jobs[1].user, "user3");
}

TEST(Swf, KnowsWhatAJobComesAfter) {
  const auto trace = parse_swf(
      "1 0 0 100 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n"
      "2 5 0 100 1 0 0 1 0 0 1 1 1 1 1 1 1 30\n"
      "3 6 0 100 1 0 0 1 0 0 1 1 1 1 1 1 1 -1\n",
      "t.swf");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->jobs[0].preceding, "");
  EXPECT_EQ(trace->jobs[1].preceding, "1");
  EXPECT_EQ(trace->jobs[1].think_s, 30);
  EXPECT_EQ(trace->jobs[1].dependency, "");
  EXPECT_EQ(trace->jobs[2].preceding, "");
  EXPECT_EQ(trace->jobs[2].dependency, "afterany:1");
}

TEST(Trace, ComponentsStandSideBySide) {
  Trace trace;
  for (const char* id : {"3+1", "4+0", "4+1", "4+2", "5", "6+0", "7+1"}) {
    trace.jobs.emplace_back();
    trace.jobs.back().id = id;
  }
  join_components(trace);
  ASSERT_EQ(trace.jobs.size(), 5U);
  EXPECT_EQ(trace.passed_over, 2U) << "those without a first one";
  EXPECT_EQ(trace.jobs[0].components, 3U);
  EXPECT_EQ(trace.jobs[1].components, 0U);
  EXPECT_EQ(trace.jobs[4].components, 0U) << "it has one alone";
}

TEST(Swf, NamesTheLineThatIsWrong) {
  const auto text_of = [](std::string_view text) {
    const auto trace = parse_swf(text, "t.swf");
    return trace ? std::string("read") : trace.error().text;
  };
  EXPECT_EQ(text_of("; \n1 2 3\n"), "t.swf:2: a job has 18 numbers, here are 3");
  EXPECT_EQ(text_of("1 60 5 ten 2 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1"),
            "t.swf:1: field 4 is \"ten\", which is no number");
  EXPECT_EQ(text_of("1 -1 5 10 2 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1"),
            "t.swf:1: the submit time (field 2) is not known");
  EXPECT_EQ(text_of("1 60 5 1e30 2 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1"),
            "t.swf:1: field 4 is 1e+30, more than 4000000000");
}

TEST(Sacct, NamesTheLineWhoseTimesAreNone) {
  const auto text_of = [](const std::string& cells) {
    const auto trace = parse_sacct("JobID|Submit|ElapsedRaw|TimelimitRaw|ReqCPUS\n" + cells, "t");
    return trace ? std::string("read") : trace.error().text;
  };
  EXPECT_EQ(text_of("1|2026-11-21T10:00:05|60|5|1\n"), "read");
  EXPECT_EQ(text_of("1|0001-01-01T00:00:00|60|5|1\n"),
            "t:2: Submit is 0001-01-01T00:00:00, which is before 1970 or after 2096");
  EXPECT_EQ(text_of("1|9999-01-01T00:00:00|60|5|1\n"),
            "t:2: Submit is 9999-01-01T00:00:00, which is before 1970 or after 2096");
  EXPECT_EQ(text_of("1|2026-11-21T10:00:05|9223372036854775807|5|1\n"),
            "t:2: the job ran for 9223372036854775807 s, more than 4000000000");
  EXPECT_EQ(text_of("1|2026-11-21T10:00:05|60|9223372036854775807|1\n"),
            "t:2: TimelimitRaw is 9223372036854775807, more than 66666666");
}

TEST(Sacct, ReadsAnExport) {
  const auto trace = parse_trace(
      "JobID|User|Partition|Submit|Start|End|Elapsed|Timelimit|ReqTRES|State\n"
      "7|ann|gpu|2026-11-21T10:00:05|2026-11-21T10:00:10|2026-11-21T11:00:10|01:00:00|02:00:00|"
      "cpu=8,mem=16G,node=2,billing=8,gres/gpu=4,gres/gpu:a100=4|COMPLETED\n"
      "7.batch||||||01:00:00|||COMPLETED\n"
      "8|bob|batch|2026-11-21T10:00:00|Unknown|Unknown|00:00:00|UNLIMITED|cpu=1,node=1|CANCELLED\n"
      "9|bob|batch|2026-11-21T10:00:00|2026-11-21T10:00:00|2026-11-22T10:00:01|1-00:00:01|"
      "UNLIMITED|cpu=4,mem=4G,node=1|TIMEOUT\n",
      "/some/where/jobs.txt");
  ASSERT_TRUE(trace) << trace.error().text;
  EXPECT_EQ(trace->name, "jobs.txt");
  EXPECT_EQ(trace->passed_over, 1U);
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->begin, from_seconds(1795255200));
  const TraceJob& nine = trace->jobs[0];
  EXPECT_EQ(nine.id, "9");
  EXPECT_EQ(nine.run_s, 86'401);
  EXPECT_EQ(nine.limit_s, 365 * 86'400);
  EXPECT_EQ(nine.memory_kind, MemoryKind::kPerCpu);
  EXPECT_EQ(nine.memory_mib, 1024U);
  EXPECT_EQ(nine.nodes, 0U);
  const TraceJob& seven = trace->jobs[1];
  EXPECT_EQ(seven.submit_s, 5);
  EXPECT_EQ(seven.cpus, 8U);
  EXPECT_EQ(seven.nodes, 2U);
  EXPECT_EQ(seven.limit_s, 7200);
  EXPECT_EQ(seven.memory_kind, MemoryKind::kPerNode);
  EXPECT_EQ(seven.memory_mib, 8192U);
  EXPECT_EQ(seven.gres, "gpu:4");
  EXPECT_EQ(seven.user, "ann");
  EXPECT_EQ(seven.partition, "gpu");
}

TEST(Sacct, SaysWhatIsMissing) {
  const auto text_of = [](std::string_view text) {
    const auto trace = parse_trace(text, "t");
    return trace ? std::string("read") : trace.error().text;
  };
  EXPECT_TRUE(text_of("JobID|User\n1|ann\n").starts_with("t:1: the first line of an export"));
  EXPECT_EQ(text_of("Submit|ElapsedRaw|NCPUS\nUnknown|5|1\n"),
            "t:2: Submit is \"Unknown\", which is no time like 2026-11-21T02:38:22");
  EXPECT_EQ(text_of("Submit|ElapsedRaw|NCPUS\n"), "t: there is no job in it that ran");
  EXPECT_EQ(text_of("2026-13-01T00:00:00|x\n").substr(0, 4), "t:1:");
}

TEST(RequestedTimes, AreOfTheTraceExactOrAFactor) {
  Trace trace;
  trace.jobs.resize(1000);
  for (TraceJob& job : trace.jobs) job.run_s = 100;
  trace.jobs[0].limit_s = 700;
  set_requested_times(trace, RequestedTime::kTrace, 1);
  EXPECT_EQ(trace.jobs[0].limit_s, 700);
  EXPECT_EQ(trace.jobs[1].limit_s, 100);
  EXPECT_EQ(limit_minutes(trace.jobs[1]), 2U);
  set_requested_times(trace, RequestedTime::kFactor, 1);
  double sum = 0;
  for (const TraceJob& job : trace.jobs) {
    EXPECT_GE(job.limit_s, 100);
    EXPECT_LE(job.limit_s, 500);
    sum += static_cast<double>(job.limit_s);
  }
  EXPECT_NEAR(sum / 1000, 300, 12);
  set_requested_times(trace, RequestedTime::kExact, 1);
  EXPECT_EQ(trace.jobs[0].limit_s, 100);
}

TEST(Load, IsScaled) {
  Trace trace = lublin_load(500, 64, 7);
  set_requested_times(trace, RequestedTime::kExact, 7);
  scale_to_load(trace, 0.7, 64);
  EXPECT_NEAR(offered_load(trace, 64), 0.7, 0.001);
}

// What the paper says, and what the archive's trace of this model for 256 processors shows: 771 s
// between submissions.
TEST(Lublin, HasTheModelsShape) {
  constexpr uint32_t kJobs = 30'000, kProcessors = 256;
  const Trace trace = lublin_load(kJobs, kProcessors, 3);
  uint32_t serial = 0, powers = 0, largest = 0, by_day = 0;
  for (const TraceJob& job : trace.jobs) {
    serial += job.cpus == 1 ? 1 : 0;
    powers += (job.cpus & (job.cpus - 1)) == 0 ? 1 : 0;
    largest = std::max(largest, job.cpus);
    EXPECT_LE(job.run_s, 162'755);
    const int64_t hour = to_seconds(trace.begin.time_since_epoch()) + job.submit_s;
    by_day += hour % 86'400 >= 8 * 3600 && hour % 86'400 < 18 * 3600 ? 1 : 0;
  }
  EXPECT_NEAR(serial, 0.244 * kJobs, 0.02 * kJobs);
  EXPECT_GT(powers, (0.244 + 0.576) * kJobs) << "some of the others are by chance";
  EXPECT_LE(largest, kProcessors);
  EXPECT_GT(largest, kProcessors / 2);
  EXPECT_NEAR(static_cast<double>(trace.jobs.back().submit_s) / kJobs, 771, 60);
  EXPECT_GT(by_day, kJobs / 2U);
}

TEST(Lublin, TheSameSeedGivesTheSame) {
  const Trace a = lublin_load(100, 64, 5), b = lublin_load(100, 64, 5), c = lublin_load(100, 64, 6);
  for (size_t i = 0; i < a.jobs.size(); ++i) {
    EXPECT_EQ(a.jobs[i].submit_s, b.jobs[i].submit_s);
    EXPECT_EQ(a.jobs[i].run_s, b.jobs[i].run_s);
    EXPECT_EQ(a.jobs[i].cpus, b.jobs[i].cpus);
  }
  EXPECT_NE(a.jobs[50].submit_s, c.jobs[50].submit_s);
}

}  // namespace
}  // namespace sluice::sim
