#include "common/step/cpu_settings.hpp"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

using Writes = std::vector<std::pair<std::string_view, std::string>>;

protocol::StepKey step(uint32_t number) { return {{7, number}, 0}; }

// A folder that stands for /sys/devices/system/cpu, and a spool.
class ChangedCpusTest : public testing::Test {
 protected:
  ChangedCpusTest() {
    for (int cpu = 0; cpu < 2; ++cpu) make(fmt::format("cpu{}/cpufreq", cpu));
  }
  void make(const std::string& folder) const {
    std::filesystem::create_directories(here_ / folder);
    for (const auto& [file, text] :
         {std::pair("scaling_governor", "schedutil"),
          {"scaling_min_freq", "1000000"},
          {"scaling_max_freq", "3000000"},
          {"scaling_setspeed", "<unsupported>"},
          {"cpuinfo_min_freq", "900000"},
          {"cpuinfo_max_freq", "3100000"},
          {"scaling_available_frequencies", "3000000 2000000 1000000 "},
          {"scaling_available_governors", "ondemand userspace schedutil "}}) {
      std::ofstream(here_ / folder / file) << text << '\n';
    }
  }
  [[nodiscard]] std::string values(int cpu) const {
    std::string all;
    for (const char* file : {"scaling_governor", "scaling_min_freq", "scaling_max_freq"}) {
      const auto text = read_file(here_ / fmt::format("cpu{}/cpufreq/{}", cpu, file));
      all.append(all.empty() ? "" : " ").append(trim(text.value_or("none")));
    }
    return all;
  }
  test::TempFolder here_;
  ChangedCpus changed_{here_.path().string(), here_.path().string()};
  const std::string usual_ = "schedutil 1000000 3000000";
};

TEST_F(ChangedCpusTest, WhatTheHostOffers) {
  const auto offer = read_cpu_offer(here_.path().string(), 1);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->now, (CpuSettings{"schedutil", 1000000, 3000000, 0}));
  EXPECT_EQ(offer->frequencies, (std::vector<uint32_t>{1000000, 2000000, 3000000}));
  EXPECT_EQ(offer->governors, (std::vector<std::string>{"ondemand", "userspace", "schedutil"}));
  EXPECT_EQ(offer->lowest, 900000U);
  EXPECT_EQ(offer->highest, 3100000U);
  EXPECT_FALSE(read_cpu_offer(here_.path().string(), 2));
}

TEST(CpuWrites, InAnOrderThatTheKernelTakes) {
  const CpuSettings now{"schedutil", 1000000, 2000000, 0};
  EXPECT_EQ(cpu_writes(now, {"", 2500000, 3000000, 0}),
            (Writes{{"scaling_max_freq", "3000000"}, {"scaling_min_freq", "2500000"}}));
  EXPECT_EQ(cpu_writes({"schedutil", 2500000, 3000000, 0}, now),
            (Writes{{"scaling_min_freq", "1000000"}, {"scaling_max_freq", "2000000"}}));
  EXPECT_EQ(cpu_writes(now, {"userspace", 0, 0, 1500000}),
            (Writes{{"scaling_governor", "userspace"}, {"scaling_setspeed", "1500000"}}));
  EXPECT_EQ(cpu_writes(now, {"ondemand", 0, 0, 1500000}),
            (Writes{{"scaling_governor", "ondemand"}}));
  EXPECT_EQ(cpu_writes(now, now), Writes{});
}

TEST_F(ChangedCpusTest, AsBeforeAfterTheStep) {
  ASSERT_TRUE(changed_.set(step(0), 0, {"ondemand", 2000000, 0, 0}));
  EXPECT_EQ(values(0), "ondemand 2000000 3000000");
  EXPECT_EQ(values(1), usual_);
  ASSERT_TRUE(changed_.give_back(step(1)));  // not its own
  EXPECT_EQ(values(0), "ondemand 2000000 3000000");
  ASSERT_TRUE(changed_.give_back(step(0)));
  EXPECT_EQ(values(0), usual_);
  EXPECT_TRUE(std::filesystem::is_empty(here_ / "cpufreq"));
}

TEST_F(ChangedCpusTest, TheLastOfTwoSteps) {
  for (const bool first_ends_first : {true, false}) {
    ASSERT_TRUE(changed_.set(step(0), 0, {"ondemand", 0, 2000000, 0}));
    ASSERT_TRUE(changed_.set(step(1), 0, {"userspace", 0, 0, 1000000}));
    EXPECT_EQ(values(0), "userspace 1000000 2000000");
    ASSERT_TRUE(changed_.give_back(step(first_ends_first ? 0 : 1)));
    EXPECT_EQ(values(0),
              first_ends_first ? "userspace 1000000 3000000" : "ondemand 1000000 2000000");
    ASSERT_TRUE(changed_.give_back(step(first_ends_first ? 1 : 0)));
    EXPECT_EQ(values(0), usual_);
  }
}

// cpufreq of several CPUs may be one and the same.
TEST_F(ChangedCpusTest, CpusThatAreSetTogether) {
  make("policy2");
  for (int cpu = 2; cpu < 4; ++cpu) {
    std::filesystem::create_directories(here_ / fmt::format("cpu{}", cpu));
    std::filesystem::create_symlink(here_ / "policy2", here_ / fmt::format("cpu{}/cpufreq", cpu));
    ASSERT_TRUE(changed_.set(step(0), static_cast<size_t>(cpu), {"ondemand", 0, 0, 0}));
  }
  EXPECT_EQ(values(3), "ondemand 1000000 3000000");
  ASSERT_TRUE(changed_.give_back(step(0)));
  EXPECT_EQ(values(2), usual_);
  EXPECT_EQ(values(3), usual_);
}

// slurmd -c forgets the steps, one of which nobody would have given back for.
TEST_F(ChangedCpusTest, AsBeforeWhenAllStepsAreForgotten) {
  ASSERT_TRUE(changed_.set(step(0), 0, {"ondemand", 0, 2000000, 0}));
  ASSERT_TRUE(changed_.set(step(1), 0, {"userspace", 0, 0, 1000000}));
  ASSERT_TRUE(changed_.set(step(1), 1, {"userspace", 0, 0, 1000000}));
  ASSERT_TRUE(changed_.give_all_back());
  EXPECT_EQ(values(0), usual_);
  EXPECT_EQ(values(1), usual_);
  EXPECT_TRUE(std::filesystem::is_empty(here_ / "cpufreq"));
}

TEST_F(ChangedCpusTest, WhatIsNotThere) {
  EXPECT_TRUE(changed_.give_all_back());
  EXPECT_TRUE(changed_.give_back(step(0)));
  EXPECT_FALSE(changed_.set(step(0), 9, {"ondemand", 0, 0, 0}));
}

}  // namespace
}  // namespace sluice
