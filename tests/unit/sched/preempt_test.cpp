// Jobs that make room for others.
#include "preempting_world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(Preemption, HigherTierHasLowerOneLeave) {
  PreemptingWorld world(1, 8);
  world.up();
  const JobId low = world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n1");
  const JobId high = world.submit(PreemptingWorld::high(8));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "1 for 2");
  EXPECT_EQ(world.reason(high), JobReason::kResources);
  EXPECT_EQ(world.soft->find(high)->planned_nodes, "n1");
  EXPECT_EQ(world.soft->find(high)->expected_start, world.now);
  EXPECT_EQ(world.job(low).state, JobState::kPreempted);
  EXPECT_TRUE(is_completing(world.job(low)));
  EXPECT_EQ(world.pass(), "");  // it is on its way out: nobody else has to go
  EXPECT_EQ(world.leave, "");
  world.clean(low);
  EXPECT_EQ(world.job(low).preempted_at, world.now);
  EXPECT_EQ(world.pass(), "2:n1");
}

TEST(Preemption, ATestSaysWhoWouldBe) {
  PreemptingWorld world(1, 8);
  world.up();
  const JobId low = world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n1");
  const JobId high = world.submit(PreemptingWorld::high(8));
  const auto found = test_start_in_turn(world.state, high, world.now, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->preempted, std::vector<JobId>{low});
  EXPECT_EQ(found->nodes, "n1");
  EXPECT_EQ(found->partition, "high");
  EXPECT_EQ(world.job(low).state, JobState::kRunning) << "nothing was done";
}

TEST(Preemption, NothingOfItWhereItIsOff) {
  for (int way = 0; way < 3; ++way) {
    PreemptingWorld world(1, 8);
    if (way == 0) world.config.preempt_type = "preempt/none";
    if (way == 1) world.low().preempt_mode = PreemptMode::kOff;
    if (way == 2) world.low().priority_tier = 10;
    world.up();
    world.submit(World::spec(8, 10));
    EXPECT_EQ(world.pass(), "1:n1");
    world.submit(PreemptingWorld::high(8));
    EXPECT_EQ(world.pass() + world.leave, "") << way;
    EXPECT_EQ(world.running(), "1 ") << way;
  }
}

TEST(Preemption, NoMoreLeaveThanItTakes) {
  PreemptingWorld world(2, 8);
  world.up();
  for (int n = 0; n < 4; ++n) world.submit(World::spec(4, 10));
  EXPECT_EQ(world.pass(), "1:n1 2:n1 3:n2 4:n2");
  world.submit(PreemptingWorld::high(3));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "4 for 5");  // of jobs of a size the last one
  world.submit(PreemptingWorld::high(1));
  EXPECT_EQ(world.pass() + world.leave, "");  // there is room for it, too, when that one is gone
  EXPECT_EQ(world.soft->find(6)->planned_nodes, "n2");
  world.clean(4);
  EXPECT_EQ(world.pass(), "5:n2 6:n2");
}

TEST(Preemption, SmallerOnesLeaveFirstAndWholeNodesBecomeFree) {
  PreemptingWorld world(3, 8);
  world.up();
  JobSpec wide = World::spec(16, 10);
  wide.min_nodes = wide.max_nodes = 2;
  world.submit(wide);
  world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n[1-2] 2:n3");
  JobSpec alone = PreemptingWorld::high(1);
  alone.sharing = Sharing::kExclusive;
  world.submit(alone);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "2 for 3");
  JobSpec both = PreemptingWorld::high(16);
  both.min_nodes = both.max_nodes = 2;
  world.submit(both);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "1 for 4");
}

// The bug: the small ones were ended, too, though the large one alone leaves enough.
TEST(Preemption, SmallOnesStayWhereTheLargeOneIsEnough) {
  PreemptingWorld world(8, 4);
  world.up();
  JobSpec wide = World::spec(0, 10);
  wide.sharing = Sharing::kExclusive;
  for (const char* node : {"n1", "n2", "n3"}) {
    wide.required_nodes = node;
    wide.min_nodes = wide.max_nodes = 1;
    world.submit(wide);
  }
  wide.required_nodes = "";
  wide.min_nodes = wide.max_nodes = 5;
  world.submit(wide);
  EXPECT_EQ(world.pass(), "1:n1 2:n2 3:n3 4:n[4-8]");
  wide.min_nodes = wide.max_nodes = 4;
  wide.partitions = "high";
  world.submit(wide);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "4 for 5");
}

