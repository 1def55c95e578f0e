// What a pass starts, in which order, where, and what it says of the jobs that wait.
#include <algorithm>

#include <gtest/gtest.h>

#include "common/names/job_states.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {
namespace {

TEST(Pass, StartsInOrderOfPriority) {
  World w(1, 2);
  w.up();
  JobSpec low = World::spec(1);
  low.nice = 100;
  w.submit(low);
  w.submit(World::spec(1));
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "2:n1 3:n1");
  EXPECT_EQ(w.reason(1), JobReason::kResources);
  w.finish(2);
  EXPECT_EQ(w.pass(), "1:n1");
}

TEST(Pass, TierGoesBeforePriority) {
  World w(1, 2);
  w.partition("high").priority_tier = 10;
  w.up();
  w.submit(World::spec(2));
  JobSpec high = World::spec(2);
  high.partitions = "high";
  high.nice = 1000;
  w.submit(high);
  EXPECT_EQ(w.pass(), "2:n1");
  EXPECT_EQ(w.reason(1), JobReason::kResources) << "the first that waits in its own partition";
}

TEST(Pass, SeveralPartitions) {
  World w(2, 2);
  w.config.partitions[0].nodes = {"n1"};
  w.partition("other").nodes = {"n2"};
  w.up();
  JobSpec both = World::spec(2);
  both.partitions = "debug,other";
  EXPECT_EQ(w.submit(both), 1U);
  w.submit(both);
  w.submit(both);
  EXPECT_EQ(w.pass(), "1:n1 2:n2");
  EXPECT_EQ(w.job(2).partition, "other");
  EXPECT_EQ(w.reason(3), JobReason::kResources);
}

TEST(Pass, CompleteWaitKeepsPartitionsFromStarting) {
  World w(3, 2);
  w.config.complete_wait = std::chrono::seconds(10);
  w.config.partitions[0].nodes = {"n1", "n2"};
  w.partition("other").nodes = {"n3"};
  w.up();
  w.submit(World::spec(2));
  EXPECT_EQ(w.pass(), "1:n1");
  w.run(state::SignalJob{{0, 0}, "1", 0, protocol::kSignalCancel});
  w.submit(World::spec(2));
  JobSpec elsewhere = World::spec(2);
  elsewhere.partitions = "other";
  w.submit(elsewhere);
  EXPECT_EQ(w.pass(), "3:n3") << "n2 is free, but n1 still settles";
  w.pass_time(std::chrono::seconds(9));
  EXPECT_TRUE(plan_pass(w.state, make_policies(w.state), w.now).settling);
  w.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(w.pass(), "2:n2") << "it took too long";
}

TEST(Pass, ArrayTasksUpToTheirLimit) {
  World w(1, 8);
  w.up();
  JobSpec array = World::spec(1);
  array.array = "1-6%2";
  w.submit(array);
  EXPECT_EQ(w.pass(), "1_1:n1 1_2:n1");
  EXPECT_EQ(w.reason(1), JobReason::kJobArrayTaskLimit);
  EXPECT_EQ(w.pass(), "");
  JobId second = kNoJob;
  w.state.active.for_each([&](JobId id) { second = std::max(second, id); });
  w.finish(second);
  EXPECT_EQ(w.pass(), "1_3:n1");
  array.array = "0-99";
  w.submit(array);
  w.pass();
  EXPECT_EQ(w.state.active.size(), 8U);
  EXPECT_EQ(w.state.pending.size(), 2U);
}

TEST(Pass, ReasonsOfTheJobItself) {
  World w;
  w.up();
  JobSpec held = World::spec(1);
  held.hold = true;
  JobSpec later = World::spec(1);
  later.begin = w.now + std::chrono::hours(1);
  const JobId first = w.submit(World::spec(1));
  JobSpec dependent = World::spec(1);
  dependent.dependency = "afterok:" + std::to_string(first);
  const JobId a = w.submit(held), b = w.submit(later), c = w.submit(dependent),
              d = w.submit(World::spec(1));
  w.run(state::ChangeJob{{0, 0}, std::to_string(d), protocol::JobAction::kHold});
  EXPECT_EQ(w.pass(), "1:n1");
  EXPECT_EQ(w.reason(a), JobReason::kJobHeldUser);
  EXPECT_EQ(w.reason(b), JobReason::kBeginTime);
  EXPECT_EQ(w.reason(c), JobReason::kDependency);
  EXPECT_EQ(w.reason(d), JobReason::kJobHeldAdmin);
  EXPECT_EQ(w.soft->find(a)->priority, 0U);
  w.pass_time(std::chrono::hours(1));
  EXPECT_EQ(w.pass(), std::to_string(b) + ":n1");
  w.finish(first);
  w.pass_time(std::chrono::seconds(1));
  EXPECT_EQ(w.pass(), std::to_string(c) + ":n1");
}

