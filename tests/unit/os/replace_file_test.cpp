// Files that are written whole or not at all.
#include "common/os/replace_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
}

TEST(ReplaceFile, WritesItWholeWithItsModeWhateverTheUmask) {
  test::TempFolder folder;
  const std::string path = folder / "record";
  const mode_t before = ::umask(0077);
  EXPECT_TRUE(replace_file(path, "first, and longer"));
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_TRUE(replace_file(path, std::string("sec\0nd", 6), {.mode = 0644, .flush = true}));
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0644U);
  EXPECT_EQ(read_file(path), std::string("sec\0nd", 6));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(ReplaceFile, TakesThePlaceOfWhatAKilledWriterLeft) {
  test::TempFolder folder;
  const std::string path = folder / "record";
  std::ofstream(path + ".new") << "a longer text, cut in the mid";
  EXPECT_TRUE(replace_file(path, "mine"));
  EXPECT_EQ(read_file(path), "mine");
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST(ReplaceFile, FollowsNoLink) {
  test::TempFolder folder;
  const std::string path = folder / "record", other = folder / "other";
  ASSERT_TRUE(replace_file(other, "of somebody else"));
  std::filesystem::create_symlink(other, path + ".new");
  EXPECT_FALSE(replace_file(path, "mine"));
  EXPECT_EQ(read_file(other), "of somebody else");
}

TEST(ReplaceFile, SaysWhyNotAndKeepsWhatWasThere) {
  test::TempFolder folder;
  const std::string path = folder / "record";
  ASSERT_TRUE(replace_file(path, "old"));
  std::filesystem::create_directories(path + ".new/full");
  const Status done = replace_file(path, "new");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kPathMissing);
  EXPECT_EQ(done.error().text, "cannot write " + path + ": Is a directory");
  EXPECT_EQ(read_file(path), "old");
}

TEST(ReplaceFile, WriteAllFailsWhereNothingIsLeft) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(write_all(fd, "x"));
  EXPECT_EQ(errno, ENOSPC);
  ::close(fd);
}

}  // namespace
}  // namespace sluice
