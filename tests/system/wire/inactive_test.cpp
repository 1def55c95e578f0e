// InactiveLimit where a client asks for an allocation and is never heard of again: stopped or
// killed before it listens.
#include <gtest/gtest.h>

#include "system/wire/cluster.hpp"

namespace sluice::testing {
namespace {

class Inactive : public ::testing::Test {
 protected:
  // As srun and salloc ask; the one with --no-shell is not attended.
  JobId allocate(bool attended) {
    protocol::SubmitJobRequest request = cluster.submission({});
    request.spec.batch = false;
    request.spec.attended = attended;
    request.environment.clear();
    const auto reply = cluster.call_as<protocol::SubmitJobReply>(kAlice, request);
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
    return reply ? reply->job : kNoJob;
  }
  bool becomes(JobId job, JobState state) {
    return WireCluster::eventually([&] { return cluster.job(job).job.state == state; });
  }

  WireCluster cluster{"InactiveLimit=3\n"};
};

TEST_F(Inactive, AClientThatNeverListensLosesItsJob) {
  const JobId alone = allocate(false);
  const JobId silent = allocate(true);
  ASSERT_TRUE(becomes(alone, JobState::kRunning));
  EXPECT_TRUE(becomes(silent, JobState::kTimeout));
  EXPECT_EQ(cluster.job(silent).job.reason, JobReason::kInactiveLimit);
  EXPECT_EQ(cluster.job(alone).job.state, JobState::kRunning);
}

// The new controller waits for the client of a job that it finds running.
TEST_F(Inactive, NorDoesARestartForgetIt) {
  const JobId silent = allocate(true);
  cluster.kill_and_restart(Server::kController);
  EXPECT_TRUE(becomes(silent, JobState::kTimeout));
  EXPECT_EQ(cluster.job(silent).job.reason, JobReason::kInactiveLimit);
}

}  // namespace
}  // namespace sluice::testing
