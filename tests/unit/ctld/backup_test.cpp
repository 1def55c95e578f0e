// Where a backup may lie: nobody else can put something of his own in the place of its parts while
// it is made.
#include "ctld/backup.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/auth/signer.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;

class Backup : public ::testing::Test {
 protected:
  Backup() {
    fs::create_directories(state_ / "journal");
    EXPECT_TRUE(net::CredentialSigner::create((state_ / "credential.key").string()));
    EXPECT_TRUE(journal::SqliteStore::open(state_ / "journal"));
    fs::create_directory(place_);
  }
  static mode_t mode(const fs::path& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }

  const test::TempFolder folder_;
  const fs::path state_ = folder_.path() / "state", place_ = folder_.path() / "place";
};

TEST_F(Backup, IsForItsUserAlone) {
  const mode_t before = ::umask(0);
  const auto done = back_up(state_, place_ / "copy");
  ::umask(before);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(mode(place_ / "copy"), 0700U);
  EXPECT_EQ(mode(place_ / "copy/journal"), 0700U);
  EXPECT_EQ(mode(place_ / "copy/journal/journal.db"), 0600U);
  EXPECT_EQ(mode(place_ / "copy/credential.key"), 0600U);
}

TEST_F(Backup, IsNotMadeWhereOthersCanReplaceIt) {
  ASSERT_EQ(::chmod(place_.c_str(), 0777), 0);
  const auto refused = back_up(state_, place_ / "copy");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_TRUE(fs::is_empty(place_));
  ASSERT_EQ(::chmod(place_.c_str(), 01777), 0);
  const auto done = back_up(state_, place_ / "copy/");
  EXPECT_TRUE(done) << done.error().text;
}

TEST_F(Backup, FollowsNoLinkThatLiesInItsWay) {
  const fs::path elsewhere = folder_.path() / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, place_ / "copy.unfinished");
  EXPECT_FALSE(back_up(state_, place_ / "copy"));
  EXPECT_TRUE(fs::is_symlink(place_ / "copy.unfinished"));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(Backup, TakesTheUnfinishedOneOfItsUserForItsOwn) {
  fs::create_directories(place_ / "copy.unfinished/journal");
  std::ofstream(place_ / "copy.unfinished/journal/journal.db") << "half";
  if (::geteuid() == 0) {
    ASSERT_EQ(::lchown((place_ / "copy.unfinished").c_str(), 1, 1), 0);
    EXPECT_FALSE(back_up(state_, place_ / "copy")) << "it is another's";
    EXPECT_TRUE(fs::exists(place_ / "copy.unfinished/journal/journal.db"));
    ASSERT_EQ(::lchown((place_ / "copy.unfinished").c_str(), 0, 0), 0);
  }
  const auto done = back_up(state_, place_ / "copy");
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_FALSE(fs::exists(place_ / "copy.unfinished"));
}

// The bug: the folder was to be replaced, and a file system was mounted there.
TEST_F(Backup, IsMadeInTheFolderThatIsThere) {
  const fs::path copy = place_ / "copy";
  fs::create_directories(copy / ".unfinished/journal");
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(copy.c_str(), &before), 0);
  const auto done = back_up(state_, copy);
  ASSERT_TRUE(done) << done.error().text;
  ASSERT_EQ(::stat(copy.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(mode(copy), 0700U);
  EXPECT_FALSE(fs::exists(copy / ".unfinished"));
  EXPECT_FALSE(fs::exists(place_ / "copy.unfinished"));
  EXPECT_TRUE(restore(copy, state_, ::geteuid()));
  EXPECT_FALSE(back_up(state_, copy)) << "it is not empty any more";
}

TEST_F(Backup, IsNotMadeInAFolderOfOthers) {
  fs::create_directory(place_ / "copy");
  ASSERT_EQ(::chmod((place_ / "copy").c_str(), 0777), 0);
  EXPECT_FALSE(back_up(state_, place_ / "copy"));
  EXPECT_TRUE(fs::is_empty(place_ / "copy"));
}

TEST_F(Backup, AFolderThatIsNotThereIsNamed) {
  const auto done = restore(place_ / "nowhere", state_, ::geteuid());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text, (place_ / "nowhere").string() + ": there is no such folder");
}

// The bug: the running controller's journal was blamed.
TEST_F(Backup, NamesTheCopyThatCannotBeWritten) {
  {
    const auto store = journal::SqliteStore::open(state_ / "journal");
    ASSERT_TRUE(store) << store.error().text;
    journal::FrameGroup group;
    group.frames.push_back({1, 0, {}, std::string(300'000, 'f')});
    ASSERT_TRUE((*store)->append(group));
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = back_up(state_, place_ / "copy");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kStorageFull);
  const std::string copy = (place_ / "copy.unfinished/journal/journal.db").string();
  EXPECT_TRUE(done.error().text.starts_with(copy + " cannot be written: ")) << done.error().text;
}

// The bug: it told to put a backup back.
TEST_F(Backup, ADamagedCopyIsNamed) {
  const fs::path copy = place_ / "copy";
  ASSERT_TRUE(back_up(state_, copy));
  std::ofstream(copy / "journal/journal.db") << std::string(8192, 'g');
  const auto done = restore(copy, state_, ::geteuid());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text,
            "the copy in " + copy.string() + " is damaged and cannot be put back: the journal " +
                (copy / "journal/journal.db").string() + " is damaged (file is not a database)");
}

// The bug: what lay at the name of the new journal was written through.
TEST_F(Backup, PutBackFollowsNoLink) {
  ASSERT_TRUE(back_up(state_, place_ / "copy"));
  const fs::path other = folder_.path() / "other";
  std::ofstream(other) << "other";
  fs::create_symlink(other, state_ / "journal/journal.db.new");
  const auto done = restore(place_ / "copy", state_, ::geteuid());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(fs::file_size(other), 5U);
}

}  // namespace
}  // namespace sluice::ctld
