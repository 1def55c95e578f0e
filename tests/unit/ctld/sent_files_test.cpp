// Which files the controller sends, and when none.
#include "ctld/agents/sent_files.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

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
  EXPECT_EQ(none->sent, nullptr);
  EXPECT_FALSE(none->lines_digest.empty());
  SentFiles sent;
  sent.replace(*none);
  EXPECT_EQ(sent.digest(), "");
}

TEST_F(SentFilesTest, StayAsTheyWereRead) {
  const auto first = SentFiles::read(config_);
  ASSERT_TRUE(first) << first.error().text;
  SentFiles sent;
  EXPECT_EQ(sent.replace(*first).sent, nullptr);
  std::ofstream(config_.config_path) << "ClusterName=other\n";
  ASSERT_EQ(sent.get().sent->files.size(), 1U);
  EXPECT_EQ(sent.get().sent->files[0].text, "ClusterName=demo\n");
  EXPECT_TRUE(net::check_fetched(*sent.get().sent));
  const std::string digest = sent.digest();
  const auto second = SentFiles::read(config_);
  ASSERT_TRUE(second);
  EXPECT_EQ(sent.replace(*second).sent, first->sent);
  EXPECT_NE(sent.digest(), digest);
}

// Two reconfigurations: the first is refused, and puts back what was there, while the second one
// comes.
TEST_F(SentFilesTest, ChangeOneAfterTheOther) {
  const auto read = [&](const char* text) {
    std::ofstream(config_.config_path) << text;
    return SentFiles::read(config_).value();
  };
  const auto good = read("ClusterName=good\n"), bad = read("ClusterName=bad\n"),
             first = read("ClusterName=first\n");
  SentFiles sent;
  sent.replace(first);
  std::promise<void> replaced;
  std::atomic<int> at_work = 0;
  std::atomic<bool> second_comes = false;
  std::thread refused([&] {
    const Status status = sent.change([&]() -> Status {
      EXPECT_EQ(++at_work, 1);
      auto before = sent.replace(bad);
      replaced.set_value();
      while (!second_comes) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // it would be through by now
      sent.replace(std::move(before));
      --at_work;
      return failure(ErrorCode::kInvalidConfig);
    });
    EXPECT_FALSE(status);
  });
  replaced.get_future().get();
  second_comes = true;
  EXPECT_TRUE(sent.change([&]() -> Status {
    EXPECT_EQ(++at_work, 1) << "the other one is not over";
    sent.replace(good);
    --at_work;
    return {};
  }));
  refused.join();
  EXPECT_EQ(sent.get().sent, good.sent);
}

TEST_F(SentFilesTest, SayWhatCannotBeRead) {
  std::filesystem::remove(config_.config_path);
  const auto files = SentFiles::read(config_);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().text,
            "enable_configless: " + config_.config_path + ": No such file or directory");
}

}  // namespace
}  // namespace sluice::ctld
