// The bug: folders in one another, more than a process may have open, made a job's own /tmp stay on
// its node for ever, with all that was in it.
#include "common/os/remove_tree.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class RemoveTreeTest : public ::testing::Test {
 protected:
  RemoveTreeTest() {
    std::string name = ::testing::TempDir() + "/remove_tree_XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? std::string() : name;
  }
  ~RemoveTreeTest() override { (void)remove_tree(folder_); }

  void write(const std::string& name) const { std::ofstream(folder_ + "/" + name) << "text"; }
  // Each in the one before, which no path could name at once.
  void make_deep(int depth) const {
    int at = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; ++i) {
      ASSERT_EQ(::mkdirat(at, "deep", 0700), 0);
      const int next = ::openat(at, "deep", O_RDONLY | O_DIRECTORY);
      ::close(at);
      at = next;
    }
    ::close(at);
  }

  std::string folder_;
};

TEST_F(RemoveTreeTest, DeeperThanDescriptorsReach) {
  constexpr rlim_t kFew = 64;
  make_deep(300);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{kFew, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const bool gone = remove_tree(folder_);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(gone);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RemoveTreeTest, AllKindsOfEntries) {
  fs::create_directories(folder_ + "/a/b/c");
  fs::create_directories(folder_ + "/a/d");
  for (const char* name : {"f", "a/f", "a/b/f", "a/b/c/f", "a/d/f"}) write(name);
  ASSERT_EQ(::mkfifo((folder_ + "/a/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(remove_tree(folder_));
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RemoveTreeTest, LinksAreRemovedThemselves) {
  fs::create_directories(folder_ + "/kept");
  fs::create_directories(folder_ + "/goes/more");
  write("kept/file");
  fs::create_directory_symlink(folder_ + "/kept", folder_ + "/goes/more/link");
  fs::create_directory_symlink(folder_ + "/kept", folder_ + "/link");
  EXPECT_TRUE(remove_tree(folder_ + "/goes"));
  EXPECT_TRUE(remove_tree(folder_ + "/link"));
  EXPECT_FALSE(fs::exists(folder_ + "/goes"));
  EXPECT_FALSE(fs::is_symlink(folder_ + "/link"));
  EXPECT_TRUE(fs::exists(folder_ + "/kept/file"));
}

TEST_F(RemoveTreeTest, AFileAndNothing) {
  write("file");
  EXPECT_TRUE(remove_tree(folder_ + "/file"));
  EXPECT_FALSE(fs::exists(folder_ + "/file"));
  EXPECT_TRUE(remove_tree(folder_ + "/file")) << "it is gone";
}

}  // namespace
}  // namespace sluice
