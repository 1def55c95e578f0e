// Preemption looks at limits: nobody loses his work for a job that may not run there.
#include "ctld/state/rules/preemption.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class PreemptLimits : public AccountingTest {
 protected:
  PreemptLimits() {
    configure([](ClusterConfig& config) {
      config.preempt_type = "preempt/qos";
      config.preempt_mode = PreemptMode::kRequeue;
    });
    qos(kHigh).preempt = {kNormal};
    follow();
    for (const char* node : {"n1", "n2", "n3", "n4"}) {
      JobSpec whole = batch_spec();
      whole.required_nodes = node;
      whole.sharing = Sharing::kExclusive;
      EXPECT_TRUE(start_job(submit(whole), node, 8));
    }
  }
  size_t preempted() {
    return sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget())
        .preemptions.size();
  }
  static JobSpec high() {
    JobSpec spec = batch_spec();
    spec.qos = "high";
    spec.num_tasks = 8;
    return spec;
  }
};

// The bug: it was preempted for again and again, and the job never started.
TEST_F(PreemptLimits, WhatALimitForbidsOnTheNodesIsNotPreemptedFor) {
  qos(kHigh).job.tres = {{kTresCpu, 2}};
  follow();
  JobSpec whole = high();
  whole.num_tasks = 1;
  whole.sharing = Sharing::kExclusive;  // it asks for one CPU, and would get eight
  submit(whole);
  EXPECT_EQ(preempted(), 0u);
  qos(kHigh).job.tres = {{kTresCpu, 8}};
  follow();
  EXPECT_EQ(preempted(), 1u);
}

// The bug: of several jobs each looked as if it were alone.
TEST_F(PreemptLimits, JobsThatPreemptCountAgainstTheirLimits) {
  qos(kHigh).user.tres = {{kTresCpu, 8}};
  follow();
  for (int i = 0; i < 3; ++i) submit(high());
  EXPECT_EQ(preempted(), 1u);
  JobSpec array = high();
  array.array = "1-3";
  submit(array);
  EXPECT_EQ(preempted(), 1u);
  qos(kHigh).user.tres = {{kTresCpu, 16}};
  follow();
  EXPECT_EQ(preempted(), 2u);
}

TEST_F(PreemptLimits, ComponentsCountTogether) {
  qos(kHigh).user.tres = {{kTresCpu, 8}};
  follow();
  JobSpec part = high();
  part.uid = kAnn.uid;
  SubmitJob command{kAnn, part, {"users"}};
  command.components = {part};
  ASSERT_TRUE(run(command));
  EXPECT_EQ(preempted(), 0u);
  qos(kHigh).user.tres = {{kTresCpu, 16}};
  follow();
  EXPECT_EQ(preempted(), 2u);
}

// The plan may be older than the limit.
TEST_F(PreemptLimits, TheEngineAsksAgain) {
  const JobId id = submit(high());
  auto plan = sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  ASSERT_EQ(plan.preemptions.size(), 1u);
  const JobId low = plan.preemptions[0].job;
  qos(kHigh).job.tres = {{kTresCpu, 2}};
  follow();
  ASSERT_TRUE(run(StartJobs{{}, plan.preemptions}));
  EXPECT_FALSE(is_completing(job(low)));
  EXPECT_EQ(job(id).state, JobState::kPending);
}

}  // namespace
}  // namespace sluice::state
