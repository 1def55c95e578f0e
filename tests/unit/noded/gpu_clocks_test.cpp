// Clocks that steps set by NVML; tests/fake_nvml stands for the library.
#include "common/step/gpu_clocks.hpp"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr GpuClocks kUsual{1215, 1095};
constexpr GpuClocks kSlow{405, 210};
constexpr GpuClocks kFast{1215, 1410};

class GpuClocksTest : public testing::Test {
 protected:
  GpuClocksTest() {
    std::string pattern = testing::TempDir() + "/gpu-clocks-XXXXXX";
    here_ = ::mkdtemp(pattern.data());
  }
  ~GpuClocksTest() override { std::filesystem::remove_all(here_); }

  static protocol::StepKey step(uint32_t number) {
    protocol::StepKey key;
    key.id.job = 7;
    key.id.step = number;
    return key;
  }
  [[nodiscard]] bool remembers_nothing() const {
    return !std::filesystem::exists(here_ / "gpufreq") ||
           std::filesystem::is_empty(here_ / "gpufreq");
  }

  std::filesystem::path here_;
  // while it is open the library keeps what was set
  const Result<NvmlClocks> nvml_ = NvmlClocks::open();
};

TEST_F(GpuClocksTest, WhatCanBeSet) {
  ASSERT_TRUE(nvml_);
  EXPECT_EQ(nvml_->offer(0),
            (GpuOffer{{405, {210}}, {810, {210, 510, 810}}, {1215, {210, 510, 810, 1110, 1410}}}));
  EXPECT_TRUE(nvml_->offer(4).empty());
  EXPECT_FALSE(nvml_->set(4, kFast));
  EXPECT_FALSE(nvml_->set(0, {405, 1410}));
  EXPECT_EQ(gpu_of_file("/dev/nvidia3"), 3U);
  EXPECT_EQ(gpu_of_file("/dev/dri/card0"), std::nullopt);
}

TEST_F(GpuClocksTest, TheLatestStepDecidesAndTheLastOneResets) {
  ASSERT_TRUE(nvml_);
  const ChangedGpus changed(here_.string());
  ASSERT_TRUE(changed.set(*nvml_, step(0), 2, kSlow));
  ASSERT_TRUE(changed.set(*nvml_, step(1), 2, kFast));
  EXPECT_EQ(nvml_->now(2), kFast);
  EXPECT_EQ(nvml_->now(1), kUsual);
  ASSERT_TRUE(changed.give_back(step(1)));
  EXPECT_EQ(nvml_->now(2), kSlow);
  ASSERT_TRUE(changed.give_back(step(3)));  // it has changed nothing
  EXPECT_EQ(nvml_->now(2), kSlow);
  ASSERT_TRUE(changed.give_back(step(0)));
  EXPECT_EQ(nvml_->now(2), kUsual);
  EXPECT_TRUE(remembers_nothing());
}

TEST_F(GpuClocksTest, AllAreGivenBack) {
  ASSERT_TRUE(nvml_);
  const ChangedGpus changed(here_.string());
  ASSERT_TRUE(changed.give_all_back());  // there are none
  for (const uint32_t gpu : {0U, 3U}) ASSERT_TRUE(changed.set(*nvml_, step(gpu), gpu, kSlow));
  ASSERT_TRUE(changed.give_all_back());
  for (const uint32_t gpu : {0U, 3U}) EXPECT_EQ(nvml_->now(gpu), kUsual);
  EXPECT_TRUE(remembers_nothing());
}

// Nothing can be reset then; that is said, and not tried for ever.
TEST_F(GpuClocksTest, ALibraryThatDoesNotAnswerAnyMore) {
  ASSERT_TRUE(nvml_);
  const ChangedGpus changed(here_.string());
  ASSERT_TRUE(changed.set(*nvml_, step(0), 1, kSlow));
  ::setenv("FAKE_NVML", "broken", 1);
  const Status done = changed.give_back(step(0));
  ::unsetenv("FAKE_NVML");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text, "the library cannot be used");
  EXPECT_TRUE(remembers_nothing());
  EXPECT_TRUE(nvml_->reset(1));
}

}  // namespace
}  // namespace sluice
