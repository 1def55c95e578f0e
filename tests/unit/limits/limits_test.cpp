// Each limit of associations and QOS, and the reason that it gives.
#include <functional>
#include <string>

#include "common/names/job_states.hpp"
#include "unit/limits/accounting_world.hpp"

namespace sluice::state {
namespace {

constexpr Time kNow = from_seconds(1'000'000);

// Physics' ann has a job that runs: 4 CPUs, 1000 MB, 1 node, 4 billing, 2 GPUs, 1 licence; an hour
// of it is over, another one is left.
class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    account_ = {kAnnPhysics, kNormal, 0};
    job_.account = &account_;
    job_.uid = kAnnUid;
    job_.account_name = "physics";
    job_.tres = tres_;
    job_.tres_of_node = tres_of_node_;
    job_.allocation = other_node_.get();
    job_.time_limit = 60;
  }

  AssociationRecord& association(AssociationId id) {
    for (AssociationRecord& one : site_.associations) {
      if (one.id == id) return one;
    }
    throw std::out_of_range("association");
  }
  QosRecord& qos(QosId id) { return site_.qos.at(id - 1); }

  static std::shared_ptr<const Allocation> on_node(NodeId node) {
    auto allocation = std::make_shared<Allocation>();
    allocation->nodes.resize(1);
    allocation->nodes[0].node = node;
    return allocation;
  }
  Counted running() const {
    Counted counted;
    counted.account = std::make_shared<JobAccount>(account_);
    auto charge = std::make_shared<JobCharge>();
    charge->tres = {{kTresCpu, 4}, {kTresMem, 1000}, {kTresNode, 1}, {kTresBilling, 4},
                    {kGpu, 2},     {kMatlab, 1},     {kBurst, 10}};
    charge->billing_micro = 4 * kMicro;
    counted.charge = charge;
    counted.allocation = on_node(1);
    counted.uid = kAnnUid;
    counted.account_name = "physics";
    counted.jobs = counted.submit = 1;
    counted.since = kNow - std::chrono::hours(1);
    counted.end = kNow + std::chrono::hours(1);
    counted.is_charged = true;
    return counted;
  }

  std::string reason() {
    Accounting accounting = accounting_of(site_);
    hold(accounting.held, accounting, running());
    const auto found = start_limit(accounting, accounting.held, job_, rules_, kNow);
    return found ? std::string(reason_text(*found)) : "";
  }
  std::string refusal() {
    Accounting accounting = accounting_of(site_);
    hold(accounting.held, accounting, running());
    const auto found = submit_limit(accounting, accounting.held, job_, kNow);
    return found ? std::string(reason_text(*found)) : "";
  }
  // Just enough, and one less.
  void expect(const std::string& name, TresAmounts& limits, TresId tres, uint64_t enough) {
    limits = {{tres, enough}};
    EXPECT_EQ(reason(), "") << name << " " << enough;
    limits = {{tres, enough - 1}};
    EXPECT_EQ(reason(), name);
    limits.clear();
  }

  AccountingRecords site_ = small_site();
  JobAccount account_;
  TresAmounts tres_{{kTresCpu, 2}, {kTresMem, 500}, {kTresNode, 1}, {kTresBilling, 2},
                    {kGpu, 1},     {kMatlab, 1},    {kBurst, 10}};
  TresAmounts tres_of_node_{{kTresCpu, 2}, {kTresMem, 500}, {kGpu, 1}};
  std::shared_ptr<const Allocation> other_node_ = on_node(2);
  LimitedJob job_;
  LimitRules rules_;
};

TEST_F(LimitsTest, NoneIsNone) { EXPECT_EQ(reason(), ""); }

TEST_F(LimitsTest, GrpTresOfAssociations) {
  for (const AssociationId id : {kAnnPhysics, kPhysics, kRootId}) {
    TresAmounts& limits = association(id).group.tres;
    expect("AssocGrpCpuLimit", limits, kTresCpu, 6);
    expect("AssocGrpMemLimit", limits, kTresMem, 1500);
    expect("AssocGrpNodeLimit", limits, kTresNode, 2);
    expect("AssocGrpBilling", limits, kTresBilling, 6);
    expect("AssocGrpGRES", limits, kGpu, 3);
    expect("AssocGrpLicense", limits, kMatlab, 2);
    expect("AssocGrpBB", limits, kBurst, 20);
  }
  association(kChem).group.tres = {{kTresCpu, 0}};
  EXPECT_EQ(reason(), "") << "it is another account's";
}

