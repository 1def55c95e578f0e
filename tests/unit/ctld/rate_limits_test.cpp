// rl_enable: a bucket of tokens for each user, with Slurm's defaults.
#include "ctld/rpc/rate_limits.hpp"

#include <gtest/gtest.h>

#include "common/os/back_off.hpp"

namespace sluice::ctld {
namespace {

using std::chrono::seconds;

ClusterConfig with(std::vector<std::string> parameters) {
  ClusterConfig config;
  config.slurmctld_parameters = std::move(parameters);
  return config;
}

// How many requests in a row are taken.
int burst(RateLimits& limits, uint32_t uid, Time now) {
  int taken = 0;
  while (taken < 1000 && limits.admit("QueryJobs", uid, now)) ++taken;
  return taken;
}

const Time kNow = from_seconds(1'000'000);

TEST(RateLimitsTest, NothingIsLimitedUnlessItIsSaid) {
  RateLimits limits;
  EXPECT_EQ(burst(limits, 1, kNow), 1000);
  limits.use(with({"rl_bucket_size=3"}));
  EXPECT_EQ(burst(limits, 1, kNow), 1000);
}

TEST(RateLimitsTest, DefaultsAreThirtyAndTwoASecond) {
  RateLimits limits;
  limits.use(with({"rl_enable"}));
  EXPECT_EQ(burst(limits, 1, kNow), 30);
  EXPECT_TRUE(net::is_back_off(limits.admit("QueryJobs", 1, kNow).error()));
  EXPECT_EQ(burst(limits, 2, kNow), 30) << "each user has a bucket";
  EXPECT_EQ(burst(limits, 1, kNow + seconds(1)), 2);
  EXPECT_EQ(burst(limits, 1, kNow + seconds(4)), 6);
  EXPECT_EQ(burst(limits, 1, kNow + seconds(3600)), 30);
  EXPECT_EQ(burst(limits, 1, kNow), 0) << "a clock that is set back gives nothing";
  EXPECT_EQ(burst(limits, 1, kNow + seconds(1)), 2);
}

TEST(RateLimitsTest, ValuesAreTaken) {
  RateLimits limits;
  limits.use(with({"rl_enable", "rl_bucket_size=5", "rl_refill_rate=3", "rl_refill_period=10",
                   "rl_table_size=2"}));
  EXPECT_EQ(burst(limits, 1, kNow), 5);
  EXPECT_EQ(burst(limits, 1, kNow + seconds(9)), 0);
  EXPECT_EQ(burst(limits, 1, kNow + seconds(10)), 3);
  EXPECT_EQ(burst(limits, 2, kNow + seconds(10)), 5);
  EXPECT_EQ(burst(limits, 3, kNow + seconds(10)), 1000)
      << "no room for a third user, who is not limited";
  EXPECT_EQ(burst(limits, 3, kNow + seconds(1000)), 5)
      << "those whose buckets are full again need none";
}

}  // namespace
}  // namespace sluice::ctld
