// Accounting at submission: defaults that are filled in, who is refused, limits of what may wait.
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

TEST_F(AccountingTest, ADefaultAccountAndQosAreFilledIn) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(job(id).spec->account.view(), "physics");
  EXPECT_EQ(job(id).spec->qos.view(), "normal");
  ASSERT_NE(job(id).account, nullptr);
  EXPECT_EQ(job(id).account->association, kAnnPhysics);
  EXPECT_EQ(job(id).account->qos, kNormal);
  JobSpec chem = batch_spec();
  chem.account = "CHEM";
  chem.qos = "High";
  const JobId other = submit(chem);
  EXPECT_EQ(job(other).account->association, kAnnChem);
  EXPECT_EQ(job(other).spec->account.view(), "chem");
  EXPECT_EQ(job(other).account->qos, kHigh);
}

TEST_F(AccountingTest, WhoHasNoAssociationIsRefused) {
  JobSpec spec = batch_spec();
  spec.account = "biology";
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidAccount);
  spec.account = "";
  spec.user_name = "carol";
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidAccount);
  enforce({});
  EXPECT_EQ(job(submit(spec)).account->association, 0u) << "nobody asks";
}

TEST_F(AccountingTest, QosThatTheAssociationDoesNotHave) {
  JobSpec spec = batch_spec();
  spec.qos = "part";
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidQos);
  spec.qos = "nothing";
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidQos);
  enforce({"associations"});
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidQos) << "there is none of the name";
  spec.qos = "part";
  EXPECT_NE(submit(spec), kNoJob);
  enforce({"associations", "qos"});
  association(kAnnPhysics).default_qos = kHigh;
  qos(kHigh).flags = kQosRequiresReservation;
  follow();
  EXPECT_EQ(refusal(batch_spec()).code, ErrorCode::kInvalidQos);
}

TEST_F(AccountingTest, AnAssociationOfOnePartition) {
  AssociationRecord debug = sluice::state::association(7, kPhysics, "physics", "ann");
  debug.partition = "debug";
  site_.associations.push_back(debug);
  follow();
  EXPECT_EQ(job(submit(batch_spec())).account->association, 7u);
}

TEST_F(AccountingTest, Wckeys) {
  enforce({"associations", "wckeys"});
  configure([](ClusterConfig& config) { config.track_wckey = true; });
  EXPECT_TRUE(job(submit(batch_spec())).spec->wckey.empty()) << "she has none";
  site_.wckeys = {{1, "test", "ann", "paper", true}};
  site_.users[0].default_wckey = "paper";
  follow();
  EXPECT_EQ(job(submit(batch_spec())).spec->wckey.view(), "*paper");
  JobSpec spec = batch_spec();
  for (const char* other : {"thesis", "*"}) {
    spec.wckey = other;
    EXPECT_EQ(refusal(spec).text, "Invalid wckey specification") << other;
  }
}

// sbatch -A "$UNSET": it was charged to the default account.
TEST_F(AccountingTest, AnEmptyAccountIsNone) {
  JobSpec spec = batch_spec();
  spec.account = kNoAccount;
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidAccount);
}

TEST_F(AccountingTest, AnEmptyQosIsNone) {
  JobSpec spec = batch_spec();
  spec.qos = kNoQos;
  EXPECT_EQ(refusal(spec).code, ErrorCode::kInvalidQos);
}

// The bug: they were refused without EnforcePartLimits, too.
TEST_F(AccountingTest, JobsOfOtherAccountsAndQosWait) {
  configure([](ClusterConfig& config) { config.partitions[0].allow_accounts = {"chem"}; });
  EXPECT_EQ(plan(submit(batch_spec())), "AccountNotAllowed");
  configure([](ClusterConfig& config) {
    config.partitions[0].allow_accounts = {};
    config.partitions[0].deny_qos = {"normal"};
  });
  EXPECT_EQ(plan(submit(batch_spec())), "QOSNotAllowed");
}

