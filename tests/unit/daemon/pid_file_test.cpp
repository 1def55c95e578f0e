// PID files: one holder, and the lock is on what is at the path.
#include "common/daemon/daemon.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace sluice::daemon {
namespace {

constexpr auto kNoWait = std::chrono::milliseconds(0);

std::string free_path(const std::string& name) {
  std::string path = ::testing::TempDir() + name + std::to_string(getpid());
  std::filesystem::remove(path);
  return path;
}

TEST(PidFile, HasOneHolderAndGoesWithIt) {
  const std::string path = free_path("held");
  {
    auto first = PidFile::create(path, kNoWait);
    ASSERT_TRUE(first) << first.error().text;
    pid_t written = 0;
    std::ifstream(path) >> written;
    EXPECT_EQ(written, getpid());
    auto second = PidFile::create(path, kNoWait);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kDuplicateName);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(PidFile::create(path, kNoWait));
}

// A predecessor that ends between our open and our lock removes the file: the lock has to be on the
// new one.
TEST(PidFile, IsNotTheRemovedFileOfAPredecessor) {
  const std::string path = free_path("removed");
  auto first = PidFile::create(path, kNoWait);
  ASSERT_TRUE(first);
  std::filesystem::remove(path);  // as its destructor does, before it lets the lock go
  auto second = PidFile::create(path, kNoWait);
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(PidFile, NamesAFolderThatIsMissing) {
  auto made = PidFile::create("/nowhere/at/all.pid", kNoWait);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kPathMissing);
  EXPECT_NE(made.error().text.find("/nowhere/at/all.pid"), std::string::npos);
}

}  // namespace
}  // namespace sluice::daemon
