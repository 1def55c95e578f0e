// What is said of records that could not be stored.
#include "dbd/rpc/storing.hpp"

#include <gtest/gtest.h>

namespace sluice::dbd {
namespace {

const Time kNow = from_seconds(1'760'000'000);

TEST(Storing, TellsSinceWhenRecordsWait) {
  Storing storing;
  const Status full = failure(ErrorCode::kStorageFull, "/secret/path: disk full");
  storing.count("b", full, kNow);
  storing.count("b", full, kNow + std::chrono::seconds(5));
  storing.count("a", failure("unknown"), kNow);
  storing.count("c", {}, kNow);
  const auto waiting = storing.waiting({"b", "c"});
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0], (protocol::WaitingHistory{"b", kNow, "No space left on device"}));
  EXPECT_EQ(storing.waiting({}).size(), 2U);
  storing.count("b", {}, kNow);
  storing.count("a", {}, kNow);
  EXPECT_TRUE(storing.waiting({}).empty());
}

}  // namespace
}  // namespace sluice::dbd