TEST_F(AccountingTest, SubmitLimitsRefuseWithTheirName) {
  association(kAnnPhysics).member.submit = 1;
  follow();
  submit(batch_spec());
  const Error error = refusal(batch_spec());
  EXPECT_EQ(error.code, ErrorCode::kMaxSubmitLimit);
  EXPECT_EQ(error.text, "AssocMaxSubmitJobLimit");
  qos(kHigh).flags = kQosDenyOnLimit;
  qos(kHigh).job.wall = std::chrono::minutes(10);
  qos(kHigh).user.submit = 100;
  follow();
  JobSpec spec = batch_spec();
  spec.qos = "high";
  spec.time_limit = 11;
  EXPECT_EQ(refusal(spec).text, "QOSMaxWallDurationPerJobLimit");
}

// The bug: only the first partition's QOS was asked.
TEST_F(AccountingTest, AQosOfAnyPartitionRefuses) {
  configure([](ClusterConfig& config) {
    config.partitions.push_back(config.partitions[0]);
    config.partitions[1].name = "small";
    config.partitions[1].is_default = false;
    config.partitions[1].qos = "high";
  });
  qos(kHigh).flags = kQosDenyOnLimit;
  qos(kHigh).job.wall = std::chrono::minutes(10);
  follow();
  JobSpec spec = batch_spec();
  spec.time_limit = 11;
  for (const char* partitions : {"small", "small,debug", "debug,small"}) {
    spec.partitions = partitions;
    EXPECT_EQ(refusal(spec).text, "QOSMaxWallDurationPerJobLimit") << partitions;
  }
  spec.time_limit = 0;
  spec.partitions = "debug,small";
  EXPECT_NE(submit(spec), 0U) << "it takes the limit of the first that has one";
}

// The bug: minutes and what is on a node were looked at when the job was to start only.
TEST_F(AccountingTest, WhatNoNodeAndNoMinutesAreEnoughForIsRefused) {
  qos(kHigh).flags = kQosDenyOnLimit;
  qos(kHigh).job.tres_node = {{kTresCpu, 3}};
  follow();
  JobSpec spec = batch_spec();
  spec.qos = "high";
  spec.num_tasks = spec.min_nodes = 2;
  spec.cpus_per_task = 3;
  EXPECT_NE(submit(spec), kNoJob);
  spec.cpus_per_task = 4;
  EXPECT_EQ(refusal(spec).text, "QOSMaxCpuPerNode");
  qos(kHigh).job.tres_node.clear();
  qos(kHigh).group.tres_mins = {{kTresCpu, 80}};
  follow();
  spec.time_limit = 10;
  EXPECT_NE(submit(spec), kNoJob);
  spec.time_limit = 11;
  EXPECT_EQ(refusal(spec).text, "QOSGrpCPUMinutesLimit");
}

// The bug: each component was looked at by itself.
TEST_F(AccountingTest, ComponentsAreDeniedForWhatTheyAskForTogether) {
  qos(kHigh).flags = kQosDenyOnLimit;
  JobSpec spec = batch_spec();
  spec.uid = kAnn.uid;
  spec.qos = "high";
  spec.num_tasks = 2;
  spec.time_limit = 10;
  const auto answer = [&] {
    follow();
    SubmitJob command{kAnn, spec, {"users"}};
    command.components = {spec};
    const auto reply = run(command);
    return reply ? std::string() : reply.error().text;
  };
  qos(kHigh).group.tres = {{kTresCpu, 4}};
  EXPECT_EQ(answer(), "");
  qos(kHigh).group.tres = {{kTresCpu, 3}};
  EXPECT_EQ(answer(), "QOSGrpCpuLimit");
  qos(kHigh).group.tres.clear();
  qos(kHigh).job.tres = {{kTresCpu, 3}};
  EXPECT_EQ(answer(), "QOSMaxCpuPerJobLimit");
  qos(kHigh).job.tres.clear();
  association(kPhysics).group.tres_mins = {{kTresCpu, 39}};
  EXPECT_EQ(answer(), "AssocGrpCPUMinutesLimit");
  qos(kHigh).flags = 0;
  EXPECT_EQ(answer(), "") << "it waits";
}

TEST_F(AccountingTest, WithoutATimeLimitItIsThatOfTheQos) {
  qos(kNormal).job.wall = std::chrono::minutes(90);
  follow();
  EXPECT_EQ(job(submit(batch_spec())).time_limit, 90u);
  configure([](ClusterConfig& config) { config.partitions[0].default_time = 30; });
  EXPECT_EQ(job(submit(batch_spec())).time_limit, 30u);
}

}  // namespace
}  // namespace sluice::state
