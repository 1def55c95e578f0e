// What decide() makes of a plan that jobs make room: which ones, how they are told, and what
// becomes of them.
#include "support/core_fixture.hpp"

#include <csignal>

#include "ctld/state/core/fold.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/rules/preemption.hpp"

namespace sluice::state {
namespace {

using std::chrono::seconds;

class PreemptTest : public CoreTest {
 protected:
  PreemptTest() {
    configure([](ClusterConfig& config) {
      config.preempt_type = "preempt/partition_prio";
      config.preempt_mode = PreemptMode::kCancel;
      PartitionConfig high = config.partitions.front();
      high.name = "high";
      high.is_default = false;
      high.priority_tier = 2;
      config.partitions.push_back(std::move(high));
    });
  }
  JobId running(JobSpec spec = batch_spec()) {
    const JobId id = submit(std::move(spec));
    EXPECT_TRUE(start_job(id, "n1", 8));
    return id;
  }
  JobId waiting() {
    JobSpec spec = batch_spec();
    spec.partitions = "high";
    return submit(spec);
  }
  void preempt(JobId id, JobId preemptor, const std::string& partition = "high") {
    names_.clear();
    ASSERT_TRUE(run(StartJobs{{}, {{id, job(id).restart_count, preemptor, partition, ""}}}));
  }
  void set_grace(uint32_t grace) {
    configure([&](ClusterConfig& config) { config.partitions.front().grace_time_s = grace; });
  }
  using Names = std::vector<std::string>;
};

TEST_F(PreemptTest, EndsAtOnce) {
  const JobId id = running();
  preempt(id, waiting());
  EXPECT_EQ(names_, Names{"JobCompleting"});
  EXPECT_EQ(job(id).state, JobState::kPreempted);
  EXPECT_EQ(job(id).reason, JobReason::kNone);
  ASSERT_EQ(effects<TerminateJob>().size(), 1U);
  EXPECT_EQ(effects<TerminateJob>()[0].message, "CANCELLED DUE TO PREEMPTION");
}

TEST_F(PreemptTest, IsLookedAtAgain) {
  const JobId id = running();
  const JobId other = waiting();
  preempt(id, other, "debug");
  EXPECT_EQ(names_, Names{}) << "not of a higher tier";
  preempt(id, id);
  EXPECT_EQ(names_, Names{}) << "who needs room does not wait";
  preempt(id, 999);
  EXPECT_EQ(names_, Names{});
  preempt(other, other);
  EXPECT_EQ(names_, Names{}) << "it does not run";
  preempt(id, other, "nowhere");
  EXPECT_EQ(names_, Names{});
  ASSERT_TRUE(run(StartJobs{{}, {{id, 7, other, "high", ""}}}));
  EXPECT_EQ(names_, Names{}) << "another run of it";
  configure([](ClusterConfig& config) { config.preempt_type = ""; });
  preempt(id, other);
  EXPECT_EQ(names_, Names{}) << "switched off";
}

TEST_F(PreemptTest, GraceTimeBeginsWithContAndTerm) {
  set_grace(20);
  JobSpec spec = batch_spec();
  spec.signal = SIGUSR1;
  spec.signal_seconds = 60;
  spec.mail_type = "TIME_LIMIT_90";
  const JobId id = running(spec);
  preempt(id, waiting());
  EXPECT_EQ(names_, (Names{"JobSignaled", "JobSignaled", "JobPreempted"}));
  const auto orders = effects<SignalSteps>();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].request.signal, static_cast<uint32_t>(SIGCONT));
  EXPECT_EQ(orders[1].request.signal, static_cast<uint32_t>(SIGTERM));
  for (const SignalSteps& order : orders)
    EXPECT_TRUE(order.request.all_steps && order.request.not_batch);
  EXPECT_EQ(job(id).grace_end, now_ + seconds(20));
  names_.clear();
  now_ += seconds(19);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(names_, Names{})
      << "neither the job's own --signal nor a mail: it is not its limit that comes";
  preempt(id, waiting());
  EXPECT_EQ(names_, Names{}) << "it makes room already";
  now_ += seconds(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kPreempted);
  EXPECT_EQ(job(id).grace_end, kNoTime);
}

TEST_F(PreemptTest, ALongerLimitDoesNotHelpIt) {
  set_grace(20);
  JobSpec spec = batch_spec();
  spec.time_limit = 1;
  const JobId id = running(spec);
  preempt(id, waiting());
  JobUpdate update;
  update.time_limit = 600;
  ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(id), update, {}}));
  now_ += seconds(20);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kPreempted);
}

