// scontrol update and limits: what moves is submitted where it goes, what an operator sets is not
// held.
#include "common/model/job_update.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class UpdateTest : public AccountingTest {
 protected:
  ErrorCode update(JobId id, const JobUpdate& what, Identity who = kAnn) {
    return update(std::to_string(id), what, who);
  }
  ErrorCode update(const std::string& target, const JobUpdate& what, Identity who = kAnn) {
    const auto reply = run(UpdateJob{who, target, what});
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  static JobUpdate to_account(const char* name) {
    JobUpdate out;
    out.account = name;
    return out;
  }
  static JobUpdate to_qos(const char* name) {
    JobUpdate out;
    out.qos = name;
    return out;
  }
  static JobUpdate to_tasks(uint32_t count) {
    JobUpdate out;
    out.num_tasks = count;
    return out;
  }
  static JobUpdate to_minutes(Minutes limit) {
    JobUpdate out;
    out.time_limit = limit;
    return out;
  }
  JobId submit_for(Minutes limit, const char* account = "physics") {
    JobSpec spec = batch_spec();
    spec.time_limit = limit;
    spec.account = account;
    return submit(spec);
  }
};

TEST_F(UpdateTest, AnotherAccountHasToTakeOneMore) {
  association(kAnnChem).member.submit = 1;
  follow();
  submit_for(10, "chem");
  const JobId id = submit_for(10);
  EXPECT_EQ(update(id, to_account("chem")), ErrorCode::kMaxSubmitLimit);
  EXPECT_EQ(job(id).account->association, kAnnPhysics);
  EXPECT_EQ(update(id, to_account("physics")), ErrorCode::kOk) << "it is there";
  EXPECT_EQ(update(id, to_account("chem"), kRoot), ErrorCode::kOk) << "an operator may";
  EXPECT_EQ(held(kAnnChem).submit, 2u);
}

TEST_F(UpdateTest, WhereItIsCountedAlreadyItIsNotCountedTwice) {
  association(kRootId).group.submit = 1;
  qos(kNormal).user.submit = 1;
  follow();
  const JobId id = submit_for(10);
  EXPECT_EQ(update(id, to_account("chem")), ErrorCode::kOk);
  qos(kNormal).account.submit = 0;
  follow();
  EXPECT_EQ(update(id, to_account("physics")), ErrorCode::kMaxSubmitLimit)
      << "another account of the same QOS";
}

TEST_F(UpdateTest, AnArrayMovesWithItsTasks) {
  association(kAnnChem).member.submit = 1;
  follow();
  JobSpec spec = batch_spec();
  spec.array = "1-3";
  const std::string array = std::to_string(submit(spec));
  const auto reply = run(UpdateJob{kAnn, array, to_account("chem")});
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<protocol::CountReply>(*reply).errors,
            std::vector<std::string>{array +
                                     "_1-3: Job violates accounting/QOS policy (job submit limit, "
                                     "user's size and/or time limits)"});
  EXPECT_EQ(held(kAnnPhysics).submit, 3u);
  EXPECT_EQ(update(array + "_1", to_account("chem")), ErrorCode::kOk);
  EXPECT_EQ(update(array + "_2", to_account("chem")), ErrorCode::kMaxSubmitLimit);
  EXPECT_EQ(held(kAnnChem).submit, 1u);
  EXPECT_EQ(held(kAnnPhysics).submit, 2u);
}

TEST_F(UpdateTest, AQosThatDeniesHasToAllowAllOfTheJob) {
  qos(kHigh).flags = kQosDenyOnLimit;
  qos(kHigh).job.wall = std::chrono::minutes(20);
  qos(kHigh).job.tres = {{kTresCpu, 1}};
  follow();
  const JobId id = submit_for(30);
  EXPECT_EQ(update(id, to_qos("high")), ErrorCode::kMaxSubmitLimit);
  JobUpdate shorter = to_qos("high");
  shorter.time_limit = 20;
  JobUpdate larger = shorter;
  larger.num_tasks = 2;
  EXPECT_EQ(update(id, larger), ErrorCode::kMaxSubmitLimit);
  EXPECT_EQ(job(id).spec->num_tasks, batch_spec().num_tasks) << "nothing of it is done";
  EXPECT_EQ(update(id, shorter), ErrorCode::kOk);
  enforce({"associations", "qos"});
  EXPECT_EQ(update(submit_for(30), to_qos("high")), ErrorCode::kOk) << "no limits";
}

