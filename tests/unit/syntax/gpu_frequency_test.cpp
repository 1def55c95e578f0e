#include "common/syntax/gpu_frequency.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// As a real Slurm 22.05 takes and refuses them.
TEST(GpuFrequency, WhatIsTaken) {
  for (const char* text :
       {"low", "medium", "high", "highm1", "800", "0", "100,200", "low,", ",low", "low,low",
        "verbose", "verbose,low", "memory=low,high", "high,memory=900", "99999999999"}) {
    EXPECT_TRUE(parse_gpu_frequency(text)) << text;
  }
  for (const char* text : {"",
                           ",",
                           "foo",
                           "low,foo",
                           "-1",
                           "80x",
                           "x80",
                           "LOW",
                           "MEMORY=low",
                           "memory=LOW",
                           "memory=",
                           "memory",
                           "graphics=low",
                           "lowest",
                           "1e3",
                           "low high",
                           "low;memory=low",
                           "Verbose",
                           "verb",
                           "gpu:low",
                           "high1"}) {
    EXPECT_FALSE(parse_gpu_frequency(text)) << text;
  }
}

TEST(GpuFrequency, WhatIsMeant) {
  const auto both = parse_gpu_frequency("memory=low,900,verbose");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->memory, kLowFrequency);
  EXPECT_EQ(both->graphics, 900U);
  EXPECT_TRUE(both->verbose);
  const auto last = parse_gpu_frequency("low,highm1");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->graphics, kNextToHighFrequency);
  EXPECT_EQ(last->memory, kNoFrequency);
  EXPECT_FALSE(last->verbose);
  EXPECT_EQ(parse_gpu_frequency("99999999999").value_or(GpuFrequency{}).graphics,
            kLowFrequency - 1);
}

TEST(GpuFrequency, PartOfTresFreq) {
  EXPECT_EQ(gpu_frequency_in("gpu:high,memory=low"), "high,memory=low");
  EXPECT_EQ(gpu_frequency_in("high"), "");
  EXPECT_EQ(gpu_frequency_in(""), "");
}

}  // namespace
}  // namespace sluice
