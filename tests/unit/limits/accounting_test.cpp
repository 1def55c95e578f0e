// Accounting in the core: what is charged, what starts, and what a restart keeps.
#include <cmath>

#include "common/model/job_update.hpp"
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/rules/preemption.hpp"
#include "ctld/state/limits/visible_jobs.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

// Each level of the tree and the QOS count what runs, and are charged for it when it ends.
TEST_F(AccountingTest, UsageOfAJob) {
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  EXPECT_EQ(held(kPhysics).submit, 1u);
  EXPECT_EQ(held(kPhysics).jobs, 0u);
  ASSERT_TRUE(start_job(id, "n1", 2));
  EXPECT_EQ(held(kPhysics).jobs, 1u);
  EXPECT_EQ(held(kRootId).count_of(kTresCpu), 2u);
  EXPECT_EQ(held(kAnnPhysics).count_of(kTresMem), 10u);
  EXPECT_EQ(held(kChem).jobs, 0u);
  const Held* user = state_.accounting.held.user_of(kNormal, kAnnUid);
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(user->count_of(kTresBilling), 2u);
  EXPECT_EQ(state_.accounting.held.user_of(kNormal, kBobUid), nullptr);
  now_ += std::chrono::seconds(100);
  end(id, "n1");
  EXPECT_DOUBLE_EQ(used(kAnnPhysics), 200);
  EXPECT_DOUBLE_EQ(used(kRootId), 200);
  EXPECT_DOUBLE_EQ(used(kBobPhysics), 0);
  EXPECT_DOUBLE_EQ(state_.accounting.qos_usage.at(kNormal).raw, 200);
  EXPECT_DOUBLE_EQ(state_.accounting.association_usage.at(kRootId).of(kTresMem), 1000);
  EXPECT_DOUBLE_EQ(state_.accounting.association_usage.at(kRootId).wall, 100);
  EXPECT_TRUE(held(kRootId).empty());
  EXPECT_TRUE(state_.accounting.held.members.empty());
}

TEST_F(AccountingTest, RunningJobsAreChargedEachPeriodAndUsageDecays) {
  configure([](ClusterConfig& config) {
    config.priority_decay_half_life = std::chrono::seconds(1000);
    config.priority_calc_period = std::chrono::seconds(100);
  });
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 2));
  pass_time(std::chrono::seconds(50));
  EXPECT_DOUBLE_EQ(used(kRootId), 0);
  pass_time(std::chrono::seconds(50));
  EXPECT_DOUBLE_EQ(used(kRootId), 200);
  pass_time(std::chrono::seconds(100));
  const double kept = std::pow(1 - 0.693 / 1000, 100);
  EXPECT_DOUBLE_EQ(used(kRootId), 200 * kept + 200);
  now_ += std::chrono::seconds(10);
  end(id, "n1");
  EXPECT_DOUBLE_EQ(used(kRootId), 200 * kept + 200 + 20);
  EXPECT_LT(state_.accounting.shares->of(kAnnPhysics).factor, 1.0);
}

TEST_F(AccountingTest, UsageFactorAndNoDecayOfAQos) {
  qos(kNormal).usage_factor = 0.5;
  qos(kNormal).flags = kQosNoDecay;
  follow();
  configure([](ClusterConfig& config) {
    config.priority_decay_half_life = std::chrono::seconds(1000);
    config.priority_calc_period = std::chrono::seconds(100);
  });
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 4));
  now_ += std::chrono::seconds(50);
  end(id, "n1");
  EXPECT_DOUBLE_EQ(used(kRootId), 100);
  pass_time(std::chrono::seconds(100));
  EXPECT_LT(used(kRootId), 100);
  EXPECT_DOUBLE_EQ(state_.accounting.qos_usage.at(kNormal).raw, 100);
}

TEST_F(AccountingTest, ASuspendedJobIsNotCharged) {
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 1));
  now_ += std::chrono::seconds(30);
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kSuspend}));
  EXPECT_DOUBLE_EQ(used(kRootId), 30);
  EXPECT_EQ(held(kRootId).jobs, 1u) << "it keeps its place in the limits";
  pass_time(std::chrono::seconds(400));
  EXPECT_DOUBLE_EQ(used(kRootId), 30);
  now_ += std::chrono::seconds(50);
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kResume}));
  now_ += std::chrono::seconds(7);
  end(id, "n1");
  EXPECT_DOUBLE_EQ(used(kRootId), 37);
}

