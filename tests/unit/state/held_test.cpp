// Jobs that are held: larger than what is there now, until they are released. And what jobs wait
// for that are queued again.
#include <csignal>

#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

// 4 nodes of 8 CPUs and 1,000 MiB; "two" has the first two of them, and takes jobs of one node.
class HeldTest : public CoreTest {
 protected:
  HeldTest() {
    auto config = std::make_shared<ClusterConfig>(*state_.config);
    PartitionConfig two;
    two.name = "two";
    two.nodes = {"n1", "n2"};
    two.max_nodes = 1;
    config->partitions.push_back(two);
    config_ = config;
    run(ReplaceConfig{config_});
  }
  static JobSpec held_spec() {
    JobSpec spec = batch_spec();
    spec.hold = true;
    return spec;
  }
  static JobSpec too_many_cpus() {
    JobSpec spec = held_spec();
    spec.num_tasks = 33;
    return spec;
  }
  ErrorCode submitted(JobSpec spec) {
    spec.uid = kAnn.uid;
    return error_of(SubmitJob{kAnn, std::move(spec), {"users"}});
  }
  ErrorCode released(JobId job) {
    return error_of(ChangeJob{kAnn, std::to_string(job), JobAction::kRelease, false});
  }
};

// The bug: the job ended while it was held, when nobody could have started it.
TEST_F(HeldTest, ADeadlineWaitsForTheRelease) {
  JobSpec spec = held_spec();
  spec.time_limit = 5;
  spec.deadline = now_ + std::chrono::minutes(10);
  const JobId id = submit(spec);
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kPending);
  ASSERT_EQ(released(id), ErrorCode::kOk);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).state, JobState::kDeadline);
  EXPECT_EQ(job(id).reason, JobReason::kDeadLine);
}

// The bug: when a job could begin was not known while it was held.
TEST_F(HeldTest, WaitsForItsBeginAsWell) {
  JobSpec spec = held_spec();
  const Time begin = spec.begin = now_ + std::chrono::hours(1);
  const JobId id = submit(spec);
  EXPECT_EQ(job(id).eligible, begin);
  EXPECT_EQ(job(id).reason, JobReason::kJobHeldUser);
  ASSERT_EQ(released(id), ErrorCode::kOk);
  EXPECT_EQ(job(id).eligible, begin);
  EXPECT_EQ(job(submit(held_spec())).eligible, kNoTime);
}

TEST_F(HeldTest, MayBeLargerThanAnyNode) {
  JobSpec cpus = held_spec(), memory = held_spec(), elsewhere = held_spec();
  cpus.cpus_per_task = 20;
  memory.memory_kind = MemoryKind::kPerNode;
  memory.memory_mib = 5000;
  elsewhere.partitions = "two";
  elsewhere.required_nodes = "n3";
  for (JobSpec spec : {cpus, memory, elsewhere}) {
    const JobId id = submit(spec);
    EXPECT_EQ(job(id).hold, HoldKind::kUser);
    spec.hold = false;
    EXPECT_EQ(submitted(spec), ErrorCode::kNodesNotAvailable);
  }
}

// The bug: only --hold counted, and --priority=0, which is the same, was refused.
TEST_F(HeldTest, PriorityZeroHoldsAsWell) {
  JobSpec spec = batch_spec();
  spec.priority = 0;
  spec.cpus_per_task = 20;
  EXPECT_EQ(job(submit(spec)).hold, HoldKind::kUser);
}

