#include "stepd/x11/home_xauthority.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/os/read_file.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

class HomeXauthority : public ::testing::Test {
 protected:
  [[nodiscard]] Status append(const std::string& text) const {
    return change_xauthority(path,
                             [&](std::string_view before) { return std::string(before) + text; });
  }
  const test::TempFolder folder;
  const std::filesystem::path path = folder / ".Xauthority";
};

TEST_F(HomeXauthority, WhatWasThereIsChanged) {
  EXPECT_TRUE(append("a"));
  std::ofstream(path.string() + "-n") << "of one that died";
  EXPECT_TRUE(append("b"));
  EXPECT_EQ(read_file(path), "ab");
  EXPECT_FALSE(std::filesystem::exists(path.string() + "-n"));
}

// The step daemon waited for the FIFO's other end, or read a device until its memory was full.
TEST_F(HomeXauthority, WhatIsNoFileIsLeftAlone) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(append("a"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_FALSE(append("a"));
  std::filesystem::remove(path);
  std::ofstream(path) << "";
  std::filesystem::resize_file(path, 1U << 30);
  EXPECT_FALSE(append("a"));
}

TEST_F(HomeXauthority, AFifoInTheWayOfTheNewFileGoes) {
  ASSERT_EQ(::mkfifo((path.string() + "-n").c_str(), 0600), 0);
  EXPECT_TRUE(append("a"));
  EXPECT_EQ(read_file(path), "a");
}

}  // namespace
}  // namespace sluice::stepd
