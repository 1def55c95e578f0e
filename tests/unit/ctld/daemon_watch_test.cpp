// Changes of the accounting daemon and its database are told once each.
#include "ctld/accounting/daemon_watch.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

Status fails(ErrorCode code) { return failure(code, "why"); }

class Watch : public ::testing::Test {
 protected:
  std::vector<TriggerEvents> take() { return std::exchange(told, {}); }
  using Told = std::vector<TriggerEvents>;

  Told told;
  DaemonWatch watch;
};

TEST_F(Watch, TheDaemonGoesAndComes) {
  watch.asked(fails(ErrorCode::kUnreachable));  // before anybody wants to know
  EXPECT_TRUE(told.empty());
  watch.tell_to([&](TriggerEvents events) { told.push_back(events); });
  EXPECT_EQ(take(), Told{kTriggerDbdFailure});
  watch.asked(fails(ErrorCode::kTimedOut));
  watch.records_sent(fails(ErrorCode::kUnreachable));
  EXPECT_EQ(take(), Told{});
  watch.asked(fails(ErrorCode::kWrongCluster));  // it answers
  EXPECT_EQ(take(), Told{kTriggerDbdResumed});
  watch.asked({});
  EXPECT_EQ(take(), Told{});
  watch.records_sent(fails(ErrorCode::kConnectionLost));
  EXPECT_EQ(take(), Told{kTriggerDbdFailure});
}

TEST_F(Watch, TheDatabaseTakesNothing) {
  watch.tell_to([&](TriggerEvents events) { told.push_back(events); });
  watch.records_sent({});  // that it works from the start is no news
  EXPECT_EQ(take(), Told{});
  for (int i = 0; i < 2; ++i) watch.records_sent(fails(ErrorCode::kStorageFull));
  EXPECT_EQ(take(), Told{kTriggerDatabaseFailure});
  watch.asked({});                                      // needs no database
  watch.records_sent(fails(ErrorCode::kWrongCluster));  // nor does a refusal
  EXPECT_EQ(take(), Told{});
  watch.records_sent(fails(ErrorCode::kUnreachable));  // says nothing of it
  EXPECT_EQ(take(), Told{kTriggerDbdFailure});
  watch.records_sent({});
  EXPECT_EQ(take(), (Told{kTriggerDbdResumed, kTriggerDatabaseResumed}));
}

TEST_F(Watch, TooManyRecordsWait) {
  watch.tell_to([&](TriggerEvents events) { told.push_back(events); });
  watch.records_wait(99, 100);
  EXPECT_EQ(take(), Told{});
  watch.records_wait(100, 100);
  watch.records_wait(200, 100);
  EXPECT_EQ(take(), Told{kTriggerBufferFull});
  watch.records_wait(99, 100);
  watch.records_wait(100, 100);
  EXPECT_EQ(take(), Told{kTriggerBufferFull});
}

}  // namespace
}  // namespace sluice::ctld
