// The start of a controller: a damaged journal stops it, and is set aside where all is to be
// forgotten anyway.
#include "ctld/journal/open_journal.hpp"

#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "unit/journal/event_maker.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::journal {
namespace {

using test::EventMaker;
using test::TempFolder;

SqliteOptions small_options() {
  SqliteOptions options;
  options.ballast_bytes = 0;
  return options;
}

Result<OpenedJournal> open(const std::filesystem::path& folder, bool start_over) {
  return open_journal(folder, start_over, small_options());
}

constexpr Sequence kFrames = 60;

// A journal of some events; its cluster id, and the next job id after each frame.
struct Written {
  std::string cluster_id;
  std::vector<JobId> next_job_ids;
};
Written write_journal(const std::filesystem::path& folder) {
  Written out;
  auto opened = open(folder, false);
  if (!opened) throw std::runtime_error(opened.error().text);
  out.cluster_id = opened->store->info().cluster_id;
  EventMaker maker(3);
  FrameGroup group;
  for (Sequence s = 1; s <= kFrames; ++s) {
    const state::Events events = maker.next();
    group.frames.push_back(encode_frame(s, maker.now(), events));
    out.next_job_ids.push_back(maker.state().next_job_id);
  }
  group.blobs = maker.take_blobs();
  EXPECT_TRUE(opened->store->append(group));
  return out;
}

void run_sql(const std::filesystem::path& folder, const std::string& sql) {
  Database database = Database::open(database_file(folder), Database::Mode::kReadWrite).value();
  EXPECT_TRUE(database.script(sql));
}

std::filesystem::path aside(const std::filesystem::path& folder, int number) {
  return database_file(folder).string() + ".damaged-" + std::to_string(number);
}

TEST(OpenJournal, WhatIsWholeIsNeverSetAside) {
  const TempFolder temp;
  const Written written = write_journal(temp.path());
  const auto opened = open(temp.path(), true);
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_EQ(opened->set_aside, "");
  EXPECT_EQ(opened->recovered.last, kFrames);
  EXPECT_FALSE(std::filesystem::exists(aside(temp.path(), 1)));
}

TEST(OpenJournal, ADamagedFrameKeepsTheIdAndWhatWasBefore) {
  const TempFolder temp;
  const Written written = write_journal(temp.path());
  run_sql(temp.path(), "UPDATE frame SET bytes = x'00' WHERE sequence = 50");
  const auto refused = open(temp.path(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDamaged);
  EXPECT_FALSE(std::filesystem::exists(aside(temp.path(), 1)));

  {
    const auto opened = open(temp.path(), true);
    ASSERT_TRUE(opened) << opened.error().text;
    EXPECT_NE(opened->set_aside.find("frame 50 has a wrong checksum"), std::string::npos)
        << opened->set_aside;
    EXPECT_NE(opened->set_aside.find(aside(temp.path(), 1).string()), std::string::npos)
        << opened->set_aside;
    EXPECT_EQ(opened->store->info().cluster_id, written.cluster_id);
    EXPECT_GT(opened->store->info().epoch, 1U);
    EXPECT_EQ(opened->recovered.last, 49U);
    EXPECT_GT(opened->recovered.state.next_job_id, written.next_job_ids.back())
        << "an id is given once";
    FrameGroup more;
    more.frames.push_back(encode_frame(50, kNoTime, {}));
    const auto appended = opened->store->append(more);
    ASSERT_TRUE(appended) << appended.error().text;
  }
  const auto again = open(temp.path(), false);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->recovered.last, 50U);
  EXPECT_TRUE(std::filesystem::exists(aside(temp.path(), 1))) << "the damaged one is kept";
}

TEST(OpenJournal, IdsGoOnBehindWhatCanBeRead) {
  const TempFolder temp;
  const Written written = write_journal(temp.path());
  // nothing of the state is known then
  run_sql(
      temp.path(),
      "DELETE FROM frame WHERE sequence <= 30; UPDATE frame SET bytes = x'00' WHERE sequence IN (40, 41, 55)");
  {
    const auto opened = open(temp.path(), true);
    ASSERT_TRUE(opened) << opened.error().text;
    EXPECT_EQ(opened->store->info().cluster_id, written.cluster_id);
    EXPECT_EQ(opened->recovered.state.next_node_id, 0U);
    EXPECT_GT(opened->recovered.state.next_job_id, written.next_job_ids.back());
  }
  const auto again = open(temp.path(), false);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_GT(again->recovered.state.next_job_id, written.next_job_ids.back());
}

TEST(OpenJournal, GarbageAndCutFilesAreSetAsideOneAfterTheOther) {
  const TempFolder temp;
  const Written written = write_journal(temp.path());
  std::ofstream(database_file(temp.path()), std::ios::trunc) << std::string(8192, 'g');
  EXPECT_FALSE(open(temp.path(), false));
  {
    const auto opened = open(temp.path(), true);
    ASSERT_TRUE(opened) << opened.error().text;
    EXPECT_NE(opened->set_aside.find("cluster id and job ids cannot be read"), std::string::npos)
        << opened->set_aside;
    EXPECT_NE(opened->store->info().cluster_id, written.cluster_id);
    EXPECT_EQ(opened->recovered.last, 0U);
    FrameGroup group;
    for (Sequence s = 1; s <= 100; ++s)
      group.frames.push_back({s, 0, kNoTime, std::string(3000, 'c')});
    ASSERT_TRUE(opened->store->append(group));
  }
  std::filesystem::resize_file(database_file(temp.path()), 150'000);
  EXPECT_FALSE(open(temp.path(), false));
  const auto opened = open(temp.path(), true);
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_TRUE(std::filesystem::exists(aside(temp.path(), 1)));
  EXPECT_TRUE(std::filesystem::exists(aside(temp.path(), 2)));
}

TEST(OpenJournal, ANewerFormatIsNoDamage) {
  const TempFolder temp;
  write_journal(temp.path());
  run_sql(temp.path(), "PRAGMA user_version = 99");
  const auto opened = open(temp.path(), true);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("format 99"), std::string::npos) << opened.error().text;
  EXPECT_FALSE(std::filesystem::exists(aside(temp.path(), 1)));
}

}  // namespace
}  // namespace sluice::journal