TEST(Preemption, YoungestFirst) {
  for (const bool youngest : {false, true}) {
    PreemptingWorld world(3, 8);
    if (youngest) world.config.preempt_parameters = {"youngest_first"};
    world.up();
    world.submit(World::spec(8, 60));
    EXPECT_EQ(world.pass(), "1:n1");
    world.pass_time(minutes(1));
    JobSpec wide = World::spec(16, 60);
    wide.min_nodes = wide.max_nodes = 2;
    world.submit(wide);
    EXPECT_EQ(world.pass(), "2:n[2-3]");
    world.submit(PreemptingWorld::high(8));
    world.pass();
    EXPECT_EQ(world.leave, youngest ? "2 for 3" : "1 for 3");
  }
}

TEST(Preemption, LowestTierFirst) {
  PreemptingWorld world(2, 8);
  world.partition("middle").priority_tier = 5;
  world.up();
  world.submit(World::spec(8, 10));
  JobSpec middle = World::spec(8, 10);
  middle.partitions = "middle";
  world.submit(middle);
  EXPECT_EQ(world.pass(), "2:n1 1:n2");
  world.submit(PreemptingWorld::high(8));
  world.pass();
  EXPECT_EQ(world.leave, "1 for 3");
  world.submit(middle);
  world.pass();
  EXPECT_EQ(world.leave, "");  // the one job of a lower tier leaves for another one already
}

TEST(Preemption, EachOfSeveralJobsHasItsOwnLeave) {
  PreemptingWorld world(2, 8);
  world.up();
  for (int n = 0; n < 4; ++n) world.submit(World::spec(4, 10));
  world.pass();
  JobSpec array = PreemptingWorld::high(4);
  array.array = "0-9%3";
  world.submit(array);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "4 for 5 3 for 5 2 for 5");
  for (const JobId id : {4, 3, 2}) world.clean(id);
  EXPECT_EQ(world.pass(), "5_0:n1 5_1:n2 5_2:n2");
}

TEST(Preemption, GraceTime) {
  PreemptingWorld world(1, 8);
  world.low().grace_time_s = 30;
  world.up();
  const JobId low = world.submit(World::spec(8, 60));
  world.pass();
  world.submit(PreemptingWorld::high(8));
  world.pass();
  EXPECT_EQ(world.leave, "1 for 2");
  EXPECT_EQ(world.job(low).state, JobState::kRunning);
  EXPECT_EQ(world.job(low).preempted_at, world.now);
  EXPECT_EQ(world.job(low).end, world.now + seconds(30));
  EXPECT_EQ(world.soft->find(2)->expected_start, world.now + seconds(30));
  world.pass_time(seconds(29));
  EXPECT_EQ(world.pass() + world.leave, "");
  EXPECT_EQ(world.soft->find(2)->expected_start, world.now + seconds(1));
  EXPECT_EQ(world.job(low).state, JobState::kRunning);
  world.pass_time(seconds(1));
  EXPECT_EQ(world.job(low).state, JobState::kPreempted);
  EXPECT_EQ(world.job(low).preempted_at, world.now);
}

TEST(Preemption, RequeuedWhereItMayBe) {
  PreemptingWorld world(2, 8);
  world.low().preempt_mode = PreemptMode::kRequeue;
  world.up();
  const JobId again = world.submit(World::spec(8, 10));
  JobSpec once = World::spec(8, 10);
  once.requeue = Toggle::kNo;
  const JobId gone = world.submit(once);
  world.pass();
  JobSpec wide = PreemptingWorld::high(16);
  wide.min_nodes = wide.max_nodes = 2;
  world.submit(wide);
  world.pass();
  EXPECT_EQ(world.leave, "2 for 3 1 for 3");
  world.clean(again);
  world.clean(gone);
  EXPECT_EQ(world.job(again).state, JobState::kPending);
  EXPECT_EQ(world.job(again).restart_count, 1U);
  EXPECT_EQ(world.job(again).exit_status, 0);
  EXPECT_EQ(world.job(again).reason, JobReason::kBeginTime);
  EXPECT_EQ(world.job(again).preempted_at, kNoTime);
  EXPECT_EQ(world.job(gone).state, JobState::kPreempted);
  EXPECT_EQ(world.pass(), "3:n[1-2]");
}