TEST_F(LimitsTest, ANodeCountsOnceHoweverManyJobsAreOnIt) {
  const auto same = on_node(1);
  job_.allocation = same.get();
  expect("AssocGrpNodeLimit", association(kPhysics).group.tres, kTresNode, 1);
  expect("QOSGrpNodeLimit", qos(kNormal).group.tres, kTresNode, 1);
  expect("QOSMaxNodePerUserLimit", qos(kNormal).user.tres, kTresNode, 1);
  expect("MaxNodePerAccount", qos(kNormal).account.tres, kTresNode, 1);
}

TEST_F(LimitsTest, BeforeNodesAreChosenTheyMayBeThoseThatAreUsed) {
  job_.allocation = nullptr;
  expect("AssocGrpNodeLimit", association(kPhysics).group.tres, kTresNode, 1);
  job_.on_fresh_nodes = true;
  expect("AssocGrpNodeLimit", association(kPhysics).group.tres, kTresNode, 2);
}

TEST(NodeCountsTest, ANodeIsHeldUntilItsLastJobIsOver) {
  const auto same = [](NodeId node) { return node; };
  NodeCounts counts;
  counts.add(std::vector<NodeId>{3, 64, 70}, same);
  counts.add(std::vector<NodeId>{70, 9000}, same);
  const NodeCounts before = counts;
  EXPECT_EQ(counts.size(), 4);
  counts.take(std::vector<NodeId>{3, 64, 70}, same);
  EXPECT_EQ(counts.size(), 2);
  EXPECT_TRUE(counts.contains(70) && counts.contains(9000) && !counts.contains(64));
  EXPECT_EQ(before.size(), 4) << "a copy keeps what it had";
  counts.take(std::vector<NodeId>{70, 9000}, same);
  EXPECT_EQ(counts, NodeCounts());
}

TEST_F(LimitsTest, GrpTresOfQos) {
  TresAmounts& limits = qos(kNormal).group.tres;
  expect("QOSGrpCpuLimit", limits, kTresCpu, 6);
  expect("QOSGrpMemLimit", limits, kTresMem, 1500);
  expect("QOSGrpNodeLimit", limits, kTresNode, 2);
  expect("QOSGrpBilling", limits, kTresBilling, 6);
  expect("QOSGrpGRES", limits, kGpu, 3);
  expect("QOSGrpLicense", limits, kMatlab, 2);
  expect("QOSGrpBB", limits, kBurst, 20);
}

