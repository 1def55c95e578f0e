#include "cli/options/find_in_path.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

class FindInPath : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("find_in_path." + std::to_string(getpid()));
    for (const char* part : {"a", "b", "here"}) std::filesystem::create_directories(folder_ / part);
    setenv("PATH", (path("a") + "::" + path("b")).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void make(const std::string& name, mode_t mode) const {
    std::ofstream(path(name)) << "x";
    chmod(path(name).c_str(), mode);
  }

  std::filesystem::path folder_;
  std::string before_ = std::getenv("PATH");
};

TEST_F(FindInPath, TakesTheFirstThatMayBeRun) {
  make("a/tool", 0644);
  make("b/tool", 0755);
  EXPECT_EQ(find_program("tool", path("here")), path("b/tool"));
  EXPECT_EQ(find_in_path("tool", R_OK, path("here")), path("a/tool"));
  EXPECT_FALSE(find_program("other", path("here")));
}

TEST_F(FindInPath, AnEmptyPartIsTheFolder) {
  make("here/tool", 0755);
  make("b/tool", 0755);
  EXPECT_EQ(find_program("tool", path("here")), path("here/tool"));
}

TEST_F(FindInPath, AFolderIsNoProgram) {
  std::filesystem::create_directories(folder_ / "a/tool");
  EXPECT_FALSE(find_program("tool", path("here")));
  EXPECT_FALSE(find_program(path("a"), path("here")));
}

TEST_F(FindInPath, WithASlashItIsAPath) {
  make("b/tool", 0755);
  EXPECT_EQ(find_program("../b/tool", path("here")), path("here/../b/tool"));
  EXPECT_EQ(find_program(path("b/tool"), "/"), path("b/tool"));
  EXPECT_FALSE(find_program("./tool", path("a")));
}

}  // namespace
}  // namespace sluice::cli