TEST_F(HeldTest, WhatIsNotThereAtAllIsRefused) {
  JobSpec node = held_spec(), feature = held_spec();
  node.required_nodes = "n9";
  feature.constraint = "slow";
  EXPECT_EQ(submitted(node), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(submitted(feature), ErrorCode::kInvalidFeature);
}

TEST_F(HeldTest, StaysHeldWhileItNeedsMoreCpusThanItsPartitionHas) {
  const JobId id = submit(too_many_cpus());
  EXPECT_EQ(released(id), ErrorCode::kPartitionNotNow);
  UpdateJob command;
  command.who = kRoot;
  command.target = std::to_string(id);
  command.update.hold = false;
  EXPECT_EQ(error_of(command), ErrorCode::kPartitionNotNow) << "by an update, too";
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  JobSpec fits = held_spec();
  fits.num_tasks = 32;
  EXPECT_EQ(released(submit(fits)), ErrorCode::kOk);
  fits.partitions = "two";
  EXPECT_EQ(released(submit(fits)), ErrorCode::kPartitionNotNow);
  fits.partitions = "two,debug";
  EXPECT_EQ(released(submit(fits)), ErrorCode::kOk) << "one of them is large enough";
}

// More nodes than there are may come: such a job waits with the reason PartitionConfig.
TEST_F(HeldTest, MoreNodesThanThereAreDoNotKeepItHeld) {
  JobSpec spec = held_spec();
  spec.min_nodes = 10;
  const JobId id = submit(spec);
  EXPECT_EQ(released(id), ErrorCode::kOk);
  EXPECT_EQ(job(id).hold, HoldKind::kNone);
}

TEST_F(HeldTest, TasksOfAnArrayOneByOneOrAll) {
  JobSpec spec = too_many_cpus();
  spec.array = "1-3";
  const JobId array = submit(spec);
  const std::string id = std::to_string(array);
  EXPECT_EQ(error_of(ChangeJob{kAnn, id + "_2", JobAction::kRelease, false}),
            ErrorCode::kPartitionNotNow);
  const auto reply = run(ChangeJob{kAnn, id, JobAction::kRelease, false});
  ASSERT_TRUE(reply);
  EXPECT_EQ(
      std::get<protocol::CountReply>(*reply).errors,
      std::vector<std::string>{id + "_1-3: Requested partition configuration not available now"});
  EXPECT_EQ(job(array).hold, HoldKind::kUser);
}

// As Slurm has it: larger than the cluster from the beginning, yes; made so, no.
TEST_F(HeldTest, MayBeChangedWhileNothingCanServeIt) {
  JobSpec large = held_spec();
  large.memory_kind = MemoryKind::kPerNode;
  large.memory_mib = 5000;
  UpdateJob command;
  command.who = kAnn;
  command.target = std::to_string(submit(large));
  command.update.comment = "still held";
  EXPECT_EQ(error_of(command), ErrorCode::kOk);
  command.update.memory_per_node_mib = 6000;
  EXPECT_EQ(error_of(command), ErrorCode::kOk);
  command.target = std::to_string(submit(held_spec()));
  EXPECT_EQ(error_of(command), ErrorCode::kNodesNotAvailable);
}

// The bug: hold and release were a way around the delay of a requeue.
TEST_F(HeldTest, WhatIsLeftOfADelayGoesOn) {
  const JobId id = submit(batch_spec());
  const std::string text = std::to_string(id);
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", SIGTERM, true));
  const Time then = job(id).eligible;
  ASSERT_GT(then, now_);
  UpdateJob zero{kAnn, text, {}, {}};
  zero.update.priority = 0;
  for (const Command& hold :
       {Command(ChangeJob{kAnn, text, JobAction::kHold, false}), Command(zero)}) {
    now_ += std::chrono::seconds(10);
    ASSERT_TRUE(run(hold));
    EXPECT_EQ(job(id).eligible, then);
    ASSERT_EQ(released(id), ErrorCode::kOk);
    EXPECT_EQ(job(id).eligible, then);
    EXPECT_FALSE(start_job(id, "n1"));
  }
  now_ = then;
  ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kHold, false}));
  EXPECT_EQ(job(id).eligible, kNoTime) << "it is over";
  now_ += std::chrono::seconds(10);
  ASSERT_EQ(released(id), ErrorCode::kOk);
  EXPECT_EQ(job(id).eligible, now_);
  EXPECT_TRUE(start_job(id, "n1"));
  JobSpec later = batch_spec();
  later.begin = now_ + std::chrono::hours(1);
  const JobId waits = submit(later);
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(waits), JobAction::kHold, false}));
  EXPECT_EQ(job(waits).eligible, later.begin);
  ASSERT_EQ(released(waits), ErrorCode::kOk);
  EXPECT_EQ(job(waits).eligible, later.begin);
}

