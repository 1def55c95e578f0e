// The highest job number of a node outlives its agent.
#include "noded/node/last_job.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "unit/temp_folder.hpp"

namespace sluice::noded {
namespace {

using protocol::JobNumber;

TEST(LastJob, IsTheHighestThatWasToRun) {
  const test::TempFolder folder;
  {
    LastJob last(folder.path().string());
    EXPECT_EQ(last.number(), JobNumber{});
    for (const JobNumber number : {JobNumber{0, 7}, JobNumber{0, 1500}, JobNumber{0, 12},
                                   JobNumber{0, kFirstOutsideJob + 3}}) {
      EXPECT_TRUE(last.note(number));
    }
    EXPECT_EQ(last.number(), (JobNumber{0, 1500}));
  }
  LastJob next(folder.path().string());
  EXPECT_EQ(next.number(), (JobNumber{0, 1500}));
  EXPECT_TRUE(next.note({1, 3}));  // ids began anew
  EXPECT_EQ(LastJob(folder.path().string()).number(), (JobNumber{1, 3}));
  next.forget();
  EXPECT_EQ(LastJob(folder.path().string()).number(), JobNumber{});
}

// The bug: it was written into a file that was no longer there.
TEST(LastJob, IsKeptInAFolderThatWasMadeAnew) {
  const test::TempFolder folder;
  const auto spool = folder.path() / "spool";
  std::filesystem::create_directory(spool);
  LastJob last(spool.string());
  EXPECT_TRUE(last.note({0, 5}));
  std::filesystem::remove_all(spool);
  std::filesystem::create_directory(spool);
  EXPECT_TRUE(last.note({0, 6}));
  EXPECT_EQ(LastJob(spool.string()).number(), (JobNumber{0, 6}));
}

TEST(LastJob, AFileThatSaysNothingCountsAsNone) {
  const test::TempFolder folder;
  std::ofstream(folder.path() / "last_job") << "what";
  EXPECT_EQ(LastJob(folder.path().string()).number(), JobNumber{});
}

TEST(LastJob, AFullDiskIsTold) {
  const test::TempFolder folder;
  LastJob last(folder.path().string());
  std::filesystem::create_symlink("/dev/full", folder.path() / "last_job");
  const auto noted = last.note({0, 5});
  ASSERT_FALSE(noted);
  EXPECT_EQ(noted.error().code, ErrorCode::kStorageFull);
}

TEST(LastJob, OneThatCannotBeKeptIsAnError) {
  const test::TempFolder folder;
  LastJob last((folder.path() / "missing").string());
  EXPECT_FALSE(last.note({0, 5}));
  EXPECT_EQ(last.number(), JobNumber{}) << "the job does not begin";
}

}  // namespace
}  // namespace sluice::noded
