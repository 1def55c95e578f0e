// What a job's user may have opened for him by a process that is root.
#include "stepd/io/output_files.hpp"

#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

class Files : public ::testing::Test {
 protected:
  const test::TempFolder folder_;
  const UserIdentity user_{};
  OutputFiles files_{user_, false, 022};
};

// The bug: "sbatch -i /proc/self/maps" gave a job the memory map of its step daemon.
TEST_F(Files, ThisProcessIsNotLookedInto) {
  const std::string link = folder_ / "link";
  ASSERT_EQ(::symlink("/proc/self/maps", link.c_str()), 0);
  const std::string own = "/proc/" + std::to_string(::getpid());
  for (const std::string& path :
       {std::string("/proc/self/maps"), std::string("/proc/thread-self/maps"),
        std::string("/proc/../proc/self/status"), own + "/environ",
        own + "/task/" + std::to_string(::getpid()) + "/auxv", own + "/root" + own + "/maps",
        link}) {
    const auto opened = files_.input(path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().text, "Permission denied") << path;
  }
  EXPECT_FALSE(files_.output("/proc/self/comm"));
}

TEST_F(Files, ItsDescriptorsAreNotOpenedAgain) {
  const std::string path = folder_ / "kept";
  std::ofstream(path) << "kept";
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  for (const char* folder : {"/proc/self/fd/", "/dev/fd/"}) {
    EXPECT_FALSE(files_.input(folder + std::to_string(fd))) << folder;
    EXPECT_FALSE(files_.output(folder + std::to_string(fd))) << folder;
  }
  struct stat after {};
  ASSERT_EQ(::fstat(fd, &after), 0);
  EXPECT_EQ(after.st_size, 4) << "it was truncated";
  ::close(fd);
}

TEST_F(Files, AllElseIsOpenedAsBefore) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_TRUE(files_.output("/proc/self/fd/" + std::to_string(null))) << "as /dev/stdout in a job";
  EXPECT_TRUE(files_.input("/proc/self/fd/" + std::to_string(null)));
  ::close(null);
  EXPECT_TRUE(files_.input("/proc/cpuinfo"));
  EXPECT_TRUE(files_.input("/proc/1/stat"));
  EXPECT_TRUE(files_.input("/dev/null"));
  const std::string out = folder_ / "new/folder/out", link = folder_ / "link";
  EXPECT_TRUE(files_.output(out));
  struct stat made {};
  ASSERT_EQ(::stat(out.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0644U);
  ASSERT_EQ(::symlink(out.c_str(), link.c_str()), 0);
  EXPECT_TRUE(files_.input(link));
  const auto missing = files_.input(folder_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text, "No such file or directory");
}

}  // namespace
}  // namespace sluice::stepd