TEST_F(AccountingTest, AnArrayCountsItsTasks) {
  JobSpec spec = batch_spec();
  spec.array = "0-9";
  const JobId id = submit(spec);
  EXPECT_EQ(held(kPhysics).submit, 10u);
  EXPECT_EQ(held(kPhysics).accruing, 10u);
  ASSERT_TRUE(start_job(id, "n1", 1, 3));
  EXPECT_EQ(held(kPhysics).submit, 10u);
  EXPECT_EQ(held(kPhysics).jobs, 1u);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  EXPECT_EQ(held(kPhysics).submit, 0u);
}

TEST_F(AccountingTest, AnAssociationThatMovesTakesItsJobsAlong) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 2));
  EXPECT_EQ(held(kPhysics).jobs, 1u);
  association(kAnnPhysics).parent = kChem;
  follow();
  EXPECT_EQ(held(kPhysics).jobs, 0u);
  EXPECT_EQ(held(kChem).count_of(kTresCpu), 2u);
  EXPECT_EQ(held(kRootId).jobs, 1u);
  std::erase_if(site_.associations, [](const auto& one) { return one.id == kAnnPhysics; });
  follow();
  EXPECT_EQ(held(kRootId).jobs, 0u) << "what is gone counts nowhere";
  EXPECT_EQ(plan(submit([] {
              JobSpec spec = batch_spec();
              spec.account = "chem";
              return spec;
            }())),
            "starts");
}

TEST_F(AccountingTest, AnUpdateMovesAJobToAnotherAccount) {
  const JobId id = submit(batch_spec());
  JobUpdate update;
  update.account = "chem";
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), update}));
  EXPECT_EQ(job(id).account->association, kAnnChem);
  EXPECT_EQ(held(kPhysics).submit, 0u);
  EXPECT_EQ(held(kChem).submit, 1u);
  update.account = "biology";
  EXPECT_EQ(error_of(UpdateJob{kAnn, std::to_string(id), update}), ErrorCode::kInvalidAccount);
  update.account.reset();
  update.qos = "part";
  EXPECT_EQ(error_of(UpdateJob{kAnn, std::to_string(id), update}), ErrorCode::kInvalidQos);
  ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(id), update})) << "an operator may";
  EXPECT_EQ(job(id).account->qos, kPartQos);
}

// The pass tells the limit, keeps no nodes for the job, and starts the next one.
TEST_F(AccountingTest, APassStartsNoMoreThanLimitsLet) {
  association(kPhysics).group.tres = {{kTresCpu, 3}};
  follow();
  JobSpec two = batch_spec();
  two.min_cpus = two.num_tasks = 2;
  const JobId first = submit(two);
  const JobId second = submit(two);
  JobSpec one = batch_spec();
  const JobId third = submit(one);
  JobSpec other = two;
  other.account = "chem";
  const JobId fourth = submit(other);
  EXPECT_EQ(plan(first), "starts");
  EXPECT_EQ(plan(second), "AssocGrpCpuLimit");
  EXPECT_EQ(plan(third), "starts");
  EXPECT_EQ(plan(fourth), "starts");
}

// A job that a limit holds back is planned for when jobs that count end, and those planned before.
TEST_F(AccountingTest, LimitsAreForeseen) {
  association(kPhysics).group.tres = {{kTresCpu, 2}};
  qos(kHigh).user.jobs = 1;
  follow();
  JobSpec two = batch_spec();
  two.min_cpus = two.num_tasks = 2;
  two.time_limit = 60;
  const JobId running = submit(two);
  ASSERT_TRUE(start_job(running, "n1", 2));
  now_ += std::chrono::minutes(10);
  const JobId second = submit(two), third = submit(two);
  two.num_tasks = two.min_cpus = 3;
  const JobId never = submit(two);
  const sched::Plan plan =
      sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  EXPECT_TRUE(plan.starts.empty());
  const auto minutes_until = [&](JobId id) {
    const Time start = plan.soft->find(id)->expected_start;
    return start == kNoTime ? -1 : std::chrono::round<std::chrono::minutes>(start - now_).count();
  };
  EXPECT_EQ(minutes_until(second), 50);
  EXPECT_FALSE(plan.soft->find(second)->planned_nodes.empty());
  EXPECT_NEAR(static_cast<double>(minutes_until(third)), 110, 1);
  EXPECT_EQ(minutes_until(never), -1) << "it is larger than the limit";
  for (const JobId id : {second, third, never})
    EXPECT_EQ(plan.soft->find(id)->reason, JobReason::kAssocGrpCpuLimit);
}