// The bug: the signal of the requeue stood for the exit code of the job until it ran again.
TEST_F(HeldTest, AJobThatWasEndedToWaitAgainHasNoExitCode) {
  const auto exit_status_after = [this](JobAction action, int32_t status, bool ended_before) {
    const JobId id = submit(batch_spec());
    EXPECT_TRUE(start_job(id, "n1"));
    const auto end = [&] { EXPECT_TRUE(end_step(id, kBatchStep, "n1", status, true)); };
    if (ended_before) end();
    EXPECT_TRUE(run(ChangeJob{kAnn, std::to_string(id), action, false}));
    if (!ended_before) end();
    EXPECT_EQ(job(id).state, JobState::kPending);
    return job(id).exit_status;
  };
  for (const JobAction action : {JobAction::kRequeue, JobAction::kRequeueHold}) {
    EXPECT_EQ(exit_status_after(action, SIGTERM, false), 0);
    EXPECT_EQ(exit_status_after(action, 3 << 8, false), 0);
    EXPECT_EQ(exit_status_after(action, 3 << 8, true), 3 << 8) << "that one was its own";
  }
}

TEST_F(HeldTest, EnforcePartLimitsCountsForItToo) {
  configure([](ClusterConfig& config) { config.enforce_part_limits = EnforcePartLimits::kAll; });
  EXPECT_EQ(submitted(too_many_cpus()), ErrorCode::kTooManyCpus);
  JobSpec nodes = held_spec();
  nodes.partitions = "two";
  nodes.min_nodes = 2;
  EXPECT_EQ(submitted(nodes), ErrorCode::kTooManyNodes);
}

// The bug: no pass of the scheduler came by, and for two minutes nothing was said of why it waited.
TEST_F(HeldTest, AJobThatWasOverWaitsForItsTime) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 3 << 8, true));
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), JobAction::kRequeue, false}));
  EXPECT_EQ(job(id).reason, JobReason::kBeginTime);
  now_ += std::chrono::minutes(2);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).reason, JobReason::kNone);
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"requeue_delay=0"}; });
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 3 << 8, true));
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), JobAction::kRequeue, false}));
  EXPECT_EQ(job(id).reason, JobReason::kNone) << "without a delay there is nothing to wait for";
}

// The bug: its user's own hold was gone.
TEST_F(HeldTest, AHoldOutlivesTheEndAndTheRequeue) {
  JobSpec spec = batch_spec();
  spec.hold = true;
  for (const bool by_admin : {false, true}) {
    const JobId id = submit(spec);
    const std::string text = std::to_string(id);
    if (by_admin) { ASSERT_TRUE(run(ChangeJob{kRoot, text, JobAction::kHold, false})); }
    ASSERT_TRUE(run(SignalJob{kAnn, text, 0, protocol::kSignalCancel}));
    ASSERT_EQ(job(id).state, JobState::kCancelled);
    ASSERT_TRUE(run(ChangeJob{kAnn, text, JobAction::kRequeue, false}));
    EXPECT_EQ(job(id).state, JobState::kPending);
    EXPECT_EQ(job(id).hold, by_admin ? HoldKind::kAdmin : HoldKind::kUser);
    EXPECT_EQ(job(id).reason, by_admin ? JobReason::kJobHeldAdmin : JobReason::kJobHeldUser);
  }
}

}  // namespace
}  // namespace sluice::state
