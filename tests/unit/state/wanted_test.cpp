// Orders that were lost on their way: how long, and of whom, they are wanted.
#include "ctld/state/rules/wanted.hpp"

#include <chrono>
#include <functional>

#include "ctld/state/rules/orders.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class WantedTest : public CoreTest {
 protected:
  // The names of the nodes that it is still wanted of.
  std::string wanted(const NodeOrder& order, Duration waited = {}) {
    return node_list(state_, still_wanted(state_, order, waited));
  }
  template <class Order>
  Order only() {
    const auto found = effects<Order>();
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Order() : found.front();
  }
  JobId started(const std::string& nodes, bool batch = true) {
    JobSpec spec = batch_spec();
    spec.batch = batch;
    spec.kill_on_node_fail = false;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, nodes));
    return id;
  }
  StepNumber create_step(JobId id, uint32_t nodes) {
    StepSpec step;
    step.num_tasks = step.min_nodes = step.max_nodes = nodes;
    const auto reply = run(CreateStep{kAnn, id, step});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
    return reply ? std::get<StepCreatedReply>(*reply).id.step : 0;
  }
  Result<Reply> update_node(const std::string& name, const std::string& to) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = name;
    command.update.state = to;
    command.update.reason = "test";
    return run(command);
  }
  Result<Reply> signal(JobId id, uint32_t number, StepNumber step = UINT32_MAX) {
    const std::string target =
        std::to_string(id) + (step == UINT32_MAX ? "" : "." + std::to_string(step));
    return run(SignalJob{kAnn, target, number, 0});
  }
};

TEST_F(WantedTest, LaunchUntilTheNodeIsThroughWithIt) {
  const JobId id = started("n[1-2]", false);
  const StepNumber step = create_step(id, 2);
  const NodeOrder launch = only<LaunchStep>();
  EXPECT_EQ(wanted(launch), "n[1-2]");
  EXPECT_EQ(node_list(state_, nodes_of_order(state_, launch)), "n[1-2]");
  ASSERT_TRUE(end_step(id, step, "n1", 0));
  EXPECT_EQ(wanted(launch), "n2");
  ASSERT_TRUE(signal(id, 9));
  EXPECT_EQ(wanted(launch), "") << "the end must not be overtaken";
}

TEST_F(WantedTest, PrologWhileTheJobWaitsForIt) {
  configure([](ClusterConfig& config) {
    config.prolog = {"/prolog"};
    config.prolog_flags = {"Alloc"};
  });
  const JobId id = started("n[1-2]");
  const NodeOrder prolog = only<LaunchProlog>();
  EXPECT_EQ(wanted(prolog), "n[1-2]");
  ASSERT_TRUE(run(PrologDone{id, 0, "n1", 0}));
  EXPECT_EQ(wanted(prolog), "n2");
  ASSERT_TRUE(run(NodesTimedOut{{0}}));  // with the script: it is queued again
  ASSERT_TRUE(cleaned(id, "n2"));
  ASSERT_EQ(job(id).restart_count, 1U);
  EXPECT_EQ(wanted(prolog), "");
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(start_job(id, "n2"));
  EXPECT_EQ(wanted(prolog), "") << "it was for another run";
  EXPECT_EQ(wanted(only<LaunchProlog>()), "n2");
}

TEST_F(WantedTest, EndOfAStepUntilItsPartsHaveEnded) {
  const JobId id = started("n[1-2]", false);
  const StepNumber step = create_step(id, 2);
  const protocol::StepKey key{{id, step}, 0};
  TerminateStep early{.key = key, .nodes = step_nodes_left(*find_step(job(id), step))};
  EXPECT_EQ(wanted(early), "") << "nobody has ended it";
  ASSERT_TRUE(signal(id, 0, step));
  const NodeOrder end = only<TerminateStep>();
  EXPECT_EQ(wanted(end), "n[1-2]");
  EXPECT_EQ(wanted(LaunchStep{key}), "n[1-2]") << "a node that never had it has to report its end";
  ASSERT_TRUE(end_step(id, step, "n2", 9));
  EXPECT_EQ(wanted(end), "n1");
  ASSERT_TRUE(end_step(id, step, "n1", 9));
  EXPECT_EQ(wanted(end), "");
}

