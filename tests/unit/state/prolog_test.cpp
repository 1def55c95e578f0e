// PrologFlags: what waits for which prolog, and what comes of one that fails.
#include "support/core_fixture.hpp"

#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::state {
namespace {

class PrologTest : public CoreTest {
 protected:
  PrologTest() { flags({"Alloc"}); }
  void flags(std::vector<std::string> names) {
    configure([&](ClusterConfig& config) {
      config.prolog = {"/prolog"};
      config.prolog_flags = std::move(names);
    });
  }
  JobId started(const JobSpec& spec, const std::string& nodes) {
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, nodes));
    return id;
  }
  void prepared(JobId id, const std::string& node, int32_t status = 0) {
    ASSERT_TRUE(run(PrologDone{id, job(id).restart_count, node, status}));
  }
  ErrorCode try_step(JobId id) {
    StepSpec step;
    step.num_tasks = 1;
    return error_of(CreateStep{kAnn, id, step});
  }
};

TEST_F(PrologTest, ScriptBeginsWhenItsOwnNodeIsPrepared) {
  const JobId id = started(batch_spec(), "n[1-3]");
  ASSERT_EQ(effects<LaunchProlog>().size(), 1u);
  EXPECT_EQ(effects<LaunchProlog>()[0].nodes.count(), 3u);
  EXPECT_TRUE(effects<LaunchStep>().empty());
  prepared(id, "n2");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_TRUE(effects<LaunchProlog>().empty()) << "they run already";
  prepared(id, "n1");
  ASSERT_EQ(effects<LaunchStep>().size(), 1u);
  EXPECT_EQ(effects<LaunchStep>()[0].key.id.step, kBatchStep);
  EXPECT_NE(job(id).flags & kJobConfiguring, 0u);
  EXPECT_EQ(try_step(id), ErrorCode::kStepsBusy) << "its own sruns wait for all";
  prepared(id, "n3");
  EXPECT_TRUE(effects<LaunchStep>().empty()) << "it was launched";
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0u);
  EXPECT_EQ(try_step(id), ErrorCode::kOk);
}

TEST_F(PrologTest, DeferBatchWaitsForAllNodes) {
  flags({"Alloc", "DeferBatch"});
  const JobId id = started(batch_spec(), "n[1-2]");
  flags({"Alloc"});  // what a job waits for is settled when it starts
  prepared(id, "n1");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  prepared(id, "n2");
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
}

TEST_F(PrologTest, AfterTheControllersProlog) {
  configure([](ClusterConfig& config) { config.prolog_slurmctld = {"/prolog"}; });
  const JobId id = started(batch_spec(), "n1");
  EXPECT_EQ(effects<RunControllerProlog>().size(), 1u);
  EXPECT_TRUE(effects<LaunchProlog>().empty());
  prepared(id, "");
  EXPECT_TRUE(effects<RunControllerProlog>().empty());
  EXPECT_EQ(effects<LaunchProlog>().size(), 1u);
  EXPECT_TRUE(effects<LaunchStep>().empty());
  prepared(id, "n1");
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
}

TEST_F(PrologTest, NoHoldLetsAllocationsGoOn) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = started(spec, "n[1-2]");
  EXPECT_FALSE(make_watch_update(state_, job(id)).ready);
  EXPECT_EQ(try_step(id), ErrorCode::kStepsBusy);
  flags({"Alloc", "NoHold"});
  EXPECT_TRUE(make_watch_update(state_, job(id)).ready);
  EXPECT_EQ(try_step(id), ErrorCode::kOk);
  EXPECT_EQ(effects<LaunchStep>().size(), 1u) << "the nodes hold it until their prologs have ended";
  prepared(id, "n1");
  EXPECT_TRUE(effects<LaunchStep>().empty());
}

TEST_F(PrologTest, AfterAFailureTheJobIsQueuedAgainIfItMayBe) {
  JobSpec spec = batch_spec();
  const JobId usual = started(spec, "n1");
  prepared(usual, "n1", 1 << 8);
  EXPECT_EQ(job(usual).flags & kJobRequeued, kJobRequeued);
  EXPECT_NE(state_.nodes.at(0).flags & kNodeDrain, 0u);
  spec.requeue = Toggle::kNo;
  const JobId once = started(spec, "n2");
  prepared(once, "n2", 1 << 8);
  EXPECT_EQ(job(once).flags & kJobRequeued, 0u);
  EXPECT_EQ(job(once).state, JobState::kFailed);
  EXPECT_EQ(job(once).reason, JobReason::kProlog);
  flags({"Alloc", "ForceRequeueOnFail"});
  const JobId forced = started(spec, "n3");
  prepared(forced, "n3", 1 << 8);
  EXPECT_EQ(job(forced).flags & kJobRequeued, kJobRequeued);
  spec.batch = false;
  const JobId allocation = started(spec, "n4");
  prepared(allocation, "n4", 1 << 8);
  EXPECT_EQ(job(allocation).flags & kJobRequeued, 0u);
  EXPECT_EQ(job(allocation).state, JobState::kFailed);
}