TEST_F(AccountingTest, TheEngineLooksAtLimitsAgain) {
  qos(kNormal).user.jobs = 1;
  follow();
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  EXPECT_TRUE(start_job(first, "n1"));
  EXPECT_FALSE(start_job(second, "n2"));
  EXPECT_EQ(plan(second), "QOSMaxJobsPerUserLimit");
  end(first, "n1");
  EXPECT_EQ(plan(second), "starts");
  EXPECT_TRUE(start_job(second, "n2"));
}

// SchedulerParameters=assoc_limit_stop
TEST_F(AccountingTest, WhoALimitHoldsBackMayHoldBackTheOthers) {
  qos(kNormal).group.jobs = 0;
  follow();
  JobSpec spec = batch_spec();
  submit(spec);
  spec.qos = "high";
  submit(spec);
  sched::WorkBudget budget;
  const auto starts = [&] {
    return sched::plan_pass(state_, sched::make_policies(state_), now_, budget).starts.size();
  };
  EXPECT_EQ(starts(), 1u);
  budget.limits_stop = true;
  EXPECT_EQ(starts(), 0u);
}

TEST_F(AccountingTest, AnArrayStartsAsManyTasksAsMayRun) {
  qos(kNormal).group.jobs = 3;
  follow();
  JobSpec spec = batch_spec();
  spec.array = "0-9";
  submit(spec);
  const sched::Plan plan =
      sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  EXPECT_EQ(plan.starts.size(), 3u);
}

TEST_F(AccountingTest, ThePartitionsQos) {
  configure([](ClusterConfig& config) { config.partitions[0].qos = "part"; });
  qos(kPartQos).group.jobs = 0;
  follow();
  const JobId id = submit(batch_spec());
  EXPECT_EQ(job(id).account->partition_qos, kPartQos);
  EXPECT_EQ(plan(id), "QOSGrpJobsLimit");
}

// preempt/qos: those of `high` may have those of `normal` make room, and not the other way round.
TEST_F(AccountingTest, AQosPreemptsAnother) {
  configure([](ClusterConfig& config) {
    config.preempt_type = "preempt/qos";
    config.preempt_mode = PreemptMode::kRequeue;
  });
  qos(kHigh).preempt = {kNormal};
  qos(kNormal).grace_time = std::chrono::seconds(30);
  follow();
  JobSpec whole = batch_spec();
  whole.required_nodes = "n1";
  whole.sharing = Sharing::kExclusive;
  const JobId low = submit(whole);
  ASSERT_TRUE(start_job(low, "n1", 8));
  const JobId same = submit(whole);
  const auto preempted = [&] {
    return sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget())
        .preemptions;
  };
  EXPECT_TRUE(preempted().empty());
  whole.qos = "high";
  const JobId high = submit(whole);
  auto plan = preempted();
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].job, low);
  EXPECT_EQ(plan[0].preemptor, high);
  ASSERT_TRUE(run(StartJobs{{}, plan}));
  EXPECT_EQ(job(low).grace_end, now_ + std::chrono::seconds(30)) << "GraceTime of its QOS";
  pass_time(std::chrono::seconds(30));
  EXPECT_TRUE(is_completing(job(low)));
  EXPECT_NE(job(low).flags & kJobRequeued, 0u);
  EXPECT_EQ(job(same).state, JobState::kPending);
  // a QOS says itself what becomes of its jobs
  qos(kNormal).preempt_mode = QosPreemptMode::kSuspend;
  follow();
  ASSERT_TRUE(cleaned(low, "n1"));
  pass_time(std::chrono::hours(1));
  ASSERT_TRUE(start_job(same, "n1", 8));
  plan = preempted();
  ASSERT_EQ(plan.size(), 1u);
  ASSERT_TRUE(run(StartJobs{{}, plan}));
  EXPECT_EQ(job(same).state, JobState::kSuspended);
  EXPECT_TRUE(job(same).suspended_for_others);
}

