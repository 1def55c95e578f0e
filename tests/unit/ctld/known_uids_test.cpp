// Users of accounting are looked up in the system no more often than it may know something new, and
// records are fetched no more often than they can be taken.
#include "ctld/accounting/known_uids.hpp"

#include <set>

#include <gtest/gtest.h>

#include "ctld/accounting/follow_pace.hpp"

namespace sluice::ctld {
namespace {

SteadyTime steady_at(int64_t seconds) { return SteadyTime(std::chrono::seconds(seconds)); }

class KnownUidsTest : public ::testing::Test {
 protected:
  std::set<std::string> there = {"alice"};  // in the system
  int looked = 0;
  KnownUids uids{[this](const std::string& user) -> std::optional<uint32_t> {
    ++looked;
    if (!there.contains(user)) return std::nullopt;
    return 1000;
  }};
};

TEST_F(KnownUidsTest, EachIsLookedUpOnce) {
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(uids.of("alice", steady_at(i)), 1000U);
    EXPECT_FALSE(uids.of("nobody", steady_at(i)));
  }
  EXPECT_EQ(looked, 2);
}

TEST_F(KnownUidsTest, AnUnknownOneIsLookedUpAgainAfterAMinute) {
  EXPECT_FALSE(uids.of("bob", steady_at(0)));
  there.insert("bob");
  EXPECT_FALSE(uids.of("bob", steady_at(59)));
  EXPECT_EQ(uids.of("bob", steady_at(60)), 1000U);
}

TEST_F(KnownUidsTest, WhoBecomesKnownIsNews) {
  EXPECT_FALSE(uids.of("bob", steady_at(0)));
  EXPECT_FALSE(uids.of("carol", steady_at(0)));
  EXPECT_FALSE(uids.has_news(steady_at(60)));
  there.insert("bob");
  EXPECT_FALSE(uids.has_news(steady_at(61))) << "both were looked up a second ago";
  EXPECT_EQ(looked, 4);
  EXPECT_TRUE(uids.has_news(steady_at(120)));
  EXPECT_EQ(uids.of("bob", steady_at(120)), 1000U);
  EXPECT_FALSE(uids.has_news(steady_at(121)));
}

TEST_F(KnownUidsTest, WhatIsRememberedHasABound) {
  for (size_t i = 0; i < KnownUids::kMostUnknown; ++i)
    EXPECT_FALSE(uids.of("u" + std::to_string(i), steady_at(0)));
  looked = 0;
  EXPECT_FALSE(uids.of("one more", steady_at(1)));
  EXPECT_FALSE(uids.of("one more", steady_at(1)));
  EXPECT_EQ(looked, 2);
  EXPECT_FALSE(uids.of("u7", steady_at(1)));
  EXPECT_EQ(looked, 2);
  uids.forget_unknown_but([](const std::string& user) { return user == "u7"; });
  EXPECT_FALSE(uids.of("one more", steady_at(1)));
  EXPECT_FALSE(uids.of("one more", steady_at(1)));
  EXPECT_EQ(looked, 3);
  looked = 0;
  EXPECT_FALSE(uids.has_news(steady_at(1000)));
  EXPECT_EQ(looked, 2);
}

TEST(FollowPace, ManyRecordsAreFetchedLessOften) {
  AccountingRecords records;
  EXPECT_EQ(rest_after(records), Duration(0));
  records.users.resize(5000);
  records.associations.resize(5000);
  EXPECT_EQ(rest_after(records), std::chrono::milliseconds(500));
  records.wckeys.resize(200'000);
  EXPECT_EQ(rest_after(records), std::chrono::seconds(5));
}

}  // namespace
}  // namespace sluice::ctld