TEST(Pass, ReasonsOfThePartition) {
  World w;
  w.partition("limited").max_time = 10;
  w.config.partitions.back().max_nodes = 2;
  w.partition("down").state = PartitionState::kDown;
  w.partition("least").min_nodes = 3;
  w.up();
  const auto reason_in = [&](const char* partition, JobSpec spec) {
    spec.partitions = partition;
    const JobId id = w.submit(spec);
    w.pass();
    return reason_text(w.reason(id));
  };
  EXPECT_EQ(reason_in("limited", World::spec(1, 20)), "PartitionTimeLimit");
  JobSpec wide = World::spec(0, 5);
  wide.min_nodes = 3;
  EXPECT_EQ(reason_in("limited", wide), "PartitionNodeLimit");
  EXPECT_EQ(reason_in("down", World::spec(1)), "PartitionDown");
  wide.min_nodes = 1;
  wide.max_nodes = 4;
  EXPECT_EQ(reason_in("limited", wide), "PartitionNodeLimit")
      << "the most that is asked for counts";
  wide.min_nodes = wide.max_nodes = 2;
  EXPECT_EQ(reason_in("least", wide), "PartitionNodeLimit");
  wide.max_nodes = 0;
  EXPECT_EQ(reason_in("least", wide), "PartitionNodeLimit") << "-N2 asks for no more";
  wide.min_nodes = 9;
  wide.max_nodes = 0;
  EXPECT_EQ(reason_in("debug", wide), "PartitionConfig") << "larger than the partition";
  EXPECT_EQ(reason_in("debug", World::spec(1000)), "PartitionConfig");
  auto changed = std::make_shared<PartitionConfig>(w.config.partitions[0]);
  changed->state = PartitionState::kInactive;
  const JobId id = w.submit(World::spec(1));
  w.run(state::UpdatePartition{{0, 0}, protocol::PartitionAction::kUpdate, "debug", *changed});
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(id), JobReason::kPartitionInactive);
}

TEST(Pass, NodesThatAreNotThere) {
  World w;
  w.up();
  w.set_node("n3", "drain");
  w.set_node("n4", "down");
  JobSpec must = World::spec(1);
  must.required_nodes = "n[2-4]";
  const JobId a = w.submit(must);
  JobSpec all = World::spec(0);
  all.min_nodes = 4;
  const JobId b = w.submit(all);
  const JobId c = w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "3:n1") << "a job that waits for nodes to come back holds up nobody";
  EXPECT_EQ(w.reason(a), JobReason::kReqNodeNotAvail);
  EXPECT_EQ(w.soft->find(a)->reason_detail, "ReqNodeNotAvail, UnavailableNodes:n[3-4]");
  EXPECT_EQ(w.soft->find(b)->reason_detail,
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
            "partitions");
  EXPECT_EQ(w.job(c).state, JobState::kRunning);
  w.set_node("n[3-4]", "resume");
  EXPECT_EQ(w.pass(), "1:n[2-4] 2:n[1-4]");
}

TEST(Pass, BadConstraintsWhenTheNodesChanged) {
  World w;
  w.config.nodes[3].features = {"big"};
  w.up();
  JobSpec spec = World::spec(1);
  spec.constraint = "big";
  const JobId id = w.submit(spec);
  w.config.nodes[3].features = {};
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(id), JobReason::kBadConstraints);
}

TEST(Pass, LicensesThatThereAreNotWaitWhereTheSiteAllowsIt) {
  World w;
  w.config.licenses = "matlab:2";
  w.up();
  JobSpec spec = World::spec(1);
  spec.licenses = "matlab:5";
  EXPECT_FALSE(w.run(state::SubmitJob{{spec.uid, spec.uid}, spec, {}}));
  w.config.scheduler_parameters = {"allow_zero_lic"};
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  const JobId id = w.submit(spec);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(id), JobReason::kLicenses);
  w.config.licenses = "matlab:5";
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  EXPECT_EQ(w.pass(), std::to_string(id) + ":n1");
}