// PreemptMode=REQUEUE,WITHIN, or WITHIN of a QOS: its jobs preempt one another, by their priority.
TEST_F(AccountingTest, WithinAQosAHigherPriorityPreempts) {
  configure([](ClusterConfig& config) {
    config.preempt_type = "preempt/qos";
    config.preempt_mode = PreemptMode::kRequeue;
  });
  JobSpec whole = batch_spec();
  whole.required_nodes = "n1";
  whole.sharing = Sharing::kExclusive;
  const JobId runs = submit(whole);
  ASSERT_TRUE(start_job(runs, "n1", 8));  // its priority is 0 then
  const JobId waits = submit(whole);
  const auto preempted = [&] {
    return sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget())
        .preemptions;
  };
  EXPECT_TRUE(preempted().empty());
  qos(kNormal).preempt_mode = QosPreemptMode::kWithin;
  follow();
  EXPECT_EQ(preempted().size(), 1u);
  // a mode beside it
  const Partition& debug = state_.partitions->front();
  EXPECT_EQ(preempt_mode_in(state_, debug, kNormal), PreemptMode::kRequeue) << "the cluster's";
  qos(kNormal).preempt_mode = QosPreemptMode::kWithinCancel;
  follow();
  EXPECT_EQ(preempted().size(), 1u);
  EXPECT_EQ(preempt_mode_in(state_, state_.partitions->front(), kNormal), PreemptMode::kCancel);
  qos(kNormal).preempt_mode = QosPreemptMode::kClusterDefault;
  follow();
  configure([](ClusterConfig& config) { config.preempt_within = true; });
  auto plan = preempted();
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].job, runs);
  plan[0].priority = 0;
  ASSERT_TRUE(run(StartJobs{{}, plan}));
  EXPECT_EQ(job(runs).state, JobState::kRunning) << "not by one of the same priority";
  plan = preempted();
  ASSERT_TRUE(run(StartJobs{{}, plan}));
  EXPECT_TRUE(is_completing(job(runs)));
  EXPECT_NE(job(runs).flags & kJobRequeued, 0u);
  EXPECT_EQ(job(waits).state, JobState::kPending);
}

// Without `safe` a job goes on until nothing is left, with it it does not begin.
TEST_F(AccountingTest, JobsEndWhenTheirMinutesAreUsedUp) {
  configure([](ClusterConfig& config) {
    config.priority_calc_period = std::chrono::seconds(60);
    config.partitions[0].max_time = 60;
  });
  association(kPhysics).group.tres_mins = {{kTresCpu, 10}};
  follow();
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  EXPECT_EQ(plan(id), "starts");
  ASSERT_TRUE(start_job(id, "n1", 2));
  pass_time(std::chrono::minutes(4));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  pass_time(std::chrono::minutes(1));
  EXPECT_EQ(job(id).state, JobState::kTimeout);
  EXPECT_EQ(job(id).reason, JobReason::kAssocGrpCPUMinutesLimit);
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_EQ(plan(submit(batch_spec())), "AssocGrpCPUMinutesLimit");
  association(kPhysics).group.tres_mins = {{kTresCpu, 60}};
  follow();
  const JobId next = submit(batch_spec());
  EXPECT_EQ(plan(next), "starts");
  enforce({"associations", "limits", "qos", "safe"});
  EXPECT_EQ(plan(next), "AssocGrpCPUMinutesLimit") << "10 are used, it might use 60 more";
}

// The cluster has 32 CPUs.
TEST_F(AccountingTest, ARelativeQosHasPercentages) {
  qos(kNormal).flags = kQosRelative;
  qos(kNormal).job.tres = {{kTresCpu, 25}};
  follow();
  JobSpec spec = batch_spec();
  spec.min_cpus = spec.num_tasks = 8;
  EXPECT_EQ(plan(submit(spec)), "starts");
  spec.min_cpus = spec.num_tasks = 9;
  spec.min_nodes = 2;
  EXPECT_EQ(plan(submit(spec)), "QOSMaxCpuPerJobLimit");
}

// The bug: each job's nodes counted, also those that another job of the account was on already.
TEST_F(AccountingTest, ANodeCountsOnceForAnAccount) {
  association(kPhysics).group.tres = {{kTresNode, 1}};
  follow();
  const JobId first = submit(batch_spec());
  ASSERT_TRUE(start_job(first, "n3"));
  EXPECT_EQ(held(kPhysics).count_of(kTresNode), 1u);
  const JobId second = submit(batch_spec());
  EXPECT_FALSE(start_job(second, "n1"));
  EXPECT_EQ(plan(second), "starts") << "on n3, although it would be n1 otherwise";
  EXPECT_TRUE(start_job(second, "n3"));
  EXPECT_EQ(held(kPhysics).count_of(kTresNode), 1u);
  EXPECT_EQ(held(kRootId).count_of(kTresNode), 1u);
  JobSpec two = batch_spec();
  two.min_nodes = two.max_nodes = 2;
  EXPECT_EQ(plan(submit(two)), "AssocGrpNodeLimit");
  JobSpec large = batch_spec();
  large.min_cpus = large.num_tasks = 8;
  const JobId waits = submit(large);
  EXPECT_EQ(plan(waits), "AssocGrpNodeLimit") << "n3 has no room for it";
  end(first, "n3");
  end(second, "n3");
  EXPECT_EQ(held(kPhysics).count_of(kTresNode), 0u);
  ASSERT_TRUE(cleaned(first, "n3") && cleaned(second, "n3"));
  EXPECT_EQ(plan(waits), "starts");
}

