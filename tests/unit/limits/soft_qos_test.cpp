// SluiceParameters=soft_limit_qos: jobs over a limit run in a QOS that others preempt.
#include "ctld/state/limits/soft_qos.hpp"

#include <algorithm>

#include "ctld/sched/explain/explain.hpp"
#include "ctld/state/core/invariants.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

constexpr QosId kSoft = 4;

// 4 nodes of 8 CPUs. A user runs one job at once; jobs of one node each.
class SoftQos : public AccountingTest {
 protected:
  SoftQos() {
    QosRecord soft;
    soft.id = kSoft;
    soft.name = "soft";
    soft.usage_factor = 0.5;
    soft.preempt_mode = QosPreemptMode::kRequeue;
    soft.grace_time = std::chrono::seconds(30);
    site_.qos.push_back(soft);
    qos(kNormal).preempt = {kSoft};
    association(kAnnPhysics).member.jobs = 1;
    follow();
    configure([](ClusterConfig& config) {
      config.sluice_parameters = {"soft_limit_qos=soft"};
      config.preempt_type = "preempt/qos";
      config.preempt_mode = PreemptMode::kRequeue;
      config.priority_type = "priority/basic";
    });
  }
  static JobSpec on(const char* node, Minutes limit = 60) {
    JobSpec spec = batch_spec();
    spec.required_nodes = node;
    spec.sharing = Sharing::kExclusive;
    spec.time_limit = limit;
    return spec;
  }
  sched::Plan pass() {
    sched::Plan plan =
        sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
    soft_view_ = plan.soft;
    const size_t planned = plan.starts.size();
    const auto reply = run(StartJobs{plan.starts, plan.preemptions, {}});
    EXPECT_TRUE(reply);
    if (reply) { EXPECT_EQ(std::get<StartedReply>(*reply).started, planned); }
    EXPECT_EQ(check_state(state_), std::vector<std::string>{});
    return plan;
  }
  // The QOS that it runs in; "": it waits.
  std::string runs_in(JobId id) {
    return job(id).state == JobState::kRunning ? job(id).spec->qos.str() : "";
  }
  std::string reason(JobId id) {
    const SchedulerHints* hints = soft_view_->find(id);
    return hints == nullptr ? "" : std::string(reason_text(hints->reason));
  }
  JobId submit_of_bob(JobSpec spec) {
    spec.uid = kBob.uid;
    spec.user_name = "bob";
    return submit(spec, kBob);
  }
  std::shared_ptr<const sched::SchedulerView> soft_view_;
};

TEST_F(SoftQos, WhatExceedsALimitRunsInIt) {
  const JobId first = submit(on("n1")), second = submit(on("n2"));
  pass();
  EXPECT_EQ(runs_in(first), "normal");
  EXPECT_EQ(runs_in(second), "soft");
  EXPECT_EQ(job(second).account->qos, kSoft);
  EXPECT_EQ(job(second).account->own_qos, "normal");
  EXPECT_EQ(job(second).charge->factor_micro, kMicro / 2) << "UsageFactor of that QOS";
  EXPECT_EQ(job(first).charge->factor_micro, kMicro);
  EXPECT_EQ(held(kAnnPhysics).jobs, 1u) << "it takes no part of the limit";
  EXPECT_EQ(held(kAnnPhysics).count_of(kTresCpu), 8u);
  EXPECT_EQ(held(kAnnPhysics).count_of(kTresNode), 1u);
  EXPECT_EQ(held(kAnnPhysics).submit, 2u);
  EXPECT_EQ(state_.accounting.held.qos.at(kSoft).jobs, 1u);
  // whom the limit lets starts beside it
  end(first, "n1");
  const JobId third = submit(on("n1"));
  pass();
  EXPECT_EQ(runs_in(third), "normal");
  EXPECT_EQ(runs_in(second), "soft");
}

TEST_F(SoftQos, WhatItUsesIsChargedToItsAssociationByTheFactorOfThatQos) {
  const JobId first = submit(on("n1")), second = submit(on("n2"));
  pass();
  end(first, "n1");
  const double before = used(kAnnPhysics);
  now_ += std::chrono::seconds(100);
  end(second, "n2");
  EXPECT_DOUBLE_EQ(used(kAnnPhysics) - before, 100 * 8 * 0.5);
  EXPECT_DOUBLE_EQ(state_.accounting.qos_usage.at(kSoft).raw, 100 * 8 * 0.5);
  EXPECT_TRUE(held(kAnnPhysics).empty());
  EXPECT_EQ(check_state(state_), std::vector<std::string>{});
}