// Its agent forgot the end that came before the launch.
TEST_F(WantedTest, AnAgentThatComesBackIsToldOfTheEndOfAStep) {
  const JobId id = started("n[1-2]", false);
  const StepNumber step = create_step(id, 2);
  const protocol::StepKey key{{id, step}, 0};
  register_node("n2", {key});
  EXPECT_TRUE(effects<TerminateStep>().empty());
  ASSERT_TRUE(signal(id, 0, step));
  register_node("n2");
  EXPECT_EQ(wanted(only<LaunchStep>()), "n2") << "it has to report an end; others know of the step";
  EXPECT_EQ(wanted(only<TerminateStep>()), "n2");
  register_node("n2", {key});
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_EQ(wanted(only<TerminateStep>()), "n2");
  ASSERT_TRUE(end_step(id, step, "n2", 9));
  register_node("n2");
  EXPECT_TRUE(effects<TerminateStep>().empty());
}

TEST_F(WantedTest, EndOfAJobWhereItIsHeld) {
  const JobId id = started("n[1-3]", false);
  ASSERT_TRUE(signal(id, 9));
  const NodeOrder end = only<TerminateJob>();
  EXPECT_EQ(wanted(end), "n[1-3]");
  ASSERT_TRUE(cleaned(id, "n2"));
  EXPECT_EQ(wanted(end), "n[1,3]");
  ASSERT_TRUE(cleaned(id, "n1,n3"));
  EXPECT_EQ(wanted(end), "");
}

TEST_F(WantedTest, EndOnANodeThatTheJobHasLost) {
  const JobId id = started("n[1-2]");
  ASSERT_TRUE(update_node("n2", "DOWN"));
  const NodeOrder end = only<TerminateJob>();
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(wanted(end), "n2") << "whatever the job does";
  ASSERT_TRUE(run(NodesNotResponding{{1}}));
  EXPECT_EQ(wanted(end), "") << "it registers when it is back";
}

// One waits for its repetition when the next one is not delivered, either.
TEST_F(WantedTest, OrdersAboutTheSameAreJoined) {
  const JobId id = started("n[1-3]");
  ASSERT_TRUE(update_node("n2", "DOWN"));
  NodeOrder end = only<TerminateJob>();
  ASSERT_TRUE(update_node("n3", "DOWN"));
  const NodeOrder next = only<TerminateJob>();
  ASSERT_EQ(subject_of(end, 1), subject_of(next, 2));
  join_orders(end, next);
  EXPECT_EQ(wanted(end), "n[2-3]");
  NodeOrder launch = LaunchStep{{{id, kBatchStep}, 0}};
  join_orders(launch, launch);
  EXPECT_EQ(wanted(launch), "n1") << "where its step is left";
  LaunchStep one{{{id, kBatchStep}, 0}}, other = one;
  one.nodes.set(1);
  other.nodes.set(2);
  NodeOrder both = one;
  join_orders(both, other);
  EXPECT_EQ(std::get<LaunchStep>(both).nodes.count(), 2U);
  join_orders(both, launch);
  EXPECT_EQ(wanted(both), "n1") << "all that are left";
}

TEST_F(WantedTest, WhatTellsOrdersApart) {
  const protocol::StepKey key{{7, 0}, 0};
  EXPECT_NE(subject_of(LaunchStep{key}, 1), subject_of(TerminateStep{key, {}, false}, 1));
  EXPECT_NE(subject_of(TerminateStep{key, {}, true}, 1),
            subject_of(TerminateStep{key, {}, false}, 1));
  EXPECT_NE(subject_of(LaunchStep{key}, 1), subject_of(LaunchStep{{{7, 0}, 1}}, 1))
      << "another run";
  EXPECT_EQ(subject_of(LaunchStep{key}, 1), subject_of(LaunchStep{key}, 2));
  SignalSteps signal;
  signal.request.key = key;
  EXPECT_NE(subject_of(signal, 1), subject_of(signal, 2)) << "each is delivered";
  signal.request.issued = now_;
  EXPECT_EQ(subject_of(signal, 1), subject_of(signal, 2)) << "to stop, which is known by its time";
}

TEST_F(WantedTest, RebootWhileItIsUnderWay) {
  configure([](ClusterConfig& config) { config.reboot_program = "/sbin/reboot"; });
  ASSERT_TRUE(run(RebootNodes{kRoot, {"n1", false, AfterReboot::kAsBefore, {}}}));
  const NodeOrder reboot = only<RebootNow>();
  EXPECT_EQ(wanted(reboot), "n1");
  ASSERT_TRUE(update_node("n1", "RESUME"));
  EXPECT_EQ(wanted(reboot), "");
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(run(RebootNodes{kRoot, {"n1", false, AfterReboot::kAsBefore, {}}}));
  EXPECT_EQ(wanted(reboot), "") << "another one";
  const NodeOrder other = only<RebootNow>();
  EXPECT_EQ(wanted(other), "n1");
  EXPECT_NE(subject_of(reboot, 1), subject_of(other, 1))
      << "it must not wait in place of the other";
}