TEST(Preemption, NewJobsAreExemptForAWhile) {
  PreemptingWorld world(1, 8);
  world.config.preempt_exempt_time = minutes(2);
  world.up();
  const JobId low = world.submit(World::spec(8, 60));
  world.pass();
  EXPECT_EQ(preemptable_from(world.job(low)), world.now + minutes(2));
  world.submit(PreemptingWorld::high(8));
  world.pass();
  EXPECT_EQ(world.leave, "");
  world.pass_time(minutes(2));
  world.pass();
  EXPECT_EQ(world.leave, "1 for 2");
}

TEST(Preemption, ThoseThatAreNoHelpStay) {
  PreemptingWorld world(2, 8);
  world.up();
  JobSpec pinned = PreemptingWorld::high(8);
  world.submit(World::spec(8, 10));
  JobSpec top = PreemptingWorld::high(8);
  top.required_nodes = "n2";
  world.submit(top);
  EXPECT_EQ(world.pass(), "2:n2 1:n1");
  JobSpec wide = PreemptingWorld::high(16);  // more than the lower tier could leave
  wide.min_nodes = wide.max_nodes = 2;
  world.submit(wide);
  world.pass();
  EXPECT_EQ(world.leave, "");
  pinned.required_nodes = "n2";
  world.submit(pinned);
  world.pass();
  EXPECT_EQ(world.leave, "");
  EXPECT_EQ(world.running(), "1 2 ");
}

// The bug: only the first component counted as one that leaves, so that somebody else had to go for
// the next job.
TEST(Preemption, AllComponentsOfAHeterogeneousJobLeaveRoom) {
  PreemptingWorld world(3, 8);
  world.low().grace_time_s = 30;
  world.up();
  world.submit(World::spec(8, 60));
  const JobSpec part = World::spec(8, 60);
  state::SubmitJob het{{1001, 1001}, part, {}};
  het.components = {part};
  ASSERT_TRUE(world.run(het));
  EXPECT_EQ(world.pass(), "1:n1 2:n2 3:n3");
  world.submit(PreemptingWorld::high(8));
  world.submit(PreemptingWorld::high(8));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "3 for 4");
  EXPECT_EQ(world.soft->find(5)->expected_start, world.now + seconds(30));
  EXPECT_EQ(world.pass() + world.leave, "");
  for (const JobId id : {4, 5})
    EXPECT_EQ(world.soft->find(id)->expected_start, world.now + seconds(30));
  EXPECT_EQ(world.running(), "1 2 3 ");
  world.pass_time(seconds(30));
  EXPECT_EQ(world.running(), "1 ");
}

// The bug: tasks that had run before did not count, so that more had to leave than may run.
TEST(Preemption, NobodyLeavesForTasksBeyondAnArraysLimit) {
  PreemptingWorld world(1, 8);
  world.up();
  JobSpec array = PreemptingWorld::high(4);
  array.array = "0-1%1";
  world.submit(array);
  for (const auto& [task, record] : {std::pair("1_0", 2U), std::pair("1_1", 1U)}) {
    EXPECT_EQ(world.pass(), std::string(task) + ":n1");
    ASSERT_TRUE(world.run(state::ChangeJob{{0, 0}, task, protocol::JobAction::kRequeue, false}));
    world.clean(record);
  }
  world.submit(World::spec(4, 60));
  world.submit(World::spec(4, 60));
  EXPECT_EQ(world.pass(), "3:n1 4:n1");
  world.pass_time(seconds(61));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "4 for 1");
}

