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
  std::vector<int> told;  // at growing distance
  std::string last;
  for (int s = 2; s <= 7860; s += 2) {
    for (const Refusal& refusal : {one, same}) {
      const auto line = log.line(refusal, kStart + seconds(s));
      if (line) told.push_back(s);
      if (line) last = *line;
    }
  }
  EXPECT_EQ(told, (std::vector{60, 660, 4260, 7860}));
  EXPECT_TRUE(last.ends_with("(3599 more were refused and not logged)")) << last;

  const Error unknown{ErrorCode::kWrongCluster, "this database does not know cluster c"};
  EXPECT_TRUE(log.line({"StoreHistory", 0, "10.0.0.7:4242", unknown}, kStart + seconds(7862)));
  EXPECT_TRUE(log.line({"StoreHistory", 0, "10.0.0.8:4242", other}, kStart + seconds(7862)));
  EXPECT_TRUE(log.line(one, kStart + seconds(7960))) << "it was let in meanwhile";

  const Error denied{ErrorCode::kAccessDenied, {}};
  for (int i = 0; i < 3; ++i)  // users' requests are each told
    EXPECT_TRUE(
        log.line({"ChangeAccounting", 1001, "10.0.0.7:4242", denied}, kStart + seconds(7960)));
}

// The bug: a node with another slurm.key filled the controller's log, a line every five seconds.
TEST(RefusalLog, WhoProvesNothingIsLoggedOnceOfEachHost) {
  using std::chrono::seconds;
  RefusalLog log({"RegisterNode"});
  const auto error = [](int age) {
    return Error{ErrorCode::kAuthentication,
                 "the token was issued " + std::to_string(age) + " s ago"};
  };
  const Error first = error(35), later = error(36), other{ErrorCode::kAuthentication, "forged"};
  EXPECT_TRUE(log.line({"RegisterNode", std::nullopt, "10.0.0.7:4242", first}, kStart));
  EXPECT_FALSE(
      log.line({"RegisterNode", std::nullopt, "10.0.0.7:4243", later}, kStart + seconds(5)));
  EXPECT_TRUE(log.line({"QueryJobs", std::nullopt, "10.0.0.7:4244", later}, kStart + seconds(5)));
  EXPECT_FALSE(log.line({"QueryJobs", std::nullopt, "10.0.0.7:4245", later}, kStart + seconds(6)));
  EXPECT_TRUE(
      log.line({"RegisterNode", std::nullopt, "10.0.0.7:4246", other}, kStart + seconds(6)));
  EXPECT_TRUE(
      log.line({"RegisterNode", std::nullopt, "10.0.0.8:4247", later}, kStart + seconds(6)));
  const auto again =
      log.line({"RegisterNode", std::nullopt, "10.0.0.7:4248", later}, kStart + seconds(60));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->ends_with("(1 more were refused and not logged)")) << *again;
}

TEST(RefusalLog, NodesOfOneHostAreToldApart) {
  RefusalLog log({"RegisterNode"}, {"RegisterNode"});
  const Error strange{ErrorCode::kWrongCluster, "the node belongs to cluster a"};
  EXPECT_EQ(log.line({"RegisterNode", 0, "10.0.0.7:4242", strange, "node n1", true}, kStart),
            "Security violation, RegisterNode RPC from uid=0 at 10.0.0.7:4242: node n1: "
            "the node belongs to cluster a");
  EXPECT_TRUE(log.line({"RegisterNode", 0, "10.0.0.7:4243", strange, "node n2", true}, kStart));
  EXPECT_FALSE(log.line({"RegisterNode", 0, "10.0.0.7:4244", strange, "node n1", true}, kStart));
  const Error port{ErrorCode::kInvalidNodeName, "node n1 is to listen on port 1"};
  const Refusal wrong{"RegisterNode", 0, "10.0.0.7:4242", port, "node n1", true};
  EXPECT_TRUE(log.line_of_change(wrong, kStart));
  EXPECT_FALSE(log.line_of_change(wrong, kStart));
}

