#include "noded/node/recent_map.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sluice::noded {
namespace {

// The lowest key went instead of the oldest: a new order for a low number was gone at once.
TEST(RecentMap, TheOldestMakesRoom) {
  RecentMap<int, std::string> recent(3);
  for (const int key : {30, 20, 40}) recent.put(key, "old");
  recent.put(10, "new");
  EXPECT_FALSE(recent.contains(30));
  EXPECT_TRUE(recent.contains(10));
  EXPECT_EQ(recent.size(), 3U);
}

TEST(RecentMap, WhatIsPutAgainOrTakenCountsOnce) {
  RecentMap<int, std::string> recent(2);
  recent.put(1, "a");
  recent.put(1, "b");
  EXPECT_EQ(recent.take(1), "b");
  EXPECT_EQ(recent.take(1), std::nullopt);
  recent.put(2, "c");
  recent.put(1, "d");
  recent.put(3, "e");
  EXPECT_FALSE(recent.contains(2));
  EXPECT_TRUE(recent.contains(1));
  EXPECT_TRUE(recent.contains(3));
}

TEST(RecentMap, WhatIsErasedTakesNoRoom) {
  RecentMap<int, std::string> recent(2);
  recent.put(1, "a");
  recent.put(2, "b");
  recent.erase(1);
  recent.erase(1);
  EXPECT_EQ(recent.find(1), nullptr);
  recent.put(3, "c");
  ASSERT_NE(recent.find(2), nullptr);
  EXPECT_EQ(*recent.find(2), "b");
}

}  // namespace
}  // namespace sluice::noded
