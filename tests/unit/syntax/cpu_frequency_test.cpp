#include "common/syntax/cpu_frequency.hpp"

#include <gtest/gtest.h>

#include "common/submit/submit_options.hpp"

namespace sluice {
namespace {

// The usual spelling, or the error.
std::string read(std::string_view text) {
  const auto frequency = parse_cpu_frequency(text);
  return frequency ? cpu_frequency_text(*frequency) : frequency.error().text;
}

TEST(CpuFrequency, Spellings) {
  for (const auto& [text, usual] : {std::pair("low", "Low"),
                                    {"LOW", "Low"},
                                    {"hi", "High"},
                                    {"highm", "Highm1"},
                                    {"Medium", "Medium"},
                                    {"1800000", "1800000"},
                                    {"Perf", "Performance"},
                                    {"conservative", "Conservative"},
                                    {"powersave", "PowerSave"},
                                    {"userspace", "UserSpace"},
                                    {"schedutil", "SchedUtil"},
                                    {"low-high", "Low-High"},
                                    {"1200000-2600000", "1200000-2600000"},
                                    {"low-high:ondemand", "Low-High:OnDemand"},
                                    {"1500000-high:UserSpace", "1500000-High:UserSpace"},
                                    {"highm1-high", "Highm1-High"},
                                    {"medium-medium", "Medium-Medium"},
                                    {"low-1500000", "Low-1500000"}}) {
    EXPECT_EQ(read(text), usual) << text;
  }
}

TEST(CpuFrequency, WhatIsWrong) {
  for (const auto& [text, error] :
       {std::pair("", "unrecognized --cpu-freq argument \"\""),
        {"x", "unrecognized --cpu-freq argument \"x\""},
        {"h", "unrecognized --cpu-freq argument \"h\""},
        {"0", "unrecognized --cpu-freq argument \"0\""},
        {"-high", "unrecognized --cpu-freq argument \"\""},
        {"low-ondemand", "unrecognized --cpu-freq argument \"ondemand\""},
        {"ondemand-performance", "unrecognized --cpu-freq argument \"performance\""},
        {"high-low", "min cpu-frec (high) must be < max cpu-freq (low)"},
        {"high-highm1", "min cpu-frec (high) must be < max cpu-freq (highm1)"},
        {"medium-9000000", "min cpu-frec (medium) must be < max cpu-freq (9000000)"},
        {"2000000-1000000", "min cpu-frec (2000000) must be < max cpu-freq (1000000)"},
        {"performance-high", "min cpu-frec (performance) must be < max cpu-freq (high)"},
        {"low:OnDemand", "gov on cpu-frec (OnDemand) illegal without max"},
        {"low:", "gov on cpu-frec () illegal without max"},
        {"low-high:foo", "illegal governor: foo on --cpu-freq"},
        {"low-high:", "illegal governor:  on --cpu-freq"},
        {"performance:ondemand",
         "governor cannot be specified twice performance{-}:ondemand in --cpu-freq"}}) {
    EXPECT_EQ(read(text), error) << text;
  }
}

TEST(CpuFrequency, NumbersOfWords) {
  const auto range = parse_cpu_frequency("low-highm1:performance");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, 0x80000001);
  EXPECT_EQ(range->max, 0x80000004);
  EXPECT_EQ(range->governor, 0x82000000);
  const auto one = parse_cpu_frequency("1500000");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->min, kNoFrequency);
  EXPECT_EQ(one->max, 1500000U);
  EXPECT_EQ(short_frequency_name(1500000), "1.50G");
  EXPECT_EQ(short_frequency_name(2000000), "2G");
  EXPECT_EQ(short_frequency_name(800000), "800M");  // it was 800.00M
  EXPECT_EQ(short_frequency_name(2100), "2.10M");
  EXPECT_EQ(short_frequency_name(900), "900K");
  EXPECT_EQ(short_frequency_name(kNoFrequency), "Unknown");
  EXPECT_EQ(short_frequency_name(kLowFrequency), "Low");
}

TEST(CpuFrequency, Defaults) {
  for (const char* good : {"1800000", "Performance", "ondemand"})
    EXPECT_TRUE(is_default_frequency(good)) << good;
  for (const char* bad : {"low", "high", "low-high", "1000000-2000000", "x", ""})
    EXPECT_FALSE(is_default_frequency(bad)) << bad;
}

TEST(CpuFrequency, GovernorsThatAreAllowed) {
  const std::vector<std::string> some = {"OnDemand", "Performance"};
  const auto settle = [&](const char* text) {
    Submission submission;
    submission.job.cpu_freq = text;
    const OptionResult done = settle_cpu_frequency(submission, some);
    return done ? submission.job.cpu_freq.str() + "|" + submission.step.cpu_freq.str()
                : done.error().errors.front();
  };
  EXPECT_EQ(settle("low-high:ondemand"), "Low-High:OnDemand|Low-High:OnDemand");
  EXPECT_EQ(settle("low"), "Low|Low");  // UserSpace, which it takes, was not named
  EXPECT_EQ(settle(""), "|");
  EXPECT_EQ(settle("powersave"), "governor of powersave is not allowed in slurm.conf");
  EXPECT_EQ(settle("low-high:PowerSave"),
            "governor of low-high:PowerSave is not allowed in slurm.conf");
}

}  // namespace
}  // namespace sluice
