// Suspend and resume: CPUs come and go, memory and the time limit stay.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

constexpr uint32_t kSigCont = 18, kSigStop = 19;

class SuspendTest : public CoreTest {
 protected:
  JobId running(const char* nodes, uint32_t cpus, Minutes limit = 10) {
    JobSpec spec = batch_spec();
    spec.time_limit = limit;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, nodes, cpus));
    return id;
  }
  Result<Reply> change(JobId id, JobAction action) {
    return run(ChangeJob{kRoot, std::to_string(id), action, false});
  }
};

TEST_F(SuspendTest, ProcessesStopAndCpusAreFree) {
  const JobId id = running("n[1-2]", 4);
  now_ += std::chrono::seconds(7);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  EXPECT_EQ(job(id).state, JobState::kSuspended);
  EXPECT_EQ(job(id).before_suspend, std::chrono::seconds(7));
  EXPECT_EQ(state_.nodes.at(0).used_cpus, 0u);
  EXPECT_TRUE(state_.nodes.at(0).used_cores.none());
  EXPECT_EQ(state_.nodes.at(0).jobs.size(), 1u);
  ASSERT_EQ(effects<SignalSteps>().size(), 1u);
  const auto order = effects<SignalSteps>()[0];
  EXPECT_EQ(order.request.signal, kSigStop);
  EXPECT_TRUE(order.request.all_steps);
  EXPECT_FALSE(order.request.not_batch);
  EXPECT_EQ(order.request.issued, now_);
  EXPECT_EQ(order.nodes.count(), 2u);
  ASSERT_TRUE(change(id, JobAction::kSuspend)) << "again changes nothing";
  EXPECT_TRUE(effects<SignalSteps>().empty());
}

// The bug: its user let it run on beside those that it was suspended for, and was not charged.
TEST_F(SuspendTest, NoSignalLetsItGoOn) {
  const JobId id = running("n1", 1);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  for (const uint32_t signal : {kSigCont, kSigStop, uint32_t{SIGTERM}, uint32_t{SIGUSR1}}) {
    for (const protocol::SignalFlags flags :
         {protocol::SignalFlags{0}, protocol::kSignalFull, protocol::kSignalBatchOnly}) {
      const auto reply = run(SignalJob{kAnn, std::to_string(id), signal, flags});
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error().text, "Job can not be altered now, try again later");
    }
    const auto reply = run(SignalJob{kAnn, std::to_string(id) + ".batch", signal, 0});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().text, "Job step not running");
  }
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), SIGKILL, protocol::kSignalBatchOnly}));
  EXPECT_EQ(job(id).state, JobState::kCancelled);
}

TEST_F(SuspendTest, TheTimeLimitWaits) {
  const JobId id = running("n1", 1, 1);
  const Time end = job(id).end;
  now_ += std::chrono::seconds(30);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kSuspended);
  ASSERT_TRUE(change(id, JobAction::kResume));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).end, end + std::chrono::hours(1));
  ASSERT_EQ(effects<SignalSteps>().size(), 1u);
  EXPECT_EQ(effects<SignalSteps>()[0].request.signal, kSigCont);
  now_ += std::chrono::seconds(31);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kTimeout);
}

TEST_F(SuspendTest, AResumedJobSharesCpusThatWereGivenAway) {
  const JobId first = running("n1", 2);
  ASSERT_TRUE(change(first, JobAction::kSuspend));
  const JobId second = running("n1", 2);
  ASSERT_TRUE(change(first, JobAction::kResume));
  EXPECT_EQ(state_.nodes.at(0).used_cores.count(), 2u);
  ASSERT_TRUE(end_step(second, kBatchStep, "n1", 0, true));
  EXPECT_EQ(state_.nodes.at(0).used_cores.count(), 2u) << "the first one's";
  EXPECT_EQ(state_.nodes.at(0).used_cpus, 2u);
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  EXPECT_TRUE(state_.nodes.at(0).used_cores.none());
}

TEST_F(SuspendTest, ACancelledOneGoesOnToItsEnd) {
  const JobId id = running("n1", 2);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_EQ(effects<TerminateJob>().size(), 1u);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 15, true));
  EXPECT_TRUE(is_finished(job(id)));
  EXPECT_EQ(state_.nodes.at(0).used_cpus, 0u);
}

TEST_F(SuspendTest, Refusals) {
  const JobId waiting = submit(batch_spec());
  EXPECT_EQ(error_of(ChangeJob{kRoot, std::to_string(waiting), JobAction::kSuspend, false}),
            ErrorCode::kJobPending);
  const JobId id = running("n1", 1);
  const std::string text = std::to_string(id);
  EXPECT_EQ(error_of(ChangeJob{kAnn, text, JobAction::kSuspend, false}), ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(ChangeJob{kRoot, text, JobAction::kResume, false}), ErrorCode::kDisabled);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  EXPECT_EQ(error_of(CreateStep{kAnn, id, {}}), ErrorCode::kDisabled);
}

TEST_F(SuspendTest, ANodeThatRegistersIsToldAgain) {
  const JobId id = running("n1", 1);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  register_node("n1", {{{id, kBatchStep}, 0}});
  ASSERT_EQ(effects<SignalSteps>().size(), 1u);
  EXPECT_EQ(effects<SignalSteps>()[0].request.signal, kSigStop);
  EXPECT_TRUE(effects<LaunchStep>().empty());
}

TEST_F(SuspendTest, ARestartedControllerStopsItAgain) {
  const JobId id = running("n1", 1);
  ASSERT_TRUE(change(id, JobAction::kSuspend));
  bool stopped = false;
  for (const Effect& effect : resume(state_)) {
    const auto* order = std::get_if<SignalSteps>(&effect);
    stopped = stopped || (order != nullptr && order->request.signal == kSigStop);
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace sluice::state
