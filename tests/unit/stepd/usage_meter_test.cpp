#include "stepd/process/usage_meter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::stepd {
namespace {

ProcessUsage process(pid_t pid, pid_t parent, int64_t cpu_s, uint64_t rss_kib) {
  ProcessUsage usage;
  usage.pid = pid;
  usage.parent = parent;
  usage.user_cpu = std::chrono::seconds(cpu_s);
  usage.rss_kib = rss_kib;
  usage.vsize_kib = rss_kib * 2;
  usage.read_bytes = 10;
  return usage;
}
rusage used(int64_t cpu_s, long rss_kib) {
  rusage out{};
  out.ru_utime.tv_sec = cpu_s;
  out.ru_maxrss = rss_kib;
  return out;
}

TEST(Process, IsReadFromProc) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  const std::string stat = "42 (a) b (c) S 7 42 42 0 -1 4194304 100 200 3 4 " +
                           std::to_string(2 * ticks) + " " + std::to_string(ticks) + " " +
                           std::to_string(3 * ticks) +
                           " 0 20 0 1 0 12345 8192000 250 18446744073709551615 1 1 0\n";
  const auto usage = parse_process(stat, "rchar: 11\nwchar: 22\nread_bytes: 4096\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->parent, 7);
  EXPECT_EQ(usage->user_cpu, std::chrono::seconds(5));
  EXPECT_EQ(usage->system_cpu, std::chrono::seconds(1));
  EXPECT_EQ(usage->pages, 7U);
  EXPECT_EQ(usage->vsize_kib, 8000U);
  EXPECT_EQ(usage->rss_kib, 250 * page);
  EXPECT_EQ(usage->read_bytes, 11U);
  EXPECT_EQ(usage->write_bytes, 22U);
  EXPECT_FALSE(parse_process("42 (a", ""));
  EXPECT_FALSE(parse_process("42 (a) S 1 2 3", ""));
  EXPECT_TRUE(usage_of_process(::getpid()));
}

TEST(Process, MemoryIsCountedAsJobAcctGatherParamsSays) {
  EXPECT_EQ(
      proportional_kib(
          "00400000-7ffd  ---p 00000000 00:00 0   [rollup]\nRss:   900 kB\nPss:    345 kB\nSwapPss:  7 kB\n"),
      345U);
  EXPECT_FALSE(proportional_kib(""));
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  EXPECT_EQ(unshared_kib("1000 300 120 5 0 80 0\n"), 180 * page);
  EXPECT_EQ(unshared_kib("1000 100 120 5 0 80 0\n"), 0U);
  EXPECT_FALSE(unshared_kib("1000 300"));
  const auto whole = usage_of_process(::getpid());
  const auto unshared = usage_of_process(::getpid(), CountedMemory::kUnshared);
  ASSERT_TRUE(whole && unshared);
  EXPECT_LT(unshared->rss_kib, whole->rss_kib);  // the C library is shared
}

TEST(UsageMeter, NeitherGroupsNorTheKernelsPeakCountOtherMemory) {
  UsageMeter meter;
  meter.use_groups([](uint32_t) { return cgroup::GroupUsage{.rss_kib = 5000}; });
  meter.count(CountedMemory::kProportional);
  meter.add_task(0, 100);
  meter.sample({process(100, 1, 1, 300)});
  EXPECT_EQ(meter.tasks()[0].rss_kib, 300U);
  meter.ended(process(100, 1, 1, 0), used(1, 4000));
  EXPECT_EQ(meter.tasks()[0].max_rss_kib, 300U);
  EXPECT_EQ(meter.sums().max_rss_kib, 300U);
}

TEST(UsageMeter, AttributesProcessesToTasks) {
  UsageMeter meter;
  meter.add_task(4, 100);
  meter.add_task(5, 200);
  meter.sample({process(100, 1, 1, 1000), process(101, 100, 2, 500), process(200, 1, 5, 50)});
  EXPECT_EQ(meter.tasks()[0].user_cpu, std::chrono::seconds(3));
  EXPECT_EQ(meter.tasks()[0].rss_kib, 1500U);
  EXPECT_EQ(meter.tasks()[0].read_bytes, 20U);
  EXPECT_EQ(meter.tasks()[1].task, 5U);
  EXPECT_EQ(meter.tasks()[1].vsize_kib, 100U);
  EXPECT_EQ(meter.memory().rss_kib, 1550U);
  EXPECT_EQ(meter.memory().vsize_kib, 3100U);
  // an orphan stays with its task; what is over still counts, its memory does not
  meter.ended(process(100, 1, 1, 0), used(1, 1200));
  meter.sample({process(101, 1, 4, 600), process(200, 1, 6, 40)});
  EXPECT_EQ(meter.tasks()[0].user_cpu, std::chrono::seconds(5));
  EXPECT_EQ(meter.tasks()[0].rss_kib, 600U);
  EXPECT_EQ(meter.memory().rss_kib, 640U);
  EXPECT_EQ(meter.tasks()[0].max_rss_kib, 1500U);
  EXPECT_EQ(meter.tasks()[1].max_rss_kib, 50U);
  const auto sum = meter.sums();
  EXPECT_EQ(sum.user_cpu, std::chrono::seconds(11));
  EXPECT_EQ(sum.max_rss_kib, 1550U);
  EXPECT_EQ(sum.max_vsize_kib, 3100U);
}

TEST(UsageMeter, ATaskThatWasNeverLookedAt) {
  UsageMeter meter;
  meter.add_task(0, 100);
  meter.ended(process(100, 1, 0, 0), used(2, 777));
  meter.ended(process(300, 1, 0, 0), used(1, 10));  // of nobody
  meter.sample({});
  EXPECT_EQ(meter.tasks()[0].user_cpu, std::chrono::seconds(2));
  EXPECT_EQ(meter.tasks()[0].max_rss_kib, 777U);
  EXPECT_EQ(meter.sums().user_cpu, std::chrono::seconds(3));
  EXPECT_EQ(meter.sums().max_rss_kib, 777U);
}

TEST(UsageMeter, AdoptsWhatComesFromOutside) {
  UsageMeter meter;
  meter.add_task(2, 0);
  meter.sample({process(100, 1, 1, 1000)});
  EXPECT_EQ(meter.tasks()[0].rss_kib, 0U);
  meter.adopt_strangers();
  meter.sample({process(100, 1, 1, 1000), process(200, 1, 2, 10)});
  EXPECT_EQ(meter.tasks()[0].task, 2U);
  EXPECT_EQ(meter.tasks()[0].rss_kib, 1010U);
  EXPECT_EQ(meter.tasks()[0].user_cpu, std::chrono::seconds(3));
}

TEST(UsageMeter, GroupsKnowBetter) {
  UsageMeter meter;
  meter.use_groups([](uint32_t local) {
    cgroup::GroupUsage usage;
    usage.user_cpu = std::chrono::seconds(10 + local);
    usage.rss_kib = 4321;
    return usage;
  });
  meter.add_task(0, 100);
  meter.sample({process(100, 1, 1, 1000)});
  EXPECT_EQ(meter.tasks()[0].user_cpu, std::chrono::seconds(10));
  EXPECT_EQ(meter.tasks()[0].max_rss_kib, 4321U);
  EXPECT_EQ(meter.tasks()[0].vsize_kib, 2000U);
}

}  // namespace
}  // namespace sluice::stepd
