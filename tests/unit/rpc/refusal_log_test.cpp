// What the log says of denied requests, and that a flood of them is counted only.
#include "common/rpc/refusal_log.hpp"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

constexpr SteadyTime kStart{std::chrono::hours(1)};

TEST(RefusalLog, NamesMethodUserAndHost) {
  RefusalLog log;
  const Error denied{ErrorCode::kAccessDenied, {}};
  EXPECT_EQ(log.line({"SignalJob", 1001, "10.0.0.7:4242", denied}, kStart),
            "Security violation, SignalJob RPC from uid=1001 at 10.0.0.7:4242");
  const Error forged{ErrorCode::kAuthentication, "auth/munge: the credential is invalid"};
  EXPECT_EQ(
      log.line({"SubmitJob", std::nullopt, "10.0.0.7:4243", forged}, kStart),
      "authentication of SubmitJob RPC from 10.0.0.7:4243 failed: auth/munge: the credential is invalid");
}

TEST(RefusalLog, OnlyDenialsAreWorthALine) {
  for (const ErrorCode code : {ErrorCode::kAccessDenied, ErrorCode::kAuthentication,
                               ErrorCode::kInvalidUser, ErrorCode::kWrongCluster}) {
    EXPECT_TRUE(is_denial(code));
  }
  for (const ErrorCode code : {ErrorCode::kInvalidJobId, ErrorCode::kRetry,
                               ErrorCode::kPartitionAccess, ErrorCode::kTimedOut}) {
    EXPECT_FALSE(is_denial(code));
  }
}

// The bug: what users were refused left no line, unless they had no right to it.
TEST(RefusalLog, RefusedChangesAreToldWithWhatWasWrong) {
  RefusalLog log({}, {"SubmitJob", "UpdateJob"});
  const Error group{ErrorCode::kPartitionAccess, {}};
  EXPECT_EQ(log.line_of_change({"SubmitJob", 1001, "10.0.0.7:4242", group}, kStart),
            "SubmitJob RPC from uid=1001 at 10.0.0.7:4242 was refused: "
            "User's group not permitted to use this partition");
  const Error unknown{ErrorCode::kInvalidJobId, {}};
  EXPECT_EQ(
      log.line_of_change({"UpdateJob", 0, "10.0.0.7:4242", unknown, "JobId=77", true}, kStart),
      "UpdateJob RPC from uid=0 at 10.0.0.7:4242 was refused: JobId=77: "
      "Invalid job id specified");
  const Error evil{ErrorCode::kError, "a\nb"};
  EXPECT_EQ(log.line_of_change({"SubmitJob", 1, "h:1", evil}, kStart)->find('\n'),
            std::string::npos);
}

TEST(RefusalLog, QuestionsAndWhatIsAskedAgainAreNoRefusedChanges) {
  RefusalLog log({}, {"SubmitJob"});
  const Error unknown{ErrorCode::kInvalidJobId, {}};
  EXPECT_FALSE(log.line_of_change({"QueryJobs", 1001, "10.0.0.7:4242", unknown}, kStart));
  for (const ErrorCode code : {ErrorCode::kRetry, ErrorCode::kNodesBusy, ErrorCode::kAlreadyDone}) {
    const Error passing{code, {}};
    EXPECT_FALSE(log.line_of_change({"SubmitJob", 1001, "10.0.0.7:4242", passing}, kStart));
  }
}

TEST(RefusalLog, ManyMistakesHideNoDenial) {
  RefusalLog log({}, {"SubmitJob"});
  const Error wrong{ErrorCode::kInvalidQos, {}};
  size_t lines = 0;
  for (int i = 0; i < 1000; ++i)
    lines += log.line_of_change({"SubmitJob", 1001, "10.0.0.7:4242", wrong}, kStart) ? 1 : 0;
  EXPECT_EQ(lines, 20U);
  const Error denied{ErrorCode::kAccessDenied, {}};
  EXPECT_TRUE(log.line({"SubmitJob", 1001, "10.0.0.7:4242", denied}, kStart));
}

