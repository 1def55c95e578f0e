// Why a database file cannot be used.
#include "dbd/store/file_access.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/temp_folder.hpp"

namespace sluice::dbd {
namespace {

namespace fs = std::filesystem;

class FileAccess : public ::testing::Test {
 protected:
  static constexpr uid_t kOther = 54321;  // nobody's number here
  void SetUp() override { std::ofstream(file_) << "x"; }
  static std::string said(const Status& status) { return status ? "" : status.error().text; }
  const sluice::test::TempFolder folder_;
  const std::string file_ = folder_ / "accounting.db";
};

TEST_F(FileAccess, MayBeUsed) { EXPECT_EQ(said(may_use_file(file_)), ""); }

TEST_F(FileAccess, IsNoFile) {
  EXPECT_EQ(said(may_use_file((folder_ / "").string())), (folder_ / "").string() + " is no file");
}

// The bug: slurmdbd -t waited for ever for who writes into the pipe.
TEST_F(FileAccess, IsAPipe) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(said(check_header(pipe)), pipe + " is no file");
}

// The bug: it "cannot be opened" was all that was said.
TEST_F(FileAccess, IsOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become others";
  fs::permissions(file_, fs::perms(0600));
  fs::permissions(folder_ / "", fs::perms(0755));
  ASSERT_EQ(::seteuid(kOther), 0);
  const std::string of_file = said(may_use_file(file_));
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(of_file, file_ +
                         " cannot be opened: Permission denied: it is root's, mode 0600, and "
                         "slurmdbd runs as uid 54321");
  ASSERT_EQ(::chown(file_.c_str(), kOther, kOther), 0);
  ASSERT_EQ(::seteuid(kOther), 0);
  const std::string of_folder = said(may_use_file(file_));
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_NE(of_folder.find("no files can be made beside it"), std::string::npos) << of_folder;
  EXPECT_NE(of_folder.find("it is root's, mode 0755"), std::string::npos) << of_folder;
}

// Root, who looks with slurmdbd -t, may do everything.
TEST_F(FileAccess, IsOfAnotherThanWhoItIsLookedAtFor) {
  if (::geteuid() != 0) GTEST_SKIP() << "root may use it";
  const HostUser who{"bob", kOther, {kOther}};
  fs::permissions(file_, fs::perms(0600));
  fs::permissions(folder_ / "", fs::perms(0755));
  EXPECT_EQ(said(may_use_file(file_, who)),
            file_ +
                " cannot be opened: Permission denied: it is "
                "root's, mode 0600, and slurmdbd runs as uid 54321");
  ASSERT_EQ(::chown(file_.c_str(), kOther, kOther), 0);
  EXPECT_EQ(said(may_use_file(file_, who)),
            file_ + " cannot be used: no files can be made beside it in " +
                fs::path(file_).parent_path().string() +
                ": Permission denied: it is root's, mode 0755, and slurmdbd runs as uid 54321");
  ASSERT_EQ(::chown(fs::path(file_).parent_path().c_str(), kOther, kOther), 0);
  EXPECT_EQ(said(may_use_file(file_, who)), "");
  ASSERT_EQ(::chown(fs::path(file_).parent_path().c_str(), 0, 0), 0);
  fs::permissions(fs::path(file_).parent_path(), fs::perms(0700));
  EXPECT_EQ(said(may_use_file(file_, who)), file_ + " cannot be opened: user bob may not enter " +
                                                fs::path(file_).parent_path().string());
}

TEST_F(FileAccess, HoldsNoDatabase) {
  EXPECT_EQ(said(check_header(file_)),
            file_ + " is damaged, or no database: move it away, or put a copy back");
  std::ofstream(file_) << "SQLite format 3" << '\0' << "and so on";
  EXPECT_EQ(said(check_header(file_)), "");
  std::ofstream(file_).close();
  EXPECT_EQ(said(check_header(file_)),
            file_ +
                " is empty: the database that was in it is lost. Put a copy back, or remove "
                "the file to begin a new one");
}

TEST_F(FileAccess, CannotBeMade) {
  EXPECT_EQ(cannot_make("/nosuch/folder/a.db", ENOENT).text,
            "cannot make /nosuch/folder/a.db: there is no folder /nosuch/folder");
  EXPECT_EQ(cannot_make(file_, ENOSPC).text, "cannot make " + file_ + ": No space left on device");
}

}  // namespace
}  // namespace sluice::dbd