// The node is no better for the job's end, which no prolog is killed for.
TEST_F(PrologTest, AFailureAfterTheJobsEndDrainsToo) {
  const JobId id = started(batch_spec(), "n[1-3]");
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  prepared(id, "n2", 1 << 8);
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0u);
  EXPECT_NE(state_.nodes.at(1).flags & kNodeDrain, 0u);
  EXPECT_EQ(state_.nodes.at(1).reason, "Prolog error");
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  ASSERT_TRUE(cleaned(id, "n[1-3]"));
  EXPECT_TRUE(is_finished(job(id)));
  prepared(id, "n1");
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0u);
  prepared(id, "n3", 1 << 8);
  EXPECT_NE(state_.nodes.at(2).flags & kNodeDrain, 0u);
  EXPECT_EQ(job(id).state, JobState::kCancelled);
}

// The bug: a report that came again, as its acknowledgement was lost, drained what an administrator
// had resumed meanwhile.
TEST_F(PrologTest, WhatDrainsANodeCountsOnce) {
  protocol::StepEnded step;
  step.key = {{7, kBatchStep}, 0};
  step.nodes = "n2";
  step.drain_node = true;
  step.happened = now_;
  const std::vector<Command> reports{PrologDone{7, 0, "n1", 1 << 8, now_}, EndSteps{{step}},
                                     JobsCleaned{{{7, 0, "n3", 1 << 8, false, now_}}}};
  const auto drained = [&](NodeId node) { return (state_.nodes.at(node).flags & kNodeDrain) != 0; };
  for (NodeId node = 0; node < 3; ++node) {
    ASSERT_TRUE(run(reports[node]));
    EXPECT_TRUE(drained(node));
    now_ += std::chrono::seconds(10);
    ASSERT_TRUE(run(node_update(state_.nodes.at(node).name, "resume")));
    now_ += std::chrono::seconds(10);
    ASSERT_TRUE(run(reports[node]));
    EXPECT_FALSE(drained(node)) << "report " << node << " was known";
  }
  ASSERT_TRUE(run(PrologDone{7, 1, "n1", 1 << 8, now_}));
  EXPECT_TRUE(drained(0)) << "it failed again";
}

// What was gathered in the tree is told at once, of several jobs; a step is launched once for all
// that.
TEST_F(PrologTest, ManyReportsAtOnce) {
  flags({"Alloc", "DeferBatch"});
  const JobId well = started(batch_spec(), "n[1-3]");
  const JobId failed = started(batch_spec(), "n[1-2]");
  ASSERT_TRUE(run(PrologsDone{{{well, 0, "n[1-2]", 0},
                               {failed, 0, "n1", 0},
                               {failed, 0, "n2", 1 << 8},
                               {well, 0, "n3", 0}}}));
  ASSERT_EQ(effects<LaunchStep>().size(), 1U);
  EXPECT_EQ(effects<LaunchStep>()[0].key.id.job, well);
  EXPECT_EQ(job(well).flags & kJobConfiguring, 0U);
  EXPECT_NE(job(failed).state, JobState::kRunning);
  EXPECT_NE(state_.nodes.at(1).flags & kNodeDrain, 0U);
  EXPECT_EQ(state_.nodes.at(0).flags & kNodeDrain, 0U);
}

// A node tells by its own clock when something happened.
TEST_F(PrologTest, TheClocksOfNodesDiffer) {
  const Duration second = std::chrono::seconds(1);
  EXPECT_EQ(protocol::by_own_clock(now_ - 50 * second, now_ - 40 * second, now_),
            now_ - 10 * second);
  EXPECT_EQ(protocol::by_own_clock(kNoTime, now_ - 40 * second, now_), kNoTime);
  EXPECT_EQ(protocol::by_own_clock(now_ + second, now_, now_), now_)
      << "nothing happens after it is told";
  EXPECT_LT(protocol::by_own_clock(Time::min() + second, Time::max(), now_), now_)
      << "a liar's times";
  EXPECT_EQ(protocol::by_own_clock(Time::max(), Time::min() + second, now_), now_);
}

// A job that goes on without a node was never launched when that node's prolog was the last.
TEST_F(PrologTest, NobodyWaitsForANodeThatIsLost) {
  flags({"Alloc", "DeferBatch"});
  JobSpec spec = batch_spec();
  spec.kill_on_node_fail = false;
  const JobId id = started(spec, "n[1-2]");
  prepared(id, "n1");
  ASSERT_TRUE(run(NodesTimedOut{{1}}));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0u);
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
}

// The order, or its answer, was lost with the agent: the job stayed CONFIGURING for ever.
TEST_F(PrologTest, AnAgentThatComesBackIsToldAgain) {
  const JobId id = started(batch_spec(), "n[1-2]");
  register_node("n2");
  ASSERT_EQ(effects<LaunchProlog>().size(), 1u);
  EXPECT_EQ(effects<LaunchProlog>()[0].nodes.to_text(), "1");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  register_node("n1");
  EXPECT_TRUE(effects<LaunchStep>().empty()) << "the script comes after the prolog";
  prepared(id, "n1");
  register_node("n1");
  EXPECT_TRUE(effects<LaunchProlog>().empty());
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
  const Effects again = resume(state_);
  const auto prologs = std::ranges::count_if(
      again, [](const Effect& e) { return std::holds_alternative<LaunchProlog>(e); });
  const auto launches = std::ranges::count_if(
      again, [](const Effect& e) { return std::holds_alternative<LaunchStep>(e); });
  EXPECT_EQ(prologs, 1);
  EXPECT_EQ(launches, 1);
}

}  // namespace
}  // namespace sluice::state