TEST(RefusalLog, WhatLastsIsBounded) {
  RefusalLog log({"RegisterNode"});
  const Error forged{ErrorCode::kAuthentication, "forged"};
  const auto is_told = [&](int host, SteadyTime now) {
    const std::string peer = "10.0.0." + std::to_string(host) + ":4242";
    return log.line({"RegisterNode", std::nullopt, peer, forged}, now).has_value();
  };
  for (int host = 0; host < 1001; ++host)
    EXPECT_TRUE(is_told(host, kStart + std::chrono::milliseconds(50) * host)) << host;
  const SteadyTime then = kStart + std::chrono::seconds(52);
  EXPECT_FALSE(is_told(1000, then));
  EXPECT_TRUE(is_told(0, then)) << "the oldest went";
}

// The bug: a user who registered nodes that he made up filled the controller's memory with their
// names, up to 20 MiB each, and had all lines of denials for himself.
TEST(RefusalLog, OfWhatUsersMakeUpNothingIsKept) {
  RefusalLog log({"RegisterNode"});
  const Error denied{ErrorCode::kAccessDenied, {}};
  const auto is_told = [&](uint32_t uid, const std::string& subject) {
    const Refusal one{"RegisterNode", uid, "10.0.0.7:4242", denied, subject, uid == 0};
    return log.line(one, kStart).has_value();
  };
  EXPECT_TRUE(is_told(1001, "node a"));
  for (const char* other : {"node b", "node c", "JobId=1"}) EXPECT_FALSE(is_told(1001, other));
  const Error forged{ErrorCode::kInvalidCredential, {}};
  const auto is_told_of_daemon = [&](const std::string& subject) {
    return log.line({"RegisterNode", 0, "10.0.0.7:4242", forged, subject, true}, kStart)
        .has_value();
  };
  const std::string name(100, 'x');
  EXPECT_TRUE(is_told_of_daemon(name + "a"));
  EXPECT_FALSE(is_told_of_daemon(name + "b")) << "it is cut before it is kept";
}

TEST(RefusalLog, NobodyHidesDenialsOfOthers) {
  RefusalLog log;
  const Error denied{ErrorCode::kAccessDenied, {}};
  for (int i = 0; i < 100; ++i) (void)log.line({"Signal", 1001, "10.0.0.7:4242", denied}, kStart);
  EXPECT_FALSE(log.line({"UpdateNode", 1001, "10.0.0.7:4242", denied}, kStart));
  EXPECT_TRUE(log.line({"UpdateNode", 1002, "10.0.0.7:4242", denied}, kStart));
  EXPECT_TRUE(log.line({"UpdateNode", std::nullopt, "10.0.0.7:4242", denied}, kStart));
}

// The bug: a reservation that was refused as a job runs on its nodes left no line.
TEST(RefusalLog, AdministratorsChangesAreToldThoughNodesAreBusy) {
  RefusalLog log({}, {"SubmitJob", "ChangeReservation"}, {"ChangeReservation"});
  const Error busy{ErrorCode::kNodesBusy, {}};
  EXPECT_EQ(log.line_of_change({"ChangeReservation", 0, "10.0.0.7:4242", busy, {}, true}, kStart),
            "ChangeReservation RPC from uid=0 at 10.0.0.7:4242 was refused: "
            "Requested nodes are busy");
  EXPECT_FALSE(log.line_of_change({"SubmitJob", 0, "10.0.0.7:4242", busy, {}, true}, kStart));
  const Error away{ErrorCode::kRetry, {}};
  EXPECT_FALSE(
      log.line_of_change({"ChangeReservation", 0, "10.0.0.7:4242", away, {}, true}, kStart))
      << "the command asks again";
}

TEST(RefusalLog, NumbersMakeNoOtherCause) {
  EXPECT_EQ(cause_key({ErrorCode::kAuthentication, "35.1 s ago"}),
            cause_key({ErrorCode::kAuthentication, "8.25 s ago"}));
  EXPECT_NE(cause_key({ErrorCode::kAuthentication, "a"}),
            cause_key({ErrorCode::kAuthentication, "b"}));
  EXPECT_NE(cause_key({ErrorCode::kAuthentication, "a"}),
            cause_key({ErrorCode::kWrongCluster, "a"}));
}

}  // namespace
}  // namespace sluice::net
