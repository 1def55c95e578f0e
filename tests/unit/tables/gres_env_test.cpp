// What a job's processes are told of their generic resources.
#include "common/tables/gres_env.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Bitmap units(std::string_view text) { return Bitmap::from_text(text).value_or(Bitmap()); }

const std::vector<GresDevices> kFound = {{.name = "gpu", .type = "a100", .count = 2, .files = {"/dev/g0", "/dev/g1"}},
                                         {.name = "mps", .count = 200, .files = {"/dev/g0"}},
                                         {.name = "mps", .count = 50, .files = {"/dev/g1"}}};

std::string percentage(const GresShares& shares) {
  const auto devices = list_devices("gpu:a100:2,mps:250", kFound, shares, {});
  Environment env;
  env.set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "inherited");
  set_mps_percentage(shares, devices, env);
  return env.has("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") ? std::string(env.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")) : "unset";
}

TEST(GresEnv, MpsIsAPartOfItsGpu) {
  EXPECT_EQ(percentage({{"mps", {}, 50, units("0"), {50}}}), "25");
  EXPECT_EQ(percentage({{"mps", {}, 50, units("1"), {50}}}), "100");
  EXPECT_EQ(percentage({{"mps", {}, 1, units("1"), {1}}}), "2");
}

TEST(GresEnv, WithoutMpsNothingIsSaidOfIt) {
  EXPECT_EQ(percentage({{"gpu", "a100", 1, units("0"), {}}}), "unset");
  EXPECT_EQ(percentage({}), "unset");
}

TEST(GresEnv, MpsMakesItsGpuVisible) {
  const GresShares shares = {{"mps", {}, 50, units("1"), {50}}};
  Environment env;
  set_visible_gpus(gpu_units(shares), list_devices("gpu:a100:2,mps:250", kFound, shares, {}), env);
  EXPECT_EQ(env.get("CUDA_VISIBLE_DEVICES"), "1");
}

}  // namespace
}  // namespace sluice
