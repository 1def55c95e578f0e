// What is taken from the engine's inbox, and when.
#include "ctld/engine/inbox.hpp"

#include <future>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using std::chrono::milliseconds;

constexpr Duration kAtOnce = milliseconds(0);
constexpr auto kLongest = std::chrono::seconds(30);

bool put(Inbox& inbox, state::Command command) {
  Post post{std::move(command), {}, {}};
  return inbox.put(post);
}

TEST(Inbox, GivesWhatCameInItsOrder) {
  Inbox inbox(10);
  EXPECT_TRUE(put(inbox, state::EndSteps{}));
  EXPECT_TRUE(put(inbox, state::SignalJob{}));
  const std::vector<Post> posts = inbox.take(kLongest).posts;
  ASSERT_EQ(posts.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<state::EndSteps>(posts[0].command));
  EXPECT_TRUE(std::holds_alternative<state::SignalJob>(posts[1].command));
  EXPECT_TRUE(inbox.take(kAtOnce).posts.empty());
}

TEST(Inbox, ReportsWaitWhileTheJournalWrites) {
  Inbox inbox(10);
  inbox.note_sealed();
  inbox.note_sealed();
  EXPECT_TRUE(put(inbox, state::EndSteps{}));
  auto taken = std::async(std::launch::async, [&] { return inbox.take(kLongest).posts.size(); });
  EXPECT_EQ(taken.wait_for(milliseconds(20)), std::future_status::timeout);
  inbox.note_written();
  EXPECT_EQ(taken.wait_for(milliseconds(20)), std::future_status::timeout)
      << "another group is still to be written";
  EXPECT_TRUE(put(inbox, state::JobsCleaned{}));
  inbox.note_written();
  ASSERT_EQ(taken.wait_for(kLongest), std::future_status::ready);
  EXPECT_EQ(taken.get(), 2U);
}

TEST(Inbox, NothingElseWaitsForTheJournal) {
  Inbox inbox(10);
  inbox.note_sealed();
  EXPECT_TRUE(put(inbox, state::EndSteps{}));
  EXPECT_TRUE(put(inbox, state::SubmitJob{}));
  EXPECT_EQ(inbox.take(kLongest).posts.size(), 2U) << "reports go with what comes behind them";
  EXPECT_TRUE(put(inbox, state::EndSteps{}));
  EXPECT_EQ(inbox.take(milliseconds(1)).posts.size(), 1U)
      << "and with the next tick, however long the disk is full";
}

// The bug: each of a hundred thousand cancelled jobs asked for a look at all that waited, and got
// one of its own.
TEST(Inbox, ManyWhoAskForATickGetOne) {
  Inbox inbox(10);
  EXPECT_FALSE(inbox.take(kAtOnce).tick_asked);
  auto taken = std::async(std::launch::async, [&] { return inbox.take(kLongest); });
  inbox.ask_tick();
  const Inbox::Taken first = taken.get();
  EXPECT_TRUE(first.tick_asked && first.posts.empty());
  for (int i = 0; i < 3; ++i) inbox.ask_tick();
  EXPECT_TRUE(put(inbox, state::EndSteps{}));
  const Inbox::Taken second = inbox.take(kLongest);
  EXPECT_TRUE(second.tick_asked && second.posts.size() == 1);
  EXPECT_FALSE(inbox.take(kAtOnce).tick_asked);
}

TEST(Inbox, BeyondItsLimitAndAtTheEndIsLittleTaken) {
  Inbox inbox(1);
  EXPECT_TRUE(put(inbox, state::SubmitJob{}));
  EXPECT_FALSE(put(inbox, state::SubmitJob{}));
  EXPECT_TRUE(put(inbox, state::EndSteps{})) << "ends are always taken";
  inbox.note_sealed();
  inbox.close();
  EXPECT_FALSE(inbox.is_over());
  EXPECT_FALSE(put(inbox, state::EndSteps{}));
  EXPECT_EQ(inbox.take(kLongest).posts.size(), 2U);
  EXPECT_TRUE(inbox.is_over());
}

}  // namespace
}  // namespace sluice::engine