// Of a QOS's users, too; a state that is read again has the same.
TEST_F(AccountingTest, ANodeCountsOnceForAUserOfAQos) {
  qos(kNormal).user.tres = {{kTresNode, 2}};
  follow();
  for (const char* node : {"n2", "n2", "n4"}) {
    const JobId id = submit(batch_spec());
    ASSERT_TRUE(start_job(id, node));
  }
  EXPECT_EQ(state_.accounting.held.user_of(kNormal, kAnnUid)->count_of(kTresNode), 2u);
  const JobId more = submit(batch_spec());
  EXPECT_FALSE(start_job(more, "n1"));
  EXPECT_EQ(plan(more), "starts");
  const HeldTables before = state_.accounting.held;
  rebuild_held(state_);
  EXPECT_EQ(*state_.accounting.held.qos.find(kNormal), *before.qos.find(kNormal));
}

TEST_F(AccountingTest, AJobWhoseAccountIsGoneWaits) {
  const JobId id = submit(batch_spec());
  std::erase_if(site_.associations, [](const auto& one) { return one.id == kAnnPhysics; });
  follow();
  EXPECT_EQ(plan(id), "InvalidAccount");
  EXPECT_FALSE(start_job(id, "n1"));
  site_.associations.push_back(sluice::state::association(9, kPhysics, "physics", "ann"));
  follow();
  EXPECT_EQ(plan(id), "starts") << "by its name it has one again";
}

TEST_F(AccountingTest, RolesOfAccounting) {
  const JobId id = submit(batch_spec());
  const auto may = [&](Identity who) {
    return error_of(SignalJob{who, std::to_string(id), 10}) != ErrorCode::kAccessDenied;
  };
  EXPECT_TRUE(may(kAnn));
  EXPECT_TRUE(may(kBob)) << "he coordinates physics";
  configure([](ClusterConfig& config) { config.private_data = {"jobs"}; });
  const auto sees = [&](uint32_t uid) {
    return VisibleJobs(state_, uid).contains(state_.jobs.at(id));
  };
  EXPECT_TRUE(sees(kBobUid)) << "with PrivateData=jobs, too";
  EXPECT_FALSE(sees(4711));
  site_.accounts[1].coordinators.clear();
  follow();
  EXPECT_FALSE(may(kBob));
  EXPECT_FALSE(sees(kBobUid));
  site_.accounts[2].coordinators = {"bob"};  // root's, which is above
  follow();
  EXPECT_TRUE(may(kBob));
  site_.accounts[2].coordinators.clear();
  site_.users[1].admin_level = AdminLevel::kOperator;
  follow();
  EXPECT_TRUE(may(kBob));
  EXPECT_TRUE(is_operator(state_, kBobUid));
  EXPECT_FALSE(is_admin(state_, kBobUid));
  site_.users[1].admin_level = AdminLevel::kAdministrator;
  follow();
  EXPECT_TRUE(is_admin(state_, kBobUid));
}

TEST_F(AccountingTest, ARestartKeepsRecordsAndUsage) {
  pass_time(std::chrono::seconds(1));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1", 2));
  now_ += std::chrono::seconds(100);
  end(id, "n1");
  submit(batch_spec());
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  const ClusterState restored = from_image(*image);
  EXPECT_EQ(differences(state_, restored), std::vector<std::string>{});
  EXPECT_DOUBLE_EQ(restored.accounting.association_usage.at(kRootId).raw, 200);
  EXPECT_EQ(restored.accounting.held.associations.at(kRootId).submit, 1u);
  EXPECT_EQ(restored.accounting.version, state_.accounting.version);
}

// Nobody asked for accounting: nothing of it is in the journal.
TEST_F(CoreTest, WithoutAccountingJobsHaveNone) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(job(id).account, nullptr);
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(job(id).charge, nullptr);
  now_ += std::chrono::hours(1);
  names_.clear();
  ASSERT_TRUE(run(Tick{1}));
  EXPECT_EQ(std::ranges::count(names_, "UsageDecayed"), 0);
}

}  // namespace
}  // namespace sluice::state