TEST_F(SoftQos, IsPreemptedAndWaitsInItsOwnQosAgain) {
  const JobId first = submit(on("n1")), second = submit(on("n2"));
  pass();
  const JobId others = submit_of_bob(on("n2"));
  auto plan = pass();
  ASSERT_EQ(plan.preemptions.size(), 1u);
  EXPECT_EQ(plan.preemptions[0].job, second);
  EXPECT_EQ(job(second).grace_end, now_ + std::chrono::seconds(30)) << "its GraceTime";
  pass_time(std::chrono::seconds(30));
  EXPECT_NE(job(second).flags & kJobRequeued, 0u);
  ASSERT_TRUE(cleaned(second, "n2"));
  EXPECT_EQ(job(second).state, JobState::kPending);
  EXPECT_EQ(job(second).spec->qos, "normal");
  EXPECT_EQ(job(second).account->qos, kNormal);
  EXPECT_TRUE(job(second).account->own_qos.empty());
  EXPECT_EQ(job(second).restart_count, 1u);
  pass();
  EXPECT_EQ(runs_in(others), "normal");
  // the limit lets it start
  pass_time(std::chrono::minutes(3));
  end(first, "n1");
  end(others, "n2");
  pass();
  EXPECT_EQ(runs_in(second), "normal");
  EXPECT_EQ(held(kAnnPhysics).jobs, 1u);
}

TEST_F(SoftQos, ItsOwnLimitsCount) {
  qos(kSoft).group.tres = {{kTresCpu, 8}};
  follow();
  submit(on("n1"));
  const JobId second = submit(on("n2")), third = submit(on("n3"));
  pass();
  EXPECT_EQ(runs_in(second), "soft");
  EXPECT_EQ(runs_in(third), "");
  EXPECT_EQ(reason(third), "AssocMaxJobsLimit") << "of its own limits";
}

TEST_F(SoftQos, WhoIsWithinLimitsGoesFirst) {
  submit(on("n1"));
  const JobId over = submit(on("n2"));
  const JobId within = submit_of_bob(on("n2"));
  pass();
  EXPECT_EQ(runs_in(within), "normal");
  EXPECT_EQ(runs_in(over), "");
}

// It neither plans ahead nor delays what is planned.
TEST_F(SoftQos, DelaysNoPlannedJob) {
  association(kBobPhysics).member.jobs = 5;
  follow();
  submit(on("n1"));
  submit_of_bob(on("n3", 30));
  pass();
  JobSpec both = batch_spec();
  both.required_nodes = "n[2-3]";
  both.min_nodes = both.max_nodes = 2;
  both.num_tasks = 2;
  both.sharing = Sharing::kExclusive;
  both.time_limit = 60;
  const JobId planned = submit_of_bob(both);
  const JobId longer = submit(on("n2", 40)), shorter = submit(on("n2", 20));
  pass();
  EXPECT_EQ(runs_in(planned), "");
  EXPECT_EQ(runs_in(longer), "");
  EXPECT_EQ(runs_in(shorter), "soft");
}

// What it keeps for when the limit lets it start is not in its way.
TEST_F(SoftQos, StartsThoughItIsPlannedForLater) {
  const JobId first = submit(on("n1", 10));
  pass();
  const JobId second = submit(on("n2", 60));
  const auto plan = pass();
  EXPECT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(runs_in(second), "soft");
  EXPECT_EQ(runs_in(first), "normal");
}

TEST_F(SoftQos, TasksOfAnArray) {
  JobSpec spec = on("n[1-4]");
  spec.required_nodes = {};
  spec.min_nodes = spec.max_nodes = 1;
  spec.array = "0-5";
  const JobId id = submit(spec);
  pass();
  std::vector<std::string> qos;
  state_.jobs.for_each([&](const Job& one) {
    if (one.array && one.array->array_job == id && one.state == JobState::kRunning)
      qos.push_back(one.spec->qos.str());
  });
  EXPECT_EQ(qos, (std::vector<std::string>{"normal", "soft", "soft", "soft"}));
  EXPECT_EQ(held(kAnnPhysics).jobs, 1u);
}

TEST_F(SoftQos, WhoCannotBeQueuedAgainWaits) {
  submit(on("n1"));
  JobSpec once = on("n2");
  once.requeue = Toggle::kNo;
  const JobId second = submit(once);
  pass();
  EXPECT_EQ(runs_in(second), "");
  qos(kSoft).preempt_mode = QosPreemptMode::kCancel;
  follow();
  pass();
  EXPECT_EQ(runs_in(second), "soft") << "the QOS ends its jobs anyway";
}

