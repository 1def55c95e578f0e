// What a job's processes are told of their generic resources.
#include "common/environment/gres_env.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Bitmap units(std::string_view text) { return Bitmap::from_text(text).value_or(Bitmap()); }

const std::vector<GresDevices> kFound = {
    {.name = "gpu", .type = "a100", .count = 2, .files = {"/dev/g0", "/dev/g1"}},
    {.name = "mps", .count = 200, .files = {"/dev/g0"}},
    {.name = "mps", .count = 50, .files = {"/dev/g1"}}};

std::string percentage(const GresShares& shares) {
  const auto devices = list_devices("gpu:a100:2,mps:250", kFound, shares, {});
  Environment env;
  env.set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "inherited");
  set_mps_percentage(shares, devices, env);
  return env.has("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")
             ? std::string(env.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"))
             : "unset";
}

// The variables that tell of both GPUs, the one with these flags and one without any.
std::string told(const std::vector<std::string>& flags, std::string_view which = "0") {
  std::vector<GresDevices> found = {{.name = "gpu", .type = "a", .count = 1, .files = {"/dev/g0"}},
                                    {.name = "gpu", .type = "b", .count = 1, .files = {"/dev/g1"}}};
  found.front().flags = flags;
  const GresShares shares = {{"gpu", {}, 2, units("0-1"), {}}};
  Environment env;
  const std::pair<const char*, const char*> variables[] = {{"cuda", "CUDA_VISIBLE_DEVICES"},
                                                           {"rocr", "ROCR_VISIBLE_DEVICES"},
                                                           {"cl", "GPU_DEVICE_ORDINAL"},
                                                           {"ze", "ZE_AFFINITY_MASK"}};
  for (const auto& [name, variable] : variables) env.set(variable, "inherited");
  set_visible_gpus(units(which), list_devices("gpu:2", found, shares, {}), env);
  std::string out;
  for (const auto& [name, variable] : variables) {
    if (env.has(variable)) out += std::string(name) + "=" + std::string(env.get(variable)) + " ";
  }
  return out;
}

TEST(GresEnv, FlagsSayWhichVariablesTellOfAGpu) {
  EXPECT_EQ(told({}), "cuda=0 rocr=0 cl=0 ze=0 ");
  EXPECT_EQ(told({"nvidia_gpu_env"}), "cuda=0 ");
  EXPECT_EQ(told({"amd_gpu_env"}), "rocr=0 ");
  EXPECT_EQ(told({"intel_gpu_env"}), "ze=0 ");
  EXPECT_EQ(told({"opencl_env"}), "cl=0 ");
  EXPECT_EQ(told({"amd_gpu_env", "opencl_env"}), "rocr=0 cl=0 ");
  EXPECT_EQ(told({"no_gpu_env"}), "");
  EXPECT_EQ(told({"amd_gpu_env"}, "0-1"), "cuda=1 rocr=0,1 cl=1 ze=1 ");
  EXPECT_EQ(told({"no_gpu_env"}, "0-1"), "cuda=1 rocr=1 cl=1 ze=1 ");
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