TEST(Pass, MemoryOverTheLimitOfANodeWaits) {
  World w;
  w.config.max_mem_per_node_mib = 500;
  w.partition("large").max_mem_per_node_mib = 1000;
  w.up();
  JobSpec spec = World::spec(1);
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 600;
  const JobId id = w.submit(spec);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(id), JobReason::kMaxMemPerLimit);
  spec.memory_kind = MemoryKind::kPerCpu;
  const JobId by_cpu = w.submit(spec);
  spec.memory_mib = 0;
  const JobId all = w.submit(spec);
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(by_cpu), JobReason::kMaxMemPerLimit);
  EXPECT_EQ(w.reason(all), JobReason::kMaxMemPerLimit);
  spec.memory_mib = 600;
  spec.memory_kind = MemoryKind::kPerNode;
  spec.partitions = "large";
  const JobId other = w.submit(spec);
  EXPECT_EQ(w.pass(), std::to_string(other) + ":n1");
  w.config.enforce_part_limits = EnforcePartLimits::kAll;
  w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)});
  spec.partitions = "debug";
  EXPECT_FALSE(w.run(state::SubmitJob{{spec.uid, spec.uid}, spec, {}}));
}

TEST(Pass, FirstWaitsForResourcesOthersForPriority) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(8, 60));
  w.pass();
  const JobId a = w.submit(World::spec(8, 60)), b = w.submit(World::spec(2, 60));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(a), JobReason::kResources);
  EXPECT_EQ(w.reason(b), JobReason::kPriority);
  EXPECT_EQ(w.soft->find(a)->expected_start, w.now + std::chrono::minutes(60));
  EXPECT_EQ(w.soft->find(a)->planned_nodes, "n[1-2]");
  EXPECT_EQ(w.soft->find(a)->partition, "debug");
}

TEST(Pass, LightNodesFirst) {
  World w(3, 4);
  w.config.nodes[0].weight = 10;
  w.config.nodes[1].weight = 5;
  w.up();
  JobSpec two = World::spec(0);
  two.min_nodes = 2;
  w.submit(two);
  w.submit(World::spec(4));
  EXPECT_EQ(w.pass(), "1:n[2-3] 2:n1");
}

TEST(Pass, NodesThatAreAsleepComeLast) {
  World w(3, 4);
  w.config.suspend_program = "/suspend";
  w.config.resume_program = "/resume";
  w.config.nodes[1].weight = w.config.nodes[2].weight = 5;
  w.up();
  w.set_node("n1", "POWER_DOWN");
  w.pass_time(std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) w.submit(World::spec(4));
  EXPECT_EQ(w.pass(), "1:n2 2:n3") << "n1 is on its way down";
  w.finish(1);
  w.finish(2);
  w.pass_time(w.config.suspend_timeout);
  for (int i = 0; i < 2; ++i) w.submit(World::spec(4));
  EXPECT_EQ(w.pass(), "3:n2 4:n3 5:n1") << "whatever it weighs";
  EXPECT_EQ(w.job(3).flags & kJobConfiguring, 0U);
  EXPECT_NE(w.job(5).flags & kJobConfiguring, 0U);
}

TEST(Pass, WhichNodes) {
  World w;
  w.config.nodes[1].features = {"a", "b"};
  w.config.nodes[2].features = {"b"};
  w.up();
  const auto goes_to = [&](auto change) {
    JobSpec spec = World::spec(0);
    change(spec);
    const JobId id = w.submit(spec);
    w.pass();
    const Job& job = w.job(id);
    const std::string nodes = job.allocation ? job.allocation->node_list : "";
    if (job.state == JobState::kRunning) w.finish(id);
    else w.run(state::SignalJob{{0, 0}, std::to_string(id), 0, protocol::kSignalCancel});
    return nodes;
  };
  EXPECT_EQ(goes_to([](JobSpec& s) { s.required_nodes = "n3"; }), "n3");
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.required_nodes = "n3";
              s.min_nodes = 2;
            }),
            "n[1,3]");
  EXPECT_EQ(goes_to([](JobSpec& s) { s.required_nodes = "n[2,4]"; }), "n[2,4]");
  EXPECT_EQ(goes_to([](JobSpec& s) { s.excluded_nodes = "n[1-3]"; }), "n4");
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.constraint = "a|b";
              s.min_nodes = 2;
            }),
            "n[2-3]");
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.constraint = "[a*1&b*1]";
              s.min_nodes = 2;
            }),
            "n[2-3]");
  const JobId blocker = w.submit([] {
    JobSpec s = World::spec(0);
    s.required_nodes = "n2";
    return s;
  }());
  w.pass();
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.sharing = Sharing::kExclusive;
              s.min_nodes = 2;
            }),
            "n[1,3]");
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.sharing = Sharing::kExclusive;
              s.contiguous = true;
              s.min_nodes = 2;
            }),
            "n[3-4]");
  EXPECT_EQ(goes_to([](JobSpec& s) {
              s.memory_kind = MemoryKind::kPerNode;
              s.memory_mib = 1000;
              s.min_nodes = 3;
            }),
            "n[1,3-4]");
  w.finish(blocker);
}

