// --gpu-bind, against what a real Slurm 22.05 gave to tasks of a job with four GPUs.
#include <gtest/gtest.h>

#include "stepd/binding/bind_list.hpp"
#include "stepd/binding/gpu_choice.hpp"

namespace sluice::stepd {
namespace {

Bitmap set(std::string_view text) { return Bitmap::from_text(text).value_or(Bitmap()); }
std::string chosen(std::string_view bind, uint32_t task, std::string_view cores = "") {
  const std::vector<StepGpu> gpus = {
      {0, set("0-3")}, {1, set("0-3")}, {2, set("4-7")}, {3, set("4-7")}};
  return gpus_of_task(gpus, bind, task, set(cores)).units.to_text();
}

TEST(GpuBind, KindsOfBinding) {
  EXPECT_EQ(chosen("", 1), "0-3");
  EXPECT_EQ(chosen("none", 1), "0-3");
  EXPECT_EQ(chosen("single:2", 1), "0");
  EXPECT_EQ(chosen("single:2", 2), "1");
  EXPECT_EQ(chosen("single:1", 5), "1");  // round again
  EXPECT_EQ(chosen("per_task:2", 1), "2-3");
  EXPECT_EQ(chosen("per_task:4294967295", 3), "0-3") << "and at once";
  EXPECT_EQ(chosen("map_gpu:3,2,1,0", 1), "2");
  EXPECT_EQ(chosen("map_gpu:1*2,3", 2), "3");
  EXPECT_EQ(chosen("verbose,map_gpu:1,0", 0), "1");
  EXPECT_EQ(chosen("mask_gpu:3,0xc", 1), "2-3");
  EXPECT_EQ(chosen("closest", 0, "1"), "0-1");
  EXPECT_EQ(chosen("closest", 0, "5"), "2-3");
}

TEST(GpuBind, AUnitOfOthersIsRefused) {
  const std::vector<StepGpu> gpus = {{2, {}}, {3, {}}};
  const GpuBinding binding = gpus_of_task(gpus, "map_gpu:0", 0, {});
  EXPECT_EQ(binding.units, set("2"));
  EXPECT_EQ(
      binding.complaint,
      "Bind request gpu:map_gpu:0 does not specify any devices within the allocation for task 0. Binding to the "
      "first device in the allocation instead.");
}

TEST(GpuBind, VerboseTellsWhatATaskMayUse) {
  const std::vector<StepGpu> gpus = {{0, {}}, {1, {}}, {2, {}}, {3, {}}};
  EXPECT_EQ(
      gpu_report(gpus, set("2-3")),
      "gpu-bind: usable_gres=0xC; bit_alloc=0xF; local_inx=0; global_list=2,3; local_list=2,3\n");
  EXPECT_TRUE(wants_gpu_report("verbose,single:1"));
  EXPECT_FALSE(wants_gpu_report("single:1"));
  EXPECT_FALSE(wants_gpu_report("verbose,none"));
}

TEST(GpuBind, PartOfTresBind) {
  EXPECT_EQ(gpu_part("gres/gpu:single:1"), "single:1");
  EXPECT_EQ(gpu_part("gpu:closest"), "closest");
  EXPECT_EQ(gpu_part("gres/gpu:map:0,1+nic:closest"), "map:0,1");
  EXPECT_EQ(gpu_part(""), "");
}

TEST(BindList, MasksAndRepetitions) {
  EXPECT_EQ(bits_of_mask("0x5"), (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(bits_of_mask("zz").empty());
  EXPECT_EQ(list_item("0,2", 3), "2");
  EXPECT_EQ(list_item("7*3", 9), "7");
  EXPECT_EQ(list_item("1*2,,3", 5), "3");
  EXPECT_EQ(list_item("", 5), "");
  EXPECT_EQ(list_items("a*2,b"), (std::vector<std::string>{"a", "a", "b"}));
}

// The bug: what is repeated was written out for each task, 500 MB in root's step daemon.
TEST(BindList, StaysSmall) {
  const std::string item(7000, '0');
  size_t bytes = 0;
  for (const std::string& one : list_items(item + "*4096," + item + "*4096")) bytes += one.size();
  EXPECT_LE(bytes, kMostItemBytes + item.size());
  EXPECT_EQ(list_item(item + "*4096,5", 4096), "5");
  EXPECT_LE(bits_of_mask("0x" + std::string(120'000, 'f')).size(), size_t{1} << 16);
}

}  // namespace
}  // namespace sluice::stepd