TEST_F(UpdateTest, WithoutATimeLimitItGetsThatOfWhereItGoes) {
  qos(kHigh).job.wall = std::chrono::minutes(20);
  follow();
  const JobId id = submit_for(0);
  EXPECT_EQ(update(id, to_qos("high")), ErrorCode::kOk);
  EXPECT_EQ(job(id).time_limit, 20u);
  EXPECT_EQ(plan(id), "starts");
}

TEST_F(UpdateTest, ThePartitionsQosIsAskedToo) {
  configure([](ClusterConfig& config) {
    config.partitions.push_back(config.partitions[0]);
    config.partitions.back().name = "narrow";
    config.partitions.back().qos = "part";
    config.partitions.back().is_default = false;
  });
  qos(kPartQos).user.submit = 0;
  follow();
  const JobId id = submit_for(10);
  JobUpdate narrow;
  narrow.partitions = "narrow";
  EXPECT_EQ(update(id, narrow), ErrorCode::kMaxSubmitLimit);
  EXPECT_EQ(update(id, narrow, kRoot), ErrorCode::kOk);
}

// Larger than its QOS allows it waits with the limit as its reason, as in Slurm.
TEST_F(UpdateTest, OfAnOperatorsValuesNoLimitHoldsTheJob) {
  qos(kNormal).flags = kQosDenyOnLimit;
  qos(kNormal).job.wall = std::chrono::minutes(20);
  qos(kNormal).job.tres = {{kTresCpu, 1}};
  association(kPhysics).group.tres = {{kTresCpu, 1}};
  follow();
  const JobId longer = submit_for(10);
  EXPECT_EQ(update(longer, to_minutes(30)), ErrorCode::kOk);
  EXPECT_EQ(plan(longer), "QOSMaxWallDurationPerJobLimit");
  EXPECT_EQ(update(longer, to_minutes(30), kRoot), ErrorCode::kOk);
  EXPECT_EQ(plan(longer), "starts");
  JobUpdate named;
  named.name = "other";
  EXPECT_EQ(update(longer, named), ErrorCode::kOk);
  EXPECT_EQ(plan(longer), "starts") << "its time is still the operator's";
  EXPECT_EQ(update(longer, to_minutes(29)), ErrorCode::kOk);
  EXPECT_EQ(plan(longer), "QOSMaxWallDurationPerJobLimit") << "it is its user's";

  const JobId larger = submit_for(10);
  EXPECT_EQ(update(larger, to_tasks(2)), ErrorCode::kOk);
  EXPECT_EQ(plan(larger), "QOSMaxCpuPerJobLimit");
  EXPECT_EQ(update(larger, to_tasks(2), kRoot), ErrorCode::kOk);
  EXPECT_EQ(plan(larger), "starts");
  EXPECT_EQ(update(larger, to_minutes(30)), ErrorCode::kOk);
  EXPECT_EQ(plan(larger), "QOSMaxWallDurationPerJobLimit") << "of its time he said nothing";
}

TEST_F(UpdateTest, WhatHasBegunKeepsItsQos) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(update(id, to_qos("high")), ErrorCode::kJobNotPending);
  EXPECT_EQ(update(id, to_qos("high"), kRoot), ErrorCode::kJobNotPending);
  EXPECT_EQ(update(id, to_qos("normal")), ErrorCode::kOk);
  EXPECT_EQ(job(id).account->qos, kNormal);
}

// A job that is held counts, and its release asks nothing.
TEST_F(UpdateTest, HoldAndReleaseChangeNoCount) {
  association(kAnnPhysics).member.submit = 1;
  follow();
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kUserHold}));
  EXPECT_EQ(held(kAnnPhysics).submit, 1u);
  EXPECT_EQ(refusal(batch_spec()).code, ErrorCode::kMaxSubmitLimit);
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kRelease}));
  EXPECT_EQ(held(kAnnPhysics).submit, 1u);
}

}  // namespace
}  // namespace sluice::state