TEST(Pass, BudgetBoundsTheWork) {
  World w(1, 100);
  w.up();
  JobSpec array = World::spec(1);
  array.array = "0-49";
  w.submit(array);
  WorkBudget budget;
  budget.most_starts = 20;
  w.pass(budget);
  EXPECT_EQ(w.state.active.size(), 20U);
  w.pass(budget);
  w.pass(budget);
  EXPECT_EQ(w.state.active.size(), 50U);
}

TEST(Pass, TestOnly) {
  World w(2, 4);
  w.up();
  JobSpec busy = World::spec(8, 30);
  w.submit(busy);
  w.pass();
  Job job;
  job.spec = std::make_shared<JobSpec>(World::spec(4, 10));
  job.time_limit = 10;
  const auto found = test_start(w.state, job, w.now);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, w.now + std::chrono::minutes(30));
  EXPECT_EQ(found->nodes, "n1");
  EXPECT_EQ(found->cpus, 4U);
  EXPECT_EQ(found->partition, "debug");
  job.spec = std::make_shared<JobSpec>(World::spec(99));
  EXPECT_FALSE(test_start(w.state, job, w.now));
  const auto late = test_start(w.state, job, w.now, [] { return true; });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().text,
            "no start was found in the time that there is to look for one: try again later");
}

// Behind those that wait, too; they have their turn as in a pass.
TEST(Pass, TestOnlyInTurn) {
  World w(2, 4);
  w.up();
  w.submit(World::spec(8, 30));
  w.pass();
  w.submit(World::spec(8, 20));
  const JobId asked = w.submit(World::spec(4, 10));
  auto found = test_start_in_turn(w.state, asked, w.now, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, w.now + std::chrono::minutes(50));
  EXPECT_EQ(found->nodes, "n1");
  EXPECT_EQ(found->cpus, 4U);
  EXPECT_EQ(found->partition, "debug");
  EXPECT_TRUE(found->preempted.empty());
  WorkBudget budget;
  budget.out_of_time = [] { return true; };
  EXPECT_FALSE(test_start_in_turn(w.state, asked, w.now, budget));
}

TEST(Submission, RefusedWhenNoNodeCouldEverServe) {
  World w;
  w.config.nodes[0].features = {"fast"};
  w.up();
  const auto code = [&](auto change) {
    JobSpec spec = World::spec(1);
    change(spec);
    const auto reply = w.run(state::SubmitJob{{1001, 1001}, spec, {}});
    return reply ? ErrorCode::kOk : reply.error().code;
  };
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "fast"; }), ErrorCode::kOk);
  EXPECT_EQ(code([](JobSpec& s) {
              s.constraint = "fast";
              s.num_tasks = 0;
              s.min_nodes = 2;
            }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "fast&!fast"; }), ErrorCode::kInvalidFeature)
      << "there is no \"not\"";
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "fast fast"; }), ErrorCode::kInvalidFeature);
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "1"; }), ErrorCode::kInvalidFeature)
      << "a name, as it stands behind no *";
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "fast&80"; }), ErrorCode::kInvalidFeature);
  EXPECT_EQ(code([](JobSpec& s) { s.constraint = "[fast*1]"; }), ErrorCode::kOk);
  EXPECT_EQ(code([](JobSpec& s) { s.cpus_per_task = 9; }), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) {
              s.memory_kind = MemoryKind::kPerNode;
              s.memory_mib = 2000;
            }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) {
              s.memory_kind = MemoryKind::kPerCpu;
              s.memory_mib = 300;
              s.cpus_per_task = 4;
            }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) { s.sockets_per_node = 2; }), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) { s.tmp_disk_mib = 1; }), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code([](JobSpec& s) {
              s.num_tasks = 0;
              s.min_nodes = 9;
            }),
            ErrorCode::kOk)
      << "it may wait for more nodes";
  w.set_node("n[1-4]", "drain");
  EXPECT_EQ(code([](JobSpec& s) { s.num_tasks = 32; }), ErrorCode::kOk)
      << "whatever the nodes' state";
}

