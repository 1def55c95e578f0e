#include "stepd/binding/frequency_plan.hpp"

#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sluice::stepd {
namespace {

CpuOffer usual_host() {
  CpuOffer offer;
  offer.now = {"schedutil", 1000000, 3000000, 0};
  offer.lowest = 1000000;
  offer.highest = 3000000;
  offer.frequencies = {1000000, 1500000, 2000000, 2500000, 3000000};
  offer.governors = {"conservative", "ondemand",    "userspace",
                     "powersave",    "performance", "schedutil"};
  return offer;
}

// "governor min max speed", and the problem.
std::string planned(std::string_view request, const CpuOffer& offer) {
  const FrequencyPlan plan =
      plan_frequency(parse_cpu_frequency(request).value_or(CpuFrequency{}), offer);
  const CpuSettings& wanted = plan.wanted;
  return fmt::format("{} {} {} {}{}", wanted.governor.empty() ? "-" : wanted.governor, wanted.min,
                     wanted.max, wanted.speed, plan.problem.empty() ? "" : "; " + plan.problem);
}

// As Slurm 22.05 sets them.
TEST(FrequencyPlan, WhatIsAskedFor) {
  for (const auto& [request, wanted] :
       {std::pair("low", "userspace 0 0 1000000"),
        {"medium", "userspace 0 0 2000000"},
        {"highm1", "userspace 0 0 2500000"},
        {"high", "userspace 0 0 3000000"},
        {"1800000", "userspace 0 0 2000000"},
        {"1500000", "userspace 0 0 1500000"},
        {"500000", "userspace 0 0 1000000"},
        {"9000000", "userspace 0 0 3000000"},
        {"performance", "performance 0 0 0"},
        {"userspace", "userspace 0 0 0"},
        {"low-high", "- 1000000 3000000 0"},
        {"1200000-2600000", "- 1500000 3000000 0"},
        {"low-medium:powersave", "powersave 1000000 2000000 0"},
        {"1500000-2500000:UserSpace", "userspace 1500000 0 2500000"}}) {
    EXPECT_EQ(planned(request, usual_host()), wanted) << request;
  }
}

TEST(FrequencyPlan, FewFrequencies) {
  CpuOffer offer = usual_host();
  offer.frequencies = {1000000, 1500000, 2000000, 2500000};
  EXPECT_EQ(planned("medium", offer), "userspace 0 0 1500000");
  offer.frequencies = {1000000, 1500000};
  EXPECT_EQ(planned("medium", offer), "userspace 0 0 1000000");
  EXPECT_EQ(planned("highm1", offer), "userspace 0 0 1000000");
  offer.frequencies = {1500000};
  for (const char* word : {"low", "medium", "high", "highm1"})
    EXPECT_EQ(planned(word, offer), "userspace 0 0 1500000") << word;
  offer.frequencies = {};
  EXPECT_EQ(planned("low", offer), "userspace 0 0 1000000");
  EXPECT_EQ(planned("medium", offer), "userspace 0 0 1984126");
  EXPECT_EQ(planned("highm1", offer), "userspace 0 0 2968252");
  EXPECT_EQ(planned("high", offer), "userspace 0 0 3000000");
  EXPECT_EQ(planned("1250000", offer), "userspace 0 0 1253968");
}

TEST(FrequencyPlan, WhatCannotBeHad) {
  CpuOffer offer = usual_host();
  offer.governors = {"performance", "powersave"};
  EXPECT_EQ(planned("low", offer), "- 0 0 0; this host does not have the governor UserSpace");
  EXPECT_EQ(planned("OnDemand", offer), "- 0 0 0; this host does not have the governor OnDemand");
  EXPECT_EQ(planned("low-medium:OnDemand", offer),
            "- 1000000 2000000 0; this host does not have the governor OnDemand");
  EXPECT_EQ(planned("low-medium:UserSpace", offer),
            "- 1000000 2000000 0; this host does not have the governor UserSpace");
  EXPECT_EQ(planned("2500000-low", usual_host()), "- 0 0 0; 2500000 kHz is above 1000000 kHz");
  offer = usual_host();
  offer.frequencies = {};
  offer.lowest = offer.highest = 0;
  EXPECT_EQ(planned("low", offer), "- 0 0 0; this host does not say which frequencies it has");
  EXPECT_EQ(planned("ondemand", offer), "ondemand 0 0 0");
}

TEST(FrequencyPlan, ClocksOfGpus) {
  const GpuOffer offer = {
      {405, {210}}, {810, {210, 510, 810}}, {1215, {210, 510, 810, 1110, 1410}}};
  for (const auto& [request, memory, graphics] : {std::tuple("low", 1215, 210),
                                                  {"medium", 1215, 810},
                                                  {"highm1", 1215, 1110},
                                                  {"high", 1215, 1410},
                                                  {"510", 1215, 510},
                                                  {"511", 1215, 810},
                                                  {"0", 1215, 210},
                                                  {"99999999999", 1215, 1410},
                                                  {"verbose", 1215, 1410},
                                                  {"memory=low", 405, 210},
                                                  {"memory=highm1", 810, 810},
                                                  {"memory=500,low", 810, 210},
                                                  {"medium,memory=medium", 810, 510},
                                                  {"low,high", 1215, 1410}}) {
    const GpuClocks clocks =
        plan_gpu_clocks(parse_gpu_frequency(request).value_or(GpuFrequency{}), offer);
    EXPECT_EQ(fmt::format("{} {}", clocks.memory, clocks.graphics),
              fmt::format("{} {}", memory, graphics))
        << request;
  }
}

}  // namespace
}  // namespace sluice::stepd
