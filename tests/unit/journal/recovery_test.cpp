// The state recovered from the journal is the state that was.
#include "ctld/journal/recovery.hpp"

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/state/core/invariants.hpp"
#include "unit/journal/event_maker.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::journal {
namespace {

using test::EventMaker;
using test::TempFolder;

std::unique_ptr<SqliteStore> open_store(const std::filesystem::path& folder) {
  SqliteOptions options;
  options.ballast_bytes = 0;
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(folder, options);
  if (!store) throw std::runtime_error(store.error().text);
  return std::move(*store);
}

void expect_same(const state::ClusterState& is, const state::ClusterState& wanted) {
  EXPECT_EQ(state::differences(is, wanted), std::vector<std::string>());
  EXPECT_EQ(state::check_state(is), std::vector<std::string>());
}

TEST(Recovery, OfAnEmptyJournalIsAnEmptyState) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  const Result<Recovered> recovered = recover(*store);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->last, 0U);
  EXPECT_EQ(recovered->state.epoch, 0U);
}

TEST(Recovery, ReplayEqualsStateAtAnyPoint) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const TempFolder temp;
    auto store = open_store(temp.path());
    EventMaker maker(seed);
    Sequence last = 0;
    for (int round = 0; round < 12; ++round) {
      FrameGroup group;
      for (int i = 0; i < 60; ++i) {
        const state::Events events = maker.next();
        group.frames.push_back(encode_frame(++last, maker.now(), events));
      }
      group.blobs = maker.take_blobs();
      ASSERT_TRUE(store->append(group));
      if (round % 4 == 2) {
        ASSERT_TRUE(store->checkpoint(make_checkpoint(maker.state(), last, maker.now())));
      }
      if (round % 5 == 4) {
        store.reset();
        store = open_store(temp.path());
      }
      const Result<Recovered> recovered = recover(*store);
      ASSERT_TRUE(recovered) << recovered.error().text;
      EXPECT_EQ(recovered->last, last);
      expect_same(recovered->state, maker.state());
    }
    for (const std::string& key : state::live_blobs(maker.state())) {
      EXPECT_TRUE(store->blob(key)) << "a blob that a job needs is gone";
    }
  }
}

TEST(Recovery, FramesOfANewerFormatAreRefused) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  JournalFrame newer;
  newer.format = kEventFormat + 1;
  FrameGroup group;
  group.frames.push_back({1, 0, kNoTime, wire::encode(newer)});
  ASSERT_TRUE(store->append(group));
  const Result<Recovered> recovered = recover(*store);
  ASSERT_FALSE(recovered);
  EXPECT_NE(recovered.error().text.find("start the newer version again"), std::string::npos);
}

}  // namespace
}  // namespace sluice::journal