TEST(Pass, APartitionThatIsNoLongerThere) {
  World w(1, 2);
  w.partition("other");
  w.up();
  JobSpec spec = World::spec(1);
  spec.partitions = "other";
  w.submit(spec);
  w.config.partitions.pop_back();
  ASSERT_TRUE(w.run(state::ReplaceConfig{std::make_shared<ClusterConfig>(w.config)}));
  EXPECT_EQ(w.pass(), "");
  EXPECT_EQ(w.reason(1), JobReason::kPartitionDown) << "it waits for no other job";
}

TEST(Pass, ARunningJobKeepsThePriorityItStartedWith) {
  World w(1, 4);
  w.up();
  JobSpec nice = World::spec(4);
  nice.nice = 100;
  const JobId id = w.submit(nice);
  EXPECT_EQ(w.pass(), "1:n1");
  EXPECT_EQ(w.job(id).priority, 4'294'901'760U - 1 - 100);
  state::UpdateJob command{{0, 0}, "1", {}, {}};
  command.update.comment = "nothing of it changes that";
  ASSERT_TRUE(w.run(command));
  EXPECT_EQ(w.job(id).priority, 4'294'901'760U - 1 - 100);
}

// default_queue_depth: the others are not looked at in this pass.
TEST(Pass, LooksAtSoManyJobs) {
  World w(4, 1);
  w.up();
  for (int i = 0; i < 4; ++i) w.submit(World::spec(1));
  WorkBudget few;
  few.most_jobs = 2;
  EXPECT_EQ(w.pass(few), "1:n1 2:n2");
  EXPECT_EQ(w.reason(3), JobReason::kPriority);
  EXPECT_EQ(w.pass(few), "3:n3 4:n4");
}

// partition_job_depth: of each partition.
TEST(Pass, LooksAtSoManyJobsOfAPartition) {
  World w(4, 1);
  w.partition("other");
  w.up();
  JobSpec other = World::spec(1);
  other.partitions = "other";
  for (int i = 0; i < 2; ++i) w.submit(World::spec(1));
  for (int i = 0; i < 2; ++i) w.submit(other);
  WorkBudget few;
  few.most_of_partition = 1;
  EXPECT_EQ(w.pass(few), "1:n1 3:n2");
  EXPECT_EQ(w.pass(few), "2:n3 4:n4");
}

TEST(Pass, SerialJobsAtTheEnd) {
  World w(3, 4);
  w.config.scheduler_parameters = {"pack_serial_at_end"};
  w.config.nodes[2].weight = 5;
  w.up();
  w.submit(World::spec(1));
  w.submit(World::spec(2));
  w.submit(World::spec(1));
  EXPECT_EQ(w.pass(), "1:n2 2:n1 3:n2") << "of those that weigh the same";
}

// What accounting is told: the last reason, but for what every job that is not the first waits for.
TEST(Pass, ReasonsAreRemembered) {
  World w;
  w.up();
  JobSpec later = World::spec(1);
  later.begin = w.now + std::chrono::seconds(60);
  const JobId id = w.submit(later);
  WorkBudget budget;
  const Plan first = plan_pass(w.state, make_policies(w.state), w.now, budget);
  EXPECT_EQ(first.soft->waited_for(id, false), JobReason::kBeginTime);
  budget.previous = first.soft.get();
  const Plan second =
      plan_pass(w.state, make_policies(w.state), w.now + std::chrono::seconds(61), budget);
  ASSERT_EQ(second.starts.size(), 1U);
  EXPECT_EQ(second.soft->waited_for(id, true), JobReason::kBeginTime);
}

// Tasks that start at once waited for nothing, others for those.
TEST(Pass, OfAnArrayTheReasonIsThatBeforeThePass) {
  World w;
  w.up();
  JobSpec array = World::spec(1);
  array.array = "1-3%2";
  const JobId id = w.submit(array);
  WorkBudget budget;
  const Plan first = plan_pass(w.state, make_policies(w.state), w.now, budget);
  ASSERT_EQ(first.starts.size(), 2U);
  EXPECT_EQ(first.soft->waited_for(id, true), JobReason::kNone);
  EXPECT_EQ(first.soft->waited_for(id, false), JobReason::kJobArrayTaskLimit);
  budget.previous = first.soft.get();
  const Plan second = plan_pass(w.state, make_policies(w.state), w.now, budget);
  EXPECT_EQ(second.soft->waited_for(id, true), JobReason::kJobArrayTaskLimit);
}

}  // namespace
}  // namespace sluice::sched