TEST_F(PreemptTest, ItMayEndWithinItsGraceTime) {
  set_grace(20);
  const JobId id = running();
  preempt(id, waiting());
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  EXPECT_EQ(job(id).state, JobState::kCompleted);
  EXPECT_NE(job(id).preempted_at, kNoTime);
  now_ += seconds(20);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kCompleted);
}

TEST_F(PreemptTest, ItsOwnSignalWhereTheSiteWantsThat) {
  JobSpec spec = batch_spec();
  spec.signal = SIGUSR1;
  spec.signal_seconds = 60;
  spec.signal_batch = true;
  for (const bool in_parameters : {true, false}) {
    configure([&](ClusterConfig& config) {
      config.partitions.front().grace_time_s = in_parameters ? 20 : 0;
      config.preempt_parameters =
          in_parameters ? std::vector<std::string>{"send_user_signal"} : std::vector<std::string>{};
      if (!in_parameters) config.slurmctld_parameters = {"preempt_send_user_signal"};
    });
    const JobId id = running(spec);
    preempt(id, waiting());
    const auto orders = effects<SignalSteps>();
    ASSERT_EQ(orders.size(), 2U);
    EXPECT_EQ(orders[0].request.signal, static_cast<uint32_t>(SIGUSR1));
    EXPECT_EQ(orders[1].request.signal, static_cast<uint32_t>(SIGCONT));
    EXPECT_TRUE(orders[0].request.batch_shell_only);
    EXPECT_TRUE(job(id).signal_sent);
    EXPECT_EQ(effects<TerminateJob>().size(), in_parameters ? 0U : 1U);
    if (in_parameters) { ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true)); }
  }
}

TEST_F(PreemptTest, AStoppedJobIsNotWokenToBeTold) {
  set_grace(20);
  const JobId id = running();
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kSuspend, false}));
  preempt(id, waiting());
  EXPECT_EQ(names_, Names{"JobPreempted"});
  now_ += seconds(20);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kPreempted);
}

TEST_F(PreemptTest, RequeuedJobsWaitForTheirDelay) {
  configure([](ClusterConfig& config) {
    config.preempt_mode = PreemptMode::kRequeue;
    config.scheduler_parameters = {"requeue_delay=30"};
  });
  const JobId id = running();
  preempt(id, waiting());
  EXPECT_TRUE(is_cleaning(job(id)));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).eligible, now_ + seconds(30));
  EXPECT_EQ(job(id).restart_count, 1U);
  EXPECT_EQ(preemptable_from(job(id)), kNoTime);
}

TEST_F(PreemptTest, ComponentsOfAHeterogeneousJobGoTogether) {
  JobSpec spec = batch_spec();
  spec.uid = kAnn.uid;
  JobSpec second = spec;
  SubmitJob command{kAnn, spec, {"users"}};
  command.components = {second};
  const JobId leader = std::get<JobSubmittedReply>(run(command).value()).job;
  ASSERT_TRUE(run(StartJobs{{{leader, kNoTask, "debug", free_cores("n1", 8)},
                             {leader + 1, kNoTask, "debug", free_cores("n2", 8)}}}));
  preempt(leader + 1, waiting());
  EXPECT_EQ(job(leader).state, JobState::kPreempted);
  EXPECT_EQ(job(leader + 1).state, JobState::kPreempted);
  preempt(leader, waiting());
  EXPECT_EQ(names_, Names{}) << "it is over";
}

TEST_F(PreemptTest, AnArraysTasksFoldAllTheSame) {
  JobSpec spec = batch_spec();
  spec.array = "0-2";
  const JobId array = submit(spec);
  const JobId other = waiting();
  ASSERT_TRUE(start_job(array, "n1", 2, 0));
  ASSERT_TRUE(start_job(array, "n1", 2, 1));
  JobId first = kNoJob;
  state_.active.for_each([&](JobId id) { first = first == kNoJob ? id : first; });
  preempt(first, other);
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 15, true));
  const Time at = now_;
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(state_.folded.contains(first));
  EXPECT_EQ(find_job(state_, first)->preempted_at, at);
  EXPECT_EQ(find_job(state_, first)->state, JobState::kPreempted);
}

}  // namespace
}  // namespace sluice::state
