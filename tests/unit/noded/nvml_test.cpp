// The GPUs that NVML tells of; tests/fake_nvml stands for the library, which is loaded at run time
// as the real one is.
#include <cstdlib>

#include <gtest/gtest.h>

#include "noded/node/gres_devices.hpp"

namespace sluice::noded {
namespace {

TEST(Nvml, TellsOfTypeFileCoresAndLinks) {
  std::vector<std::string> problems;
  const auto gpus = nvml_gpus(problems);
  EXPECT_EQ(problems, std::vector<std::string>{});
  ASSERT_EQ(gpus.size(), 4U);
  for (size_t i = 0; i < gpus.size(); ++i) {
    EXPECT_EQ(gpus[i].name, "gpu");
    EXPECT_EQ(gpus[i].type, "nvidia_a100-sxm4-40gb");
    EXPECT_EQ(gpus[i].files, std::vector<std::string>{"/dev/nvidia" + std::to_string(3 - i)});
    EXPECT_EQ(gpus[i].cores, "0");
    EXPECT_EQ(gpus[i].flags, std::vector<std::string>{"nvidia_gpu_env"});
  }
  EXPECT_EQ(gpus[0].links, "-1,4,1,1");
  EXPECT_EQ(gpus[1].links, "4,-1,1,1");
  EXPECT_EQ(gpus[3].links, "1,1,4,-1");
}

TEST(Nvml, ALibraryWithoutADriverIsAProblem) {
  ::setenv("FAKE_NVML", "broken", 1);
  std::vector<std::string> problems;
  EXPECT_TRUE(nvml_gpus(problems).empty());
  EXPECT_EQ(problems, std::vector<std::string>{"AutoDetect=nvml: the library cannot be used"});
  ::unsetenv("FAKE_NVML");
}

}  // namespace
}  // namespace sluice::noded