TEST(Preemption, InStrictOrderNobodyOvertakesWhoHasRoomMade) {
  for (const bool strict : {false, true}) {
    PreemptingWorld world(2, 8);
    if (strict) world.config.scheduler_type = "sched/builtin";
    world.up();
    world.submit(World::spec(8, 10));
    EXPECT_EQ(world.pass(), "1:n1");
    JobSpec first = PreemptingWorld::high(8);
    first.required_nodes = "n1";
    world.submit(first);
    world.submit(PreemptingWorld::high(8));
    EXPECT_EQ(world.pass(), strict ? "" : "3:n2");
    EXPECT_EQ(world.leave, "1 for 2");
  }
}

// Nobody has to wake the scheduler then.
TEST(Preemption, APassSaysWhenARunningJobIsNoLongerExempt) {
  PreemptingWorld world(1, 8);
  world.config.preempt_exempt_time = minutes(5);
  world.up();
  world.submit(World::spec(8, 60));
  EXPECT_EQ(world.pass(), "1:n1");
  world.submit(PreemptingWorld::high(8));
  world.now += minutes(1);
  const Plan plan = plan_pass(world.state, make_policies(world.state), world.now);
  EXPECT_EQ(plan.again, world.job(1).start + minutes(5));
  world.now = plan.again;
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "1 for 2");
  EXPECT_EQ(plan_pass(world.state, make_policies(world.state), world.now).again, kNever);
}

TEST(Preemption, NobodyMakesRoomForAJobThatItsPartitionRefuses) {
  PreemptingWorld world(1, 8);
  world.up();
  world.submit(World::spec(8, 60));
  EXPECT_EQ(world.pass(), "1:n1");
  const JobId high = world.submit(PreemptingWorld::high(8));
  PartitionConfig closed = *state::find_partition(world.state, "high")->config;
  closed.root_only = true;
  const state::PlannedPreemption planned{1, 0, high, "high", ""};
  state::apply(world.state,
               state::PartitionChanged{.config = std::make_shared<PartitionConfig>(closed)});
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "");
  ASSERT_TRUE(world.run(state::StartJobs{{}, {planned}}));
  EXPECT_EQ(world.job(1).state, JobState::kRunning);
}

JobId submit_het(World& world, const JobSpec& first, const JobSpec& second) {
  const auto reply = world.run(state::SubmitJob{{first.uid, first.uid}, first, {}, {second}});
  return reply ? std::get<state::JobSubmittedReply>(*reply).job : kNoJob;
}

TEST(Preemption, ForAllComponentsOfAHeterogeneousJob) {
  PreemptingWorld world(3, 8);
  world.up();
  for (int i = 0; i < 2; ++i) world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n1 2:n2");
  JobSpec first = PreemptingWorld::high(8);
  const JobId het = submit_het(world, first, PreemptingWorld::high(8));
  ASSERT_NE(het, kNoJob);
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "2 for 4") << "one has n3, for the other a job makes room";
  const JobId plain = world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "") << "what was found or made free is theirs";
  world.clean(2);
  EXPECT_EQ(world.pass(), "3:n2 4:n3");
  EXPECT_EQ(world.running(), "1 3 4 ");
  EXPECT_EQ(world.job(plain).state, JobState::kPending);
}

TEST(Preemption, ForNoComponentWhereAnotherFindsNoRoom) {
  PreemptingWorld world(2, 8);
  world.low().nodes = {"n1", "n2"};
  world.partition("safe").preempt_mode = PreemptMode::kOff;
  world.up();
  JobSpec safe = World::spec(8, 10);
  safe.partitions = "safe";
  world.submit(safe);
  world.submit(World::spec(8, 10));
  EXPECT_EQ(world.pass(), "1:n1 2:n2");
  submit_het(world, PreemptingWorld::high(8), PreemptingWorld::high(8));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "") << "it would leave in vain";
  const JobId one = world.submit(PreemptingWorld::high(8));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.leave, "2 for " + std::to_string(one)) << "the trial has left nothing behind";
}

}  // namespace
}  // namespace sluice::sched
