#include "cli/format/usage_fields.hpp"

#include <gtest/gtest.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

protocol::TaskUsage task(uint32_t rank, int64_t cpu_s, uint64_t rss_kib, uint64_t max_rss_kib) {
  protocol::TaskUsage usage;
  usage.task = rank;
  usage.user_cpu = std::chrono::seconds(cpu_s);
  usage.rss_kib = rss_kib;
  usage.max_rss_kib = max_rss_kib;
  usage.write_bytes = 2048;
  return usage;
}

// Three tasks on two nodes.
protocol::StepUsageRecord record() {
  protocol::StepUsageRecord out;
  out.step.id = {24, 0};
  auto layout = std::make_shared<StepLayout>();
  layout->node_list = "n[1-2]";
  layout->nodes.resize(2);
  layout->nodes[0].cpus = 2;
  layout->nodes[1].cpus = 1;
  out.step.layout = layout;
  protocol::NodeUsage one{"n1", ErrorCode::kOk, {}};
  one.stats.tasks = {task(0, 10, 1024, 1024), task(1, 20, 1024, 9208)};
  one.stats.pids = {7, 9};
  protocol::NodeUsage two{"n2", ErrorCode::kOk, {}};
  two.stats.tasks = {task(2, 3, 4096, 4096)};
  two.stats.pids = {8};
  out.nodes = {one, two};
  return out;
}

std::string value(std::string_view name, bool convert = true) {
  const UsageField* field = find_usage_field(name);
  return field == nullptr ? "no such field" : field->render(record(), convert);
}

TEST(UsageFields, Values) {
  EXPECT_EQ(value("JobID"), "24.0");
  EXPECT_EQ(value("NTasks"), "3");
  EXPECT_EQ(value("Nodelist"), "n[1-2]");
  EXPECT_EQ(value("Pids"), "7,9,8");
  EXPECT_EQ(value("MaxRSS"), "9208K");
  EXPECT_EQ(value("MaxRSS", false), "9428992");
  EXPECT_EQ(value("MaxRSSNode"), "n1");
  EXPECT_EQ(value("MaxRSSTask"), "1");
  EXPECT_EQ(value("AveRSS"), "2M");  // of what is used now
  EXPECT_EQ(value("MinCPU"), "00:00:03");
  EXPECT_EQ(value("MinCPUNode"), "n2");
  EXPECT_EQ(value("MinCPUTask"), "2");
  EXPECT_EQ(value("AveCPU"), "00:00:11");
  EXPECT_EQ(value("MaxDiskWrite"), "2K");
  EXPECT_EQ(value("AllocTRES"), "cpu=3,node=2");
  EXPECT_EQ(value("TRESUsageInMax"), "cpu=00:00:20,fs/disk=0,mem=9208K,pages=0,vmem=0");
  EXPECT_EQ(value("TRESUsageInMaxNode"), "cpu=n1,fs/disk=n1,mem=n1,pages=n1,vmem=n1");
  EXPECT_EQ(value("TRESUsageInMinTask"), "cpu=2,fs/disk=0,mem=0,pages=0,vmem=0");
  EXPECT_EQ(value("TRESUsageOutTot"), "fs/disk=6K");
}

TEST(UsageFields, Names) {
  EXPECT_EQ(find_usage_field("maxrss")->name, "MaxRSS");
  EXPECT_EQ(find_usage_field("avecpu")->name, "AveCPU");
  EXPECT_EQ(find_usage_field("Node")->name, "Nodelist");  // the beginning is enough
  EXPECT_EQ(find_usage_field("foo"), nullptr);
  for (const std::string_view layout : {kUsageLayout, kUsagePidLayout}) {
    for (const std::string& name : split_list(layout)) {
      ASSERT_NE(find_usage_field(name), nullptr) << name;
      EXPECT_EQ(find_usage_field(name)->name, name);
    }
  }
}

TEST(UsageFields, SizesLoseNothing) {
  EXPECT_EQ(exact_size(0, true), "0");
  EXPECT_EQ(exact_size(1023, true), "1023");
  EXPECT_EQ(exact_size(1024, true), "1K");
  EXPECT_EQ(exact_size(1536, true), "1536");
  EXPECT_EQ(exact_size(UINT64_C(3) << 30, true), "3G");
  EXPECT_EQ(exact_size(UINT64_C(3) << 30, false), "3221225472");
}

}  // namespace
}  // namespace sluice