// 4 CPUs for an hour are 240 minutes used, and as many are still to come.
TEST_F(LimitsTest, GrpTresMins) {
  TresAmounts& limits = association(kPhysics).group.tres_mins;
  expect("AssocGrpCPUMinutesLimit", limits, kTresCpu, 241);
  expect("AssocGrpMemMinutes", limits, kTresMem, 60'001);
  expect("AssocGrpNodeMinutes", limits, kTresNode, 61);
  expect("AssocGrpBillingMinutes", limits, kTresBilling, 241);
  expect("AssocGrpGRESMinutes", limits, kGpu, 121);
  expect("AssocGrpLicenseMinutes", limits, kMatlab, 61);
  TresAmounts& of_qos = qos(kNormal).group.tres_mins;
  expect("QOSGrpCPUMinutesLimit", of_qos, kTresCpu, 241);
  expect("QOSGrpMemoryMinutes", of_qos, kTresMem, 60'001);
  expect("QOSGrpNodeMinutes", of_qos, kTresNode, 61);
  expect("QOSGrpGRESMinutes", of_qos, kGpu, 121);
  rules_.safe = true;  // 240 used, 240 of the running job, 120 of this one
  expect("AssocGrpCPUMinutesLimit", limits, kTresCpu, 600);
  expect("QOSGrpCPUMinutesLimit", of_qos, kTresCpu, 600);
  qos(kNormal).flags = kQosUsageFactorSafe;
  qos(kNormal).usage_factor = 2;
  expect("QOSGrpCPUMinutesLimit", of_qos, kTresCpu, 720);
}

TEST_F(LimitsTest, GrpTresRunMins) {
  TresAmounts& limits = association(kRootId).group.tres_run_mins;
  expect("AssocGrpCPURunMinutesLimit", limits, kTresCpu, 360);
  expect("AssocGrpMemRunMinutes", limits, kTresMem, 90'000);
  expect("AssocGrpNodeRunMinutes", limits, kTresNode, 120);
  expect("AssocGrpBillingRunMinutes", limits, kTresBilling, 360);
  expect("AssocGrpGRESRunMinutes", limits, kGpu, 180);
  TresAmounts& of_qos = qos(kNormal).group.tres_run_mins;
  expect("QOSGrpCPURunMinutesLimit", of_qos, kTresCpu, 360);
  expect("QOSGrpMemoryRunMinutes", of_qos, kTresMem, 90'000);
  expect("QOSGrpNodeRunMinutes", of_qos, kTresNode, 120);
}

TEST_F(LimitsTest, MaxTresOfAJob) {
  TresAmounts& limits = association(kAnnPhysics).job.tres;
  expect("AssocMaxCpuPerJobLimit", limits, kTresCpu, 2);
  expect("AssocMaxMemPerJob", limits, kTresMem, 500);
  expect("AssocMaxNodePerJobLimit", limits, kTresNode, 1);
  expect("AssocMaxBillingPerJob", limits, kTresBilling, 2);
  expect("AssocMaxGRESPerJob", limits, kGpu, 1);
  expect("AssocMaxLicensePerJob", limits, kMatlab, 1);
  TresAmounts& of_qos = qos(kNormal).job.tres;
  expect("QOSMaxCpuPerJobLimit", of_qos, kTresCpu, 2);
  expect("QOSMaxMemoryPerJob", of_qos, kTresMem, 500);
  expect("QOSMaxNodePerJobLimit", of_qos, kTresNode, 1);
  expect("QOSMaxBillingPerJob", of_qos, kTresBilling, 2);
  expect("QOSMaxGRESPerJob", of_qos, kGpu, 1);
  expect("QOSMaxLicensePerJob", of_qos, kMatlab, 1);
}

TEST_F(LimitsTest, MaxLimitsAreInheritedAndTheNearestCounts) {
  expect("AssocMaxCpuPerJobLimit", association(kPhysics).job.tres, kTresCpu, 2);
  expect("AssocMaxCpuPerJobLimit", association(kRootId).job.tres, kTresCpu, 2);
  association(kRootId).job.tres = {{kTresCpu, 1}};
  association(kAnnPhysics).job.tres = {{kTresCpu, 8}};
  EXPECT_EQ(reason(), "");
  association(kRootId).member.jobs = 1;
  EXPECT_EQ(reason(), "AssocMaxJobsLimit");
  association(kPhysics).member.jobs = 2;
  EXPECT_EQ(reason(), "");
}

TEST_F(LimitsTest, MaxTresOfANode) {
  TresAmounts& limits = association(kAnnPhysics).job.tres_node;
  expect("AssocMaxCpuPerNode", limits, kTresCpu, 2);
  expect("AssocMaxMemPerNode", limits, kTresMem, 500);
  expect("AssocMaxGRESPerNode", limits, kGpu, 1);
  TresAmounts& of_qos = qos(kNormal).job.tres_node;
  expect("QOSMaxCpuPerNode", of_qos, kTresCpu, 2);
  expect("QOSMaxMemoryPerNode", of_qos, kTresMem, 500);
  expect("QOSMaxGRESPerNode", of_qos, kGpu, 1);
}

TEST_F(LimitsTest, MaxTresMinsOfAJob) {
  TresAmounts& limits = association(kAnnPhysics).job.tres_mins;
  expect("AssocMaxCpuMinutesPerJobLimit", limits, kTresCpu, 120);
  expect("AssocMaxMemMinutesPerJob", limits, kTresMem, 30'000);
  expect("AssocMaxNodeMinutesPerJob", limits, kTresNode, 60);
  expect("AssocMaxGRESMinutesPerJob", limits, kGpu, 60);
  TresAmounts& of_qos = qos(kNormal).job.tres_mins;
  expect("QOSMaxCpuMinutesPerJobLimit", of_qos, kTresCpu, 120);
  expect("QOSMaxMemoryMinutesPerJob", of_qos, kTresMem, 30'000);
  expect("QOSMaxNodeMinutesPerJob", of_qos, kTresNode, 60);
}

TEST_F(LimitsTest, OfOneUserAndOneAccountInAQos) {
  TresAmounts& user = qos(kNormal).user.tres;
  expect("QOSMaxCpuPerUserLimit", user, kTresCpu, 6);
  expect("QOSMaxMemoryPerUser", user, kTresMem, 1500);
  expect("QOSMaxNodePerUserLimit", user, kTresNode, 2);
  expect("QOSMaxBillingPerUser", user, kTresBilling, 6);
  expect("QOSMaxGRESPerUser", user, kGpu, 3);
  expect("QOSMaxLicensePerUser", user, kMatlab, 2);
  TresAmounts& account = qos(kNormal).account.tres;
  expect("MaxCpuPerAccount", account, kTresCpu, 6);
  expect("MaxMemoryPerAccount", account, kTresMem, 1500);
  expect("MaxNodePerAccount", account, kTresNode, 2);
  expect("MaxBillingPerAccount", account, kTresBilling, 6);
  expect("MaxGRESPerAccount", account, kGpu, 3);
  expect("MaxLicensePerAccount", account, kMatlab, 2);
  expect("MaxCpuRunMinsPerUser", qos(kNormal).user.tres_run_mins, kTresCpu, 360);
  expect("MaxMemoryRunMinsPerUser", qos(kNormal).user.tres_run_mins, kTresMem, 90'000);
  expect("MaxCpuRunMinsPerAccount", qos(kNormal).account.tres_run_mins, kTresCpu, 360);
  qos(kNormal).user.tres = {{kTresCpu, 5}};
  job_.uid = kBobUid;
  EXPECT_EQ(reason(), "") << "bob holds nothing";
  qos(kNormal).user.tres = {};
  qos(kNormal).account.tres = {{kTresCpu, 5}};
  EXPECT_EQ(reason(), "MaxCpuPerAccount") << "his account does";
}

TEST_F(LimitsTest, MinTres) {
  TresAmounts& least = qos(kNormal).job.min_tres;
  least = {{kTresCpu, 2}};
  EXPECT_EQ(reason(), "");
  const auto asks = [&](TresId tres, uint64_t count) {
    least = {{tres, count}};
    return reason();
  };
  EXPECT_EQ(asks(kTresCpu, 3), "QOSMinCpuNotSatisfied");
  EXPECT_EQ(asks(kTresMem, 501), "QOSMinMemory");
  EXPECT_EQ(asks(kTresNode, 2), "QOSMinNode");
  EXPECT_EQ(asks(kTresBilling, 3), "QOSMinBilling");
  EXPECT_EQ(asks(kGpu, 2), "QOSMinGRES");
  EXPECT_EQ(asks(kMatlab, 2), "QOSMinLicense");
}

TEST_F(LimitsTest, CountsOfJobs) {
  const auto with = [&](std::optional<uint32_t>& limit, uint32_t value) {
    limit = value;
    std::string found = reason();
    limit.reset();
    return found;
  };
  EXPECT_EQ(with(association(kPhysics).group.jobs, 1), "AssocGrpJobsLimit");
  EXPECT_EQ(with(association(kPhysics).group.jobs, 2), "");
  EXPECT_EQ(with(association(kAnnPhysics).member.jobs, 1), "AssocMaxJobsLimit");
  EXPECT_EQ(with(association(kAnnPhysics).member.jobs, 2), "");
  EXPECT_EQ(with(qos(kNormal).group.jobs, 1), "QOSGrpJobsLimit");
  EXPECT_EQ(with(qos(kNormal).user.jobs, 1), "QOSMaxJobsPerUserLimit");
  EXPECT_EQ(with(qos(kNormal).account.jobs, 1), "MaxJobsPerAccount");
  EXPECT_EQ(with(qos(kNormal).account.jobs, 0), "MaxJobsPerAccount") << "0 is a limit";
}

TEST_F(LimitsTest, Wall) {
  association(kPhysics).group.wall = std::chrono::hours(1);
  EXPECT_EQ(reason(), "AssocGrpWallLimit");
  association(kPhysics).group.wall = std::chrono::minutes(61);
  EXPECT_EQ(reason(), "");
  qos(kNormal).group.wall = std::chrono::hours(1);
  EXPECT_EQ(reason(), "QOSGrpWallLimit");
  qos(kNormal).group.wall.reset();
  association(kAnnPhysics).job.wall = std::chrono::minutes(59);
  EXPECT_EQ(reason(), "AssocMaxWallDurationPerJobLimit");
  qos(kNormal).job.wall = std::chrono::minutes(60);
  EXPECT_EQ(reason(), "") << "the QOS says otherwise";
  qos(kNormal).job.wall = std::chrono::minutes(59);
  EXPECT_EQ(reason(), "QOSMaxWallDurationPerJobLimit");
}

// AccountingStorageEnforce=safe: what was used, in whole minutes, and what the job may run for.
TEST_F(LimitsTest, WallThatIsLeftIsEnoughForAJob) {
  rules_.safe = true;
  association(kRootId).group.wall = std::chrono::minutes(120);
  EXPECT_EQ(reason(), "");
  association(kRootId).group.wall = std::chrono::minutes(119);
  EXPECT_EQ(reason(), "AssocGrpWallLimit");
  qos(kNormal).group.wall = std::chrono::minutes(119);
  EXPECT_EQ(reason(), "QOSGrpWallLimit");
  rules_.safe = false;
  EXPECT_EQ(reason(), "");
  rules_.safe = true;
  job_.admin_set = kAdminSetTime;
  EXPECT_EQ(reason(), "") << "an operator said for how long";
  qos(kNormal).flags = kQosDenyOnLimit;
  EXPECT_EQ(refusal(), "");
  job_.admin_set = 0;
  EXPECT_EQ(refusal(), "") << "alone it would run";
  qos(kNormal).group.wall = std::chrono::minutes(59);
  EXPECT_EQ(refusal(), "QOSGrpWallLimit");
  qos(kNormal).group.wall.reset();
  association(kPhysics).group.wall = std::chrono::minutes(59);
  EXPECT_EQ(refusal(), "AssocGrpWallLimit");
}

// As a real Slurm had it, but that it took GrpWall of an association with a shorter MaxWall.
TEST_F(LimitsTest, TimeOfWhoAsksForNone) {
  const auto longest = [&] {
    const auto wall = longest_wall(accounting_of(site_), account_);
    return wall ? to_seconds(*wall) / 60 : -1;
  };
  EXPECT_EQ(longest(), -1);
  association(kPhysics).group.wall = std::chrono::minutes(30);
  EXPECT_EQ(longest(), 30);
  association(kAnnPhysics).job.wall = std::chrono::minutes(40);
  EXPECT_EQ(longest(), 40) << "the nearest counts";
  association(kAnnPhysics).group.wall = std::chrono::minutes(35);
  EXPECT_EQ(longest(), 35);
  association(kAnnPhysics).group.wall.reset();
  qos(kNormal).job.wall = std::chrono::minutes(60);
  EXPECT_EQ(longest(), 30) << "the QOS has a MaxWall and no GrpWall";
  qos(kNormal).group.wall = std::chrono::minutes(50);
  EXPECT_EQ(longest(), 50);
  qos(kNormal).job.wall.reset();
  EXPECT_EQ(longest(), 40);
}

TEST_F(LimitsTest, SubmittedJobs) {
  association(kPhysics).group.submit = 2;
  EXPECT_EQ(refusal(), "");
  job_.count = 2;  // an array
  EXPECT_EQ(refusal(), "AssocGrpSubmitJobsLimit");
  association(kPhysics).group.submit.reset();
  association(kAnnPhysics).member.submit = 2;
  EXPECT_EQ(refusal(), "AssocMaxSubmitJobLimit");
  qos(kNormal).user.submit = 3;
  EXPECT_EQ(refusal(), "") << "the QOS says otherwise";
  qos(kNormal).user.submit = 2;
  EXPECT_EQ(refusal(), "QOSMaxSubmitJobPerUserLimit");
  qos(kNormal).account.submit = 2;
  EXPECT_EQ(refusal(), "MaxSubmitJobsPerAccount");
  qos(kNormal).group.submit = 2;
  EXPECT_EQ(refusal(), "QOSGrpSubmitJobsLimit");
}

TEST_F(LimitsTest, DenyOnLimitRefusesWhatCanNeverRun) {
  qos(kNormal).job.tres = {{kTresCpu, 1}};
  EXPECT_EQ(refusal(), "") << "it waits";
  qos(kNormal).flags = kQosDenyOnLimit;
  EXPECT_EQ(refusal(), "QOSMaxCpuPerJobLimit");
  qos(kNormal).job.tres = {};
  qos(kNormal).group.tres = {{kTresCpu, 3}};
  EXPECT_EQ(refusal(), "") << "alone it would run";
  association(kPhysics).job.wall = std::chrono::minutes(30);
  EXPECT_EQ(refusal(), "AssocMaxWallDurationPerJobLimit");
  association(kPhysics).job.wall.reset();
  qos(kNormal).job.min_tres = {{kTresNode, 2}};
  EXPECT_EQ(refusal(), "QOSMinNode");
}

// A partition's QOS goes before the job's, unless that has OverPartQOS; associations come last.
TEST_F(LimitsTest, TheFirstThatSaysSomethingCounts) {
  account_.partition_qos = kPartQos;
  qos(kPartQos).job.tres = {{kTresCpu, 4}};
  qos(kNormal).job.tres = {{kTresCpu, 1}, {kTresMem, 100}};
  association(kAnnPhysics).job.tres = {{kTresCpu, 1}, {kTresMem, 100}, {kTresNode, 0}};
  EXPECT_EQ(reason(), "QOSMaxMemoryPerJob") << "of CPUs the partition's QOS counts";
  qos(kNormal).job.tres.pop_back();
  qos(kPartQos).job.tres.push_back({kTresMem, 5000});
  EXPECT_EQ(reason(), "AssocMaxNodePerJobLimit") << "of nodes only the association says something";
  association(kAnnPhysics).job.tres.pop_back();
  EXPECT_EQ(reason(), "");
  qos(kNormal).flags = kQosOverPartQos;
  EXPECT_EQ(reason(), "QOSMaxCpuPerJobLimit");
}

TEST_F(LimitsTest, LimitFactorOfAQosScalesThoseOfAssociations) {
  qos(kNormal).limit_factor = 2.0;
  expect("AssocMaxCpuPerJobLimit", association(kAnnPhysics).job.tres, kTresCpu, 1);
}

TEST_F(LimitsTest, UsageThreshold) {
  QosRecord& normal = qos(kNormal);
  normal.usage_threshold = 0.5;
  EXPECT_EQ(reason(), "") << "without the flag nobody looks";
  normal.flags = kQosEnforceUsageThreshold;
  EXPECT_EQ(reason(), "QOSUsageThreshold");
}

TEST_F(LimitsTest, WhatCountsForPlansAndAge) {
  Accounting accounting = accounting_of(site_);
  EXPECT_EQ(least_priority_to_plan(accounting, account_), 0u);
  association(kPhysics).job.min_priority = 100;
  accounting = accounting_of(site_);
  EXPECT_EQ(least_priority_to_plan(accounting, account_), 100u);
  qos(kNormal).job.min_priority = 50;
  accounting = accounting_of(site_);
  EXPECT_EQ(least_priority_to_plan(accounting, account_), 50u);
  EXPECT_FALSE(longest_wall(accounting, account_));
  association(kRootId).member.jobs_accrue = 0;
  EXPECT_TRUE(may_accrue(accounting, accounting.held, job_));
  accounting = accounting_of(site_);
  EXPECT_FALSE(may_accrue(accounting, accounting.held, job_));
}

// Whoever looks at requested sizes first has none of nodes, and vice versa.
TEST_F(LimitsTest, WhatIsNotKnownYetIsNotLookedAt) {
  qos(kNormal).job.min_tres = {{kTresCpu, 100}};
  qos(kNormal).job.tres_node = {{kTresCpu, 1}};
  job_.tres = job_.tres_of_node = {};
  EXPECT_EQ(reason(), "");
}

}  // namespace
}  // namespace sluice::state