TEST_F(SoftQos, OnlyInAQosThatSomebodyPreempts) {
  submit(on("n1"));
  const JobId second = submit(on("n2"));
  const auto waits_for = [&](std::string_view why) {
    EXPECT_EQ(why_no_soft_qos(state_), why);
    pass();
    EXPECT_EQ(runs_in(second), "") << why;
  };
  qos(kNormal).preempt = {};
  follow();
  waits_for("no QOS may preempt it");
  qos(kNormal).preempt = {kSoft};
  qos(kSoft).preempt_mode = QosPreemptMode::kSuspend;
  follow();
  waits_for("its PreemptMode is neither REQUEUE nor CANCEL");
  qos(kSoft).preempt_mode = QosPreemptMode::kClusterDefault;
  qos(kSoft).preempt_exempt_time = kNoLimit;
  follow();
  waits_for("its PreemptExemptTime never ends");
  qos(kSoft).preempt_exempt_time = {};
  qos(kSoft).name = "other";
  follow();
  waits_for("the accounting database has no such QOS");
  configure([](ClusterConfig& config) { config.sluice_parameters = {"soft_limit_qos=other"}; });
  EXPECT_EQ(why_no_soft_qos(state_), "");
  pass();
  EXPECT_EQ(runs_in(second), "other");
}

// What a limit is not about how much may be used is no limit to exceed.
TEST_F(SoftQos, LeastTresAndAnInvalidQosHoldBack) {
  qos(kHigh).job.min_tres = {{kTresCpu, 9}};
  follow();
  JobSpec small = on("n2");
  small.qos = "high";
  const JobId id = submit(small);
  pass();
  EXPECT_EQ(runs_in(id), "");
  EXPECT_EQ(reason(id), "QOSMinCpuNotSatisfied");
  qos(kHigh).job = {};
  association(kAnnPhysics).qos = {kNormal};
  follow();
  pass();
  EXPECT_EQ(reason(id), "InvalidQOS");
  EXPECT_EQ(runs_in(id), "");
}

// A limit of minutes that is used up does not end what runs in the soft QOS.
TEST_F(SoftQos, RunsOnWhereMinutesAreUsedUp) {
  association(kAnnPhysics).member.jobs = {};
  association(kPhysics).group.tres_mins = {{kTresCpu, 10}};
  configure([](ClusterConfig& config) { config.priority_calc_period = std::chrono::seconds(60); });
  follow();
  const JobId first = submit(on("n1"));
  pass();
  pass_time(std::chrono::minutes(2));
  EXPECT_EQ(job(first).state, JobState::kTimeout);
  const JobId second = submit(on("n2"));
  pass();
  EXPECT_EQ(runs_in(second), "soft");
  pass_time(std::chrono::minutes(5));
  EXPECT_EQ(job(second).state, JobState::kRunning);
}

// The engine looks again: by then the limit may let the job start.
TEST_F(SoftQos, TheEngineTakesTheOwnQosWhereItMay) {
  const JobId first = submit(on("n1"));
  pass();
  const JobId second = submit(on("n2"));
  auto plan = sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_TRUE(plan.starts[0].softly);
  end(first, "n1");
  ASSERT_TRUE(run(StartJobs{plan.starts, {}, {}}));
  EXPECT_EQ(runs_in(second), "normal");
}

TEST_F(SoftQos, ARestartKnowsBothQos) {
  submit(on("n1"));
  const JobId second = submit(on("n2"));
  pass();
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  const ClusterState again = from_image(*image);
  EXPECT_EQ(differences(state_, again), std::vector<std::string>{});
  EXPECT_EQ(again.jobs.at(second).account->own_qos, "normal");
  EXPECT_EQ(again.jobs.at(second).spec->qos, "soft");
  EXPECT_EQ(held(kAnnPhysics).jobs, 1u);
}

TEST_F(SoftQos, IsExplained) {
  submit(on("n1"));
  const JobId second = submit(on("n2"));
  JobSpec once = on("n2");
  once.requeue = Toggle::kNo;
  const JobId third = submit(once), fourth = submit(on("n2"));
  pass();
  const auto says = [&](JobId id, std::string_view line) {
    const auto reply = sched::explain(state_, soft_view_.get(), std::to_string(id), now_, {});
    EXPECT_TRUE(reply);
    return reply && std::ranges::find(reply->lines, line) != reply->lines.end();
  };
  EXPECT_TRUE(says(second,
                   "A limit of its own QOS (normal) or its association held it back: it "
                   "runs in QOS soft until others need its nodes."));
  EXPECT_TRUE(
      says(third, "It does not run in QOS soft meanwhile, since it cannot be queued again."));
  EXPECT_TRUE(says(fourth,
                   "Over that limit it may run in QOS soft, until others need its nodes: when it "
                   "finds room beside what is planned, in the limits of that QOS."));
}

}  // namespace
}  // namespace sluice::state
