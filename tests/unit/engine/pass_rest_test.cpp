// How often there is a pass while jobs come.
#include "ctld/engine/pass_rest.hpp"

#include <gtest/gtest.h>

#include "common/model/reservation.hpp"

namespace sluice::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

ClusterConfig with(std::vector<std::string> parameters) {
  ClusterConfig config;
  config.scheduler_parameters = std::move(parameters);
  return config;
}
sched::Plan one_start() {
  sched::Plan plan;
  plan.starts.emplace_back();
  return plan;
}

TEST(PassRest, SubmissionsThatFindNoRoomGetATenthOfTheTime) {
  const PassRest rest = rest_after({}, milliseconds(10), {});
  EXPECT_EQ(rest.before_next(true), milliseconds(90));
  EXPECT_EQ(rest.before_next(false), Duration(0)) << "something ended, or came back";
  EXPECT_EQ(rest_after({}, seconds(2), {}).before_next(true), milliseconds(500))
      << "and no job waits longer than that";
}

TEST(PassRest, NobodyWaitsWhileJobsFindRoom) {
  EXPECT_EQ(rest_after(one_start(), milliseconds(10), {}).before_next(true), Duration(0));
  sched::Plan preempts;
  preempts.preemptions.emplace_back();
  EXPECT_EQ(rest_after(preempts, milliseconds(10), {}).before_next(true), Duration(0));
}

TEST(PassRest, SchedMinIntervalHoldsForAll) {
  const ClusterConfig config = with({"sched_min_interval=2000000"});
  EXPECT_EQ(rest_after(one_start(), microseconds(5), config).before_next(false), seconds(2));
  EXPECT_EQ(rest_after({}, microseconds(5), config).before_next(true), seconds(2));
}

TEST(PassRest, DeferGathersSubmissions) {
  const ClusterConfig config = with({"defer"});
  EXPECT_EQ(rest_after(one_start(), microseconds(5), config).before_next(true), seconds(1));
  EXPECT_EQ(rest_after(one_start(), microseconds(5), config).before_next(false), Duration(0));
}

TEST(PassRest, DefaultQueueDepthBoundsAllButThePassesOverAll) {
  const ClusterConfig config = with({"default_queue_depth=100"});
  EXPECT_EQ(budget_of_pass(config, false).most_jobs, 100U);
  EXPECT_EQ(budget_of_pass(config, true).most_jobs, UINT32_MAX);
  EXPECT_EQ(budget_of_pass({}, false).most_jobs, UINT32_MAX) << "only where it is set";
}

TEST(PassRest, DepthsAndLimitsThatAreAskedFor) {
  const ClusterConfig config = with({"partition_job_depth=7", "assoc_limit_stop"});
  EXPECT_EQ(budget_of_pass(config, false).most_of_partition, 7U);
  EXPECT_EQ(budget_of_pass(config, true).most_of_partition, UINT32_MAX);
  EXPECT_TRUE(budget_of_pass(config, true).limits_stop);
  EXPECT_FALSE(budget_of_pass({}, true).limits_stop);
  EXPECT_EQ(budget_of_pass(with({"bf_max_job_assoc=3"}), true).backfill.most_of_association, 3U);
}

TEST(PassRest, SchedIntervalIsHowLongItWaitsForNews) {
  EXPECT_EQ(longest_wait({}, seconds(30)), seconds(30));
  EXPECT_EQ(longest_wait(with({"sched_interval=5"}), seconds(30)), seconds(5));
  EXPECT_GT(longest_wait(with({"sched_interval=-1"}), seconds(30)), std::chrono::hours(1));
  EXPECT_EQ(longest_wait(with({"sched_interval=soon"}), seconds(30)), seconds(30));
}

TEST(PassRest, TheBeginAndTheEndOfAReservationArePassesOfTheirOwn) {
  const Time now{seconds(1000)};
  Reservation one, floats;
  one.start = now + seconds(20);
  one.end = now + seconds(60);
  floats.flags = kReservationTimeFloat;
  floats.start = Time(seconds(1005));
  floats.end = Time(seconds(1006));
  state::ClusterState state;
  state.reservations = std::make_shared<const Reservations>(Reservations{floats, one});
  EXPECT_EQ(next_pass_due({}, state, now), one.start);
  EXPECT_EQ(next_pass_due({}, state, one.start), one.end);
  EXPECT_EQ(next_pass_due({}, state, one.end), kNever);
  sched::Plan plan;
  plan.again = now + seconds(3);
  EXPECT_EQ(next_pass_due(plan, state, now), plan.again) << "whichever is first";
}

}  // namespace
}  // namespace sluice::engine
