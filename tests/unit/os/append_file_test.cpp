// Files that a daemon opens by a path: what others may have put there is not written to.
#include "common/os/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DaemonFile : public ::testing::Test {
 protected:
  static constexpr uid_t kOther = 54321;  // nobody's number here
  void SetUp() override { std::ofstream(victim()) << "precious\n"; }
  fs::path victim() { return folder / "victim"; }
  fs::path path() { return folder / "daemon.log"; }
  std::string refusal() {
    const auto opened = open_daemon_file(path(), O_WRONLY | O_APPEND);
    if (opened) ::close(*opened);
    return opened ? "" : opened.error().text;
  }
  test::TempFolder folder;
};

TEST_F(DaemonFile, IsMadeAndAppendedTo) {
  for (int i = 0; i < 2; ++i) {
    auto file = AppendFile::open(path());
    ASSERT_TRUE(file) << file.error().text;
    file->write("line\n");
  }
  EXPECT_EQ(text_of(path()), "line\nline\n");
  EXPECT_EQ(fs::status(path()).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(DaemonFile, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives files away";
  std::ofstream(path()) << "";
  ASSERT_EQ(::chown(path().c_str(), kOther, kOther), 0);
  EXPECT_EQ(refusal(), "") << "root alone may put it there";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  EXPECT_EQ(refusal(), path().string() + ": the file is another user's");
  // it is that user's folder: the daemon's own user, say
  ASSERT_EQ(::chown(folder.path().c_str(), kOther, kOther), 0);
  EXPECT_EQ(refusal(), "");
}

TEST_F(DaemonFile, BehindALinkOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives links away";
  fs::create_symlink(victim(), path());
  EXPECT_EQ(refusal(), "") << "an administrator's own link";
  ASSERT_EQ(::lchown(path().c_str(), kOther, kOther), 0);
  EXPECT_EQ(refusal(), path().string() + ": it is a link that another user made");
  const auto given = give_daemon_files({path()}, kOther, kOther);
  EXPECT_FALSE(given);
  struct stat file {};
  ASSERT_EQ(::stat(victim().c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, 0u) << "the file behind it was given away";
}

TEST_F(DaemonFile, WithASecondNameIsRefused) {
  fs::create_hard_link(victim(), path());
  EXPECT_EQ(refusal(), path().string() + ": the file has a second name (a hard link)");
  EXPECT_EQ(text_of(victim()), "precious\n");
}

TEST_F(DaemonFile, DevicesAreWrittenAndNotGivenAway) {
  auto file = AppendFile::open("/dev/null");
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_TRUE(
      give_daemon_files({"/dev/null", ""}, ::geteuid() == 0 ? kOther : ::geteuid(), ::getegid()));
  struct stat device {};
  ASSERT_EQ(::stat("/dev/null", &device), 0);
  EXPECT_NE(device.st_uid, kOther);
}

TEST_F(DaemonFile, IsGivenToTheUserWhoWillOpenIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives files away";
  ASSERT_TRUE(give_daemon_files({path()}, kOther, kOther));
  struct stat file {};
  ASSERT_EQ(::stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, kOther);
}

// /var/log is root's, and so is /run, where a daemon that is not root cannot remove its PID file:
// it has to start again all the same.
TEST_F(DaemonFile, ThatAnEarlierStartGaveAwayIsGivenAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives files away";
  for (const mode_t mode : {0755, 0775, 0777}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    for (int i = 0; i < 2; ++i) {
      const Status given = give_daemon_files({path()}, kOther, kOther);
      EXPECT_TRUE(given) << given.error().text;
    }
    EXPECT_EQ(give_daemon_files({path()}, kOther + 1, kOther).has_value(), mode == 0755)
        << "to a third user";
    fs::remove(path());
  }
}

}  // namespace
}  // namespace sluice