TEST(RefusalLog, NamesTheJob) {
  RefusalLog log;
  const Error denied{ErrorCode::kAccessDenied, {}};
  EXPECT_EQ(log.line({"Signal", 1001, "10.0.0.7:4242", denied, "JobId=17"}, kStart),
            "Security violation, Signal RPC from uid=1001 at 10.0.0.7:4242: JobId=17");
  const Error told{ErrorCode::kAccessDenied, "not yours"};
  EXPECT_EQ(log.line({"Signal", 1001, "10.0.0.7:4242", told, "JobId=1\n7"}, kStart)->find('\n'),
            std::string::npos);
}

TEST(RefusalLog, AMistypedUserIsNoViolationByAnAdministrator) {
  RefusalLog log;
  const Error unknown{ErrorCode::kInvalidUser, {}};
  for (const uint32_t uid : {0U, 64030U}) {
    for (const ErrorCode code : {ErrorCode::kInvalidUser, ErrorCode::kAccessDenied}) {
      const Error mistyped{code, "Invalid user id"};
      EXPECT_FALSE(
          log.line({"ChangeReservation", uid, "10.0.0.7:4242", mistyped, {}, true}, kStart));
    }
  }
  EXPECT_TRUE(log.line({"ChangeReservation", 1001, "10.0.0.7:4242", unknown}, kStart));
  const Error forged{ErrorCode::kInvalidCredential, {}};
  EXPECT_TRUE(log.line({"ChangeReservation", 0, "10.0.0.7:4242", forged, {}, true}, kStart));
}

TEST(RefusalLog, AFloodIsCounted) {
  RefusalLog log;
  const Error denied{ErrorCode::kAccessDenied, {}};
  const Refusal one{"SignalJob", 1001, "10.0.0.7:4242", denied};
  size_t lines = 0;
  for (int i = 0; i < 1000; ++i) lines += log.line(one, kStart) ? 1 : 0;
  EXPECT_EQ(lines, 20U);
  const auto next = log.line(one, kStart + std::chrono::seconds(1));
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->ends_with("(980 more were refused and not logged)")) << *next;
  EXPECT_FALSE(log.line(one, kStart + std::chrono::seconds(2))->ends_with("logged)"));
}

// The bug: a controller that the accounting daemon does not let in filled its log, a line or two
// every two seconds.
TEST(RefusalLog, WhatADaemonRepeatsIsLoggedOnceUntilItIsAnother) {
  using std::chrono::seconds;
  RefusalLog log({"StoreHistory", "QueryAccountingRecords"});
  const Error other{ErrorCode::kWrongCluster, "cluster c is another controller's"};
  const Refusal one{"StoreHistory", 0, "10.0.0.7:4242", other};
  const Refusal same{"QueryAccountingRecords", 0, "10.0.0.7:4243", other};
  EXPECT_TRUE(log.line(one, kStart));
  for (int s = 2; s < 3600; s += 2) {
    EXPECT_FALSE(log.line(one, kStart + seconds(s)));
    EXPECT_FALSE(log.line(same, kStart + seconds(s)));
  }
  const auto hourly = log.line(same, kStart + seconds(3600));
  ASSERT_TRUE(hourly);
  EXPECT_TRUE(hourly->ends_with("(3598 more were refused and not logged)")) << *hourly;
  EXPECT_FALSE(log.line(one, kStart + seconds(3602)));

  const Error unknown{ErrorCode::kWrongCluster, "this database does not know cluster c"};
  EXPECT_TRUE(log.line({"StoreHistory", 0, "10.0.0.7:4242", unknown}, kStart + seconds(3602)));
  EXPECT_TRUE(log.line({"StoreHistory", 0, "10.0.0.8:4242", other}, kStart + seconds(3602)));
  EXPECT_TRUE(log.line(one, kStart + seconds(3700))) << "it was let in meanwhile";

  const Error denied{ErrorCode::kAccessDenied, {}};
  for (int i = 0; i < 3; ++i)  // users' requests are each told
    EXPECT_TRUE(
        log.line({"ChangeAccounting", 1001, "10.0.0.7:4242", denied}, kStart + seconds(3700)));
}

}  // namespace
}  // namespace sluice::net