TEST_F(WantedTest, ConfigurationWhereNoRegistrationBringsIt) {
  configure([](ClusterConfig& config) {
    NodeConfig fresh = config.nodes.front();
    fresh.name = fresh.hostname = "n5";
    config.nodes.push_back(fresh);
  });
  const NodeOrder order = only<ReconfigureNodes>();
  EXPECT_EQ(node_list(state_, nodes_of_order(state_, order)), "n[1-5]");
  EXPECT_EQ(wanted(order, std::chrono::hours(1)), "n[1-4]") << "n5 has to register first";
  register_node("n5");
  EXPECT_EQ(wanted(order), "n[1-5]");
  ASSERT_TRUE(run(NodesNotResponding{{0}}));
  EXPECT_EQ(wanted(order), "n[1-5]") << "it may come back without a registration";
  ASSERT_TRUE(run(NodesTimedOut{{0}}));
  EXPECT_EQ(wanted(order), "n[2-5]") << "it registers when it is back";
  configure([](ClusterConfig& config) { config.nodes.pop_back(); });
  EXPECT_EQ(wanted(order), "n[2-4]");
  const auto last = effects<ReconfigureNodes>();
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(wanted(last[0]), "") << "n5 hears once that it has to go";
  EXPECT_EQ(subject_of(order, 1), subject_of(last[1], 2)) << "the newest is sent anyway";
  EXPECT_TRUE(may_repeat(order, ErrorCode::kTimedOut));
}

TEST_F(WantedTest, SignalsForAShortWhile) {
  const JobId id = started("n[1-2]", false);
  const StepNumber step = create_step(id, 2);
  ASSERT_TRUE(signal(id, 10, step));
  const NodeOrder order = only<SignalSteps>();
  EXPECT_EQ(wanted(order, std::chrono::seconds(9)), "n[1-2]");
  EXPECT_EQ(wanted(order, std::chrono::seconds(10)), "") << "MessageTimeout";
  ASSERT_TRUE(end_step(id, step, "n1", 0));
  EXPECT_EQ(wanted(order), "n2");
  EXPECT_TRUE(may_repeat(order, ErrorCode::kUnreachable));
  EXPECT_FALSE(may_repeat(order, ErrorCode::kTimedOut)) << "it may have been delivered";
  EXPECT_FALSE(may_repeat(order, ErrorCode::kConnectionLost));
  EXPECT_FALSE(may_repeat(order, ErrorCode::kInvalidStepId));
}

TEST_F(WantedTest, StopAndGoAsTheJobIsNow) {
  const JobId id = started("n1");
  const protocol::StepKey script{{id, kBatchStep}, 0};
  EXPECT_FALSE(stop_after_launch(state_, script));
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kSuspend, false}));
  const NodeOrder stop = only<SignalSteps>();
  EXPECT_EQ(wanted(stop, std::chrono::hours(1)), "n1");
  EXPECT_TRUE(may_repeat(stop, ErrorCode::kTimedOut)) << "it is known by its time";
  const auto again = stop_after_launch(state_, script);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->request.issued, std::get<SignalSteps>(stop).request.issued);
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kResume, false}));
  EXPECT_EQ(wanted(stop), "") << "it goes on";
  EXPECT_EQ(wanted(only<SignalSteps>()), "n1");
  EXPECT_FALSE(stop_after_launch(state_, script));
}

TEST_F(WantedTest, WhatMayBeRepeated) {
  using enum ErrorCode;
  for (const ErrorCode lost : {kUnreachable, kTimedOut, kConnectionLost, kRetry}) {
    EXPECT_TRUE(may_repeat(LaunchStep{}, lost));
    EXPECT_TRUE(may_repeat(TerminateJob{}, lost));
  }
  EXPECT_TRUE(may_repeat(LaunchStep{}, kAuthentication)) << "it says nothing of the job";
  EXPECT_TRUE(may_repeat(SignalSteps{}, kAuthentication)) << "it was not delivered";
  EXPECT_FALSE(may_repeat(LaunchStep{}, ErrorCode::kInvalidCredential));
  EXPECT_TRUE(may_repeat(LaunchProlog{}, kAccessDenied)) << "its agent expects another SlurmUser";
  EXPECT_TRUE(refuses_controller(kAccessDenied));
  EXPECT_FALSE(refuses_controller(kInvalidCredential));
}

}  // namespace
}  // namespace sluice::state
