// Jobs that are suspended for others, and go on later.
#include "preempting_world.hpp"

namespace sluice::sched {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct SuspendingWorld : PreemptingWorld {
  explicit SuspendingWorld(uint32_t nodes = 1, uint32_t cpus = 8) : PreemptingWorld(nodes, cpus) {
    config.preempt_mode = PreemptMode::kSuspend;
    config.preempt_gang = true;
  }
  JobState state_of(JobId id) const { return job(id).state; }
};

TEST(PreemptionBySuspension, TheJobGoesOnWhenItsCpusAreFree) {
  SuspendingWorld w;
  w.up();
  const JobId low = w.submit(World::spec(8, 10));
  EXPECT_EQ(w.pass(), "1:n1");
  w.now += minutes(2);
  const JobId high = w.submit(PreemptingWorld::high(8));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.state_of(low), JobState::kSuspended);
  EXPECT_EQ(w.pass(), "2:n1");
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.state_of(low), JobState::kSuspended);
  w.now += minutes(5);
  w.finish(high);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.state_of(low), JobState::kRunning);
  EXPECT_EQ(w.job(low).end, w.now + minutes(8));
}

// What it gave up for one job is not for others of its tier.
TEST(PreemptionBySuspension, ItGoesOnBeforeJobsOfItsTierStart) {
  SuspendingWorld w;
  w.up();
  const JobId low = w.submit(World::spec(8, 10));
  w.pass();
  const JobId high = w.submit(PreemptingWorld::high(4, 5));
  w.pass();
  const JobId other = w.submit(World::spec(4, 5));
  EXPECT_EQ(w.pass(), "2:n1 3:n1") << "the other ends when the first one does";
  w.now += minutes(1);
  w.submit(World::spec(4, 5));
  w.finish(other);
  EXPECT_EQ(w.pass(), "") << "that would keep the suspended one from going on in four minutes";
  w.finish(high);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.state_of(low), JobState::kRunning);
}

// The bug: one that waited when the others were suspended took what was left of their CPUs in the
// same pass, and they stayed suspended behind it.
TEST(PreemptionBySuspension, WhatIsLeftOfItsCpusIsNotForThoseThatWaitAlready) {
  SuspendingWorld w;
  w.up();
  const JobId low = w.submit(World::spec(8, 60));
  w.pass();
  const JobId other = w.submit(World::spec(4, 60));
  EXPECT_EQ(w.pass(), "");
  w.now += minutes(1);
  const JobId high = w.submit(PreemptingWorld::high(4, 10));
  w.pass();
  EXPECT_EQ(w.state_of(low), JobState::kSuspended);
  EXPECT_EQ(w.pass(), "3:n1");
  EXPECT_EQ(w.state_of(other), JobState::kPending);
  w.now += minutes(2);
  w.finish(high);
  w.pass();
  EXPECT_EQ(w.state_of(low), JobState::kRunning);
  EXPECT_EQ(w.state_of(other), JobState::kPending);
}

TEST(PreemptionBySuspension, MemoryIsKept) {
  SuspendingWorld w;
  w.up();
  JobSpec large = World::spec(4, 10);
  large.memory_kind = MemoryKind::kPerNode;
  large.memory_mib = 600;
  w.submit(large);
  w.pass();
  JobSpec high = PreemptingWorld::high(8);
  high.memory_kind = MemoryKind::kPerNode;
  high.memory_mib = 600;
  w.submit(high);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.leave, "") << "to suspend it would be no use";
  EXPECT_EQ(w.state_of(1), JobState::kRunning);
}

TEST(PreemptionBySuspension, WholeNodesToo) {
  SuspendingWorld w;
  w.up();
  JobSpec low = World::spec(1, 10);
  low.sharing = Sharing::kExclusive;
  low.memory_kind = MemoryKind::kPerNode;
  low.memory_mib = 100;
  const JobId first = w.submit(low);
  EXPECT_EQ(w.pass(), "1:n1");
  JobSpec high = low;
  high.partitions = "high";
  const JobId second = w.submit(high);
  w.pass();
  EXPECT_EQ(w.leave, "1 for 2");
  EXPECT_EQ(w.pass(), "2:n1");
  w.finish(second);
  w.pass();
  EXPECT_EQ(w.state_of(first), JobState::kRunning);
  EXPECT_TRUE(w.state.nodes.at(0).exclusive);
}

TEST(PreemptionBySuspension, AnAdminsSuspensionIsLeftToHim) {
  SuspendingWorld w;
  w.up();
  const JobId job = w.submit(World::spec(8, 10));
  w.pass();
  state::apply(w.state, state::JobSuspended{.job = job, .time = w.now});
  w.pass();
  EXPECT_EQ(w.state_of(job), JobState::kSuspended);
}

TEST(PreemptionBySuspension, ACancelledOneIsGone) {
  SuspendingWorld w;
  w.up();
  const JobId low = w.submit(World::spec(8, 10));
  w.pass();
  const JobId high = w.submit(PreemptingWorld::high(8));
  w.pass();
  w.pass();
  EXPECT_TRUE(w.run(state::SignalJob{{0, 0}, std::to_string(low), 0, protocol::kSignalCancel}));
  w.clean(low);
  w.finish(high);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.state.active.size(), 0U);
}

}  // namespace
}  // namespace sluice::sched
