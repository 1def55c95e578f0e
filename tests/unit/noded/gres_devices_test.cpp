// What a node finds of its generic resources by gres.conf.
#include "noded/node/gres_devices.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "unit/temp_folder.hpp"

namespace sluice::noded {
namespace {

class GresDevicesTest : public ::testing::Test {
 protected:
  GresDevicesTest() {
    for (const char* file : {"gpu0", "gpu1"}) std::ofstream(folder_ + "/" + file) << "\n";
    config_.gres_types = {"gpu", "fan"};
    node_.name = "n1";
    node_.gres = "gpu:a:2,fan:3";
  }

  GresConfigLine line(std::vector<std::string> names) {
    GresConfigLine out;
    out.name = "gpu";
    out.type = "a";
    for (const std::string& name : names) out.files.push_back(folder_ + "/" + name);
    out.count = out.files.size();
    return out;
  }
  std::vector<GresDevices> find() {
    return find_gres(
        config_, node_, [this](auto&) { return detected_; }, problems_);
  }

  const test::TempFolder own_;
  const std::string folder_ = own_.path().string();
  ClusterConfig config_;
  NodeConfig node_;
  std::vector<GresDevices> detected_;
  std::vector<std::string> problems_;
};

TEST_F(GresDevicesTest, LinesOfOtherNodesAndTypesDoNotCount) {
  GresConfigLine mine = line({"gpu0"}), other = line({"gpu1"}), unknown = line({"gpu1"});
  mine.cores = "0-3";
  mine.flags = {"nvidia_gpu_env"};
  other.nodes = {"n2"};
  unknown.name = "nic";
  config_.gres_lines = {mine, other, unknown};
  const auto found = find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].files, mine.files);
  EXPECT_EQ(found[0].cores, "0-3");
  EXPECT_EQ(found[0].flags, mine.flags);
  EXPECT_EQ(found[1].name, "fan");  // only counted: Gres= is enough
  EXPECT_EQ(found[1].count, 3u);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(GresDevicesTest, WhatIsOnlyCountedHasNoFiles) {
  GresConfigLine wires = line({"gpu7"});
  wires.name = "fan";
  wires.type = "";
  wires.count = 3;
  wires.flags = {"CountOnly"};
  config_.gres_lines = {wires};
  EXPECT_EQ(count_devices(find(), "fan", ""), 3u);
  EXPECT_TRUE(find()[0].files.empty());
  EXPECT_TRUE(problems_.empty());
}

TEST_F(GresDevicesTest, HowPartsAreSharedIsSaidForAllNodes) {
  GresConfigLine other;
  other.name = "shard";
  other.nodes = {"n2"};
  other.flags = {"one_sharing"};
  config_.gres_types.emplace_back("shard");
  config_.gres_lines = {line({"gpu0", "gpu1"}), other};
  node_.gres = "gpu:a:2,shard:8";
  const auto found = find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].flags, other.flags);
  EXPECT_TRUE(make_inventory(node_.gres, found)->kinds.at(1).one_unit);
}

TEST_F(GresDevicesTest, AMissingFileIsNotThere) {
  config_.gres_lines = {line({"gpu0", "gpu7"})};
  EXPECT_EQ(count_devices(find(), "gpu", ""), 1u);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("gpu7: No such file or directory"), std::string::npos);
}

TEST_F(GresDevicesTest, MultipleFilesMakeOneUnit) {
  GresConfigLine one = line({});
  one.multiple_files = {folder_ + "/gpu0", folder_ + "/gpu1"};
  config_.gres_lines = {one};
  EXPECT_EQ(count_devices(find(), "gpu", "a"), 1u);
  EXPECT_TRUE(problems_.empty());
  config_.gres_lines[0].multiple_files = {folder_ + "/gpu7"};
  EXPECT_EQ(count_devices(find(), "gpu", "a"), 0u);
  EXPECT_EQ(problems_.size(), 1u);
}

TEST_F(GresDevicesTest, GpusWithoutALineAreNone) {
  EXPECT_EQ(count_devices(find(), "gpu", ""), 0u);
}

TEST_F(GresDevicesTest, DetectedGpusJoinTheLines) {
  GresConfigLine detect;
  detect.name = "gpu";  // as on "Name=gpu AutoDetect=nvml", which counts as one for the parser
  detect.count = 1;
  detect.auto_detect = "nvml";
  config_.gres_lines = {detect, line({"gpu0"})};
  detected_ = {
      {.name = "gpu", .type = "nvidia_a", .count = 1, .files = {folder_ + "/gpu0"}, .cores = "0-1"},
      {.name = "gpu",
       .type = "nvidia_a",
       .count = 1,
       .files = {folder_ + "/gpu1"},
       .cores = "2-3"}};
  const auto found = find();
  EXPECT_EQ(count_devices(found, "gpu", "a"), 2u);
  EXPECT_EQ(found[0].cores, "0-1");  // what the line leaves open is filled in
  GresConfigLine off;
  off.nodes = {"n1"};
  off.auto_detect = "off";
  config_.gres_lines.push_back(off);
  EXPECT_EQ(count_devices(find(), "gpu", ""), 1u);
}

TEST_F(GresDevicesTest, AreListedByUnit) {
  config_.gres_types = {"gpu", "fan", "shard"};
  node_.gres = "gpu:a:2,fan:3,shard:8";
  GresConfigLine near = line({"gpu1"}), shards;
  near.cores = "2-3";
  near.links = "0,-1";
  shards.name = "shard";
  shards.count = 8;
  config_.gres_lines = {line({"gpu0"}), near, shards};
  const std::string gpu = folder_ + "/gpu";
  EXPECT_EQ(gres_lines(node_, find(), 4),
            (std::vector<std::string>{
                "Gres Name=gpu Type=a Count=1 Index=0 ID=7696487 File=" + gpu + "0",
                "Gres Name=shard Type=a Count=4 Index=0 ID=1918986455 File=" + gpu + "0",
                "Gres Name=gpu Type=a Count=1 Index=1 ID=7696487 File=" + gpu +
                    "1 Cores=2-3 CoreCnt=4 Links=0,-1",
                "Gres Name=shard Type=a Count=4 Index=1 ID=1918986455 File=" + gpu +
                    "1 Cores=2-3 CoreCnt=4",
                "Gres Name=fan Type=(null) Count=3 ID=7233894"}));
  node_.gres.clear();
  config_.gres_lines.clear();
  EXPECT_TRUE(gres_lines(node_, find(), 4).empty());
}

}  // namespace
}  // namespace sluice::noded
