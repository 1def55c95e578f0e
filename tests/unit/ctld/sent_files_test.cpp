// Which files the controller sends, and when none.
#include "ctld/sent_files.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/net/config_fetch.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::ctld {
namespace {

class SentFilesTest : public ::testing::Test {
 protected:
  SentFilesTest() {
    config_.config_path = (folder_ / "slurm.conf").string();
    std::ofstream(config_.config_path) << "ClusterName=demo\n";
    config_.slurmctld_parameters = {"enable_configless"};
  }
  test::TempFolder folder_;
  ClusterConfig config_;
};

TEST_F(SentFilesTest, OnlyWithEnableConfigless) {
  config_.slurmctld_parameters = {"cloud_dns"};
  const auto none = SentFiles::read(config_);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  SentFiles sent;
  sent.replace(*none);
  EXPECT_EQ(sent.digest(), "");
}

TEST_F(SentFilesTest, StayAsTheyWereRead) {
  const auto first = SentFiles::read(config_);
  ASSERT_TRUE(first) << first.error().text;
  SentFiles sent;
  EXPECT_EQ(sent.replace(*first), nullptr);
  std::ofstream(config_.config_path) << "ClusterName=other\n";
  ASSERT_EQ(sent.get()->files.size(), 1U);
  EXPECT_EQ(sent.get()->files[0].text, "ClusterName=demo\n");
  EXPECT_TRUE(net::check_fetched(*sent.get()));
  const std::string digest = sent.digest();
  const auto second = SentFiles::read(config_);
  ASSERT_TRUE(second);
  EXPECT_EQ(sent.replace(*second), *first);
  EXPECT_NE(sent.digest(), digest);
}

TEST_F(SentFilesTest, SayWhatCannotBeRead) {
  std::filesystem::remove(config_.config_path);
  const auto files = SentFiles::read(config_);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().text, "enable_configless: " + config_.config_path + ": No such file or directory");
}

}  // namespace
}  // namespace sluice::ctld
