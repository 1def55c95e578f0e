// Power saving: nodes are put down and woken.
#include "ctld/state/decide/node/power.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class PowerTest : public CoreTest {
 protected:
  PowerTest() {
    configure([](ClusterConfig& config) {
      config.suspend_program = "/sbin/suspend";
      config.resume_program = "/sbin/resume";
      config.suspend_timeout = std::chrono::seconds(10);
      config.resume_timeout = std::chrono::seconds(60);
    });
  }
  void pass(Duration time) {
    now_ += time;
    run(Tick{});
  }
  void tick() { pass(std::chrono::seconds(1)); }
  void boot(const std::string& name, const std::string& boot_id) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = boot_id;
    ASSERT_TRUE(run(command));
  }
  void put_down(const std::string& name) {
    ASSERT_TRUE(run(node_update(name, "POWER_DOWN")));
    tick();
    pass(std::chrono::seconds(10));
    ASSERT_TRUE(has(name, kNodePoweredDown));
  }
  const Node& node(const std::string& name) { return *find_node(state_, name); }
  bool has(const std::string& name, NodeFlags flags) { return (node(name).flags & flags) == flags; }
  // The nodes for which the last command has the program run.
  std::string ran(PowerProgram program) {
    Bitmap nodes;
    for (const PowerNodes& order : effects<PowerNodes>()) {
      if (order.program == program) nodes |= order.nodes;
    }
    return node_list(state_, nodes);
  }
};

TEST_F(PowerTest, DownAndUpByHand) {
  ASSERT_TRUE(run(node_update("n1", "POWER_DOWN")));
  EXPECT_TRUE(has("n1", kNodePowerDown));
  EXPECT_FALSE(is_schedulable(node("n1")));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n1");
  EXPECT_TRUE(has("n1", kNodePoweringDown));
  EXPECT_FALSE(has("n1", kNodePowerDown));
  EXPECT_FALSE(expects_agent(node("n1")));
  boot("n1", "boot");
  EXPECT_TRUE(has("n1", kNodePoweringDown)) << "its agent is on its way out";
  ASSERT_TRUE(run(NodesTimedOut{{node("n1").id}}));
  EXPECT_EQ(node("n1").base, NodeBaseState::kIdle);
  pass(std::chrono::seconds(10));
  EXPECT_TRUE(has("n1", kNodePoweredDown));
  EXPECT_EQ(node("n1").last_busy, kNoTime);
  EXPECT_TRUE(effects<PowerNodes>().empty());

  ASSERT_TRUE(run(node_update("n1", "POWER_UP")));
  EXPECT_TRUE(has("n1", kNodePoweredDown | kNodePowerUp));
  tick();
  EXPECT_EQ(ran(PowerProgram::kResume), "n1");
  EXPECT_TRUE(has("n1", kNodePoweringUp | kNodeNoRespond));
  EXPECT_FALSE(has("n1", kNodePoweredDown));
  boot("n1", "boot");
  EXPECT_TRUE(has("n1", kNodePoweringUp)) << "it has not booted since";
  boot("n1", "another");
  EXPECT_EQ(node("n1").flags, 0U);
  EXPECT_EQ(node("n1").last_busy, now_);
  EXPECT_TRUE(is_schedulable(node("n1")));
}

// The bug: who wanted a node that was on its way down was not told, and it stayed down.
TEST_F(PowerTest, WhatGoesDownIsWokenOnceItIsDown) {
  ASSERT_TRUE(run(node_update("n1", "POWER_DOWN_FORCE")));
  ASSERT_TRUE(run(node_update("n1", "POWER_UP"))) << "before it has begun";
  ASSERT_TRUE(run(node_update("n2", "POWER_DOWN")));
  ASSERT_TRUE(run(node_update("n3", "POWER_DOWN")));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n[1-3]");
  ASSERT_TRUE(run(node_update("n[2-3]", "POWER_UP"))) << "after that";
  ASSERT_TRUE(run(node_update("n3", "POWER_DOWN"))) << "the last word counts";
  boot("n2", "boot");
  EXPECT_TRUE(has("n2", kNodePoweringDown | kNodePowerUp)) << "its agent is on its way out";
  EXPECT_FALSE(is_schedulable(node("n2")));
  pass(std::chrono::seconds(10));
  EXPECT_TRUE(has("n3", kNodePoweredDown));
  tick();
  tick();
  for (const char* name : {"n1", "n2"}) {
    EXPECT_TRUE(has(name, kNodePoweringUp)) << name;
    boot(name, "another");
    EXPECT_EQ(node(name).flags, 0U) << name;
  }
  EXPECT_TRUE(has("n3", kNodePoweredDown));
  EXPECT_FALSE(has("n3", kNodePowerUp));
}

TEST_F(PowerTest, WithoutProgramsThereIsNone) {
  put_down("n3");
  configure([](ClusterConfig& config) { config.suspend_program = ""; });
  EXPECT_EQ(error_of(node_update("n1", "POWER_DOWN")), ErrorCode::kInvalidState);
  EXPECT_EQ(error_of(node_update("n1", "POWER_UP")), ErrorCode::kInvalidState);
  EXPECT_FALSE(may_serve(state_, node("n3"))) << "nobody would wake it";
}

TEST_F(PowerTest, BusyNodeWaitsForItsJobs) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(node_update("n1", "POWER_DOWN_ASAP")));
  tick();
  EXPECT_TRUE(has("n1", kNodePowerDown | kNodeDrain));
  EXPECT_EQ(node("n1").reason, "POWER_DOWN_ASAP");
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n1");
  EXPECT_FALSE(has("n1", kNodeDrain));
}

TEST_F(PowerTest, ForceTakesTheJobs) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(node_update("n1", "POWER_DOWN_FORCE")));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(effects<TerminateJob>().size(), 1U);
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n1");
}

TEST_F(PowerTest, DownNodeStaysDown) {
  ASSERT_TRUE(run(node_update("n1", "DOWN", "fan")));
  put_down("n1");
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_FALSE(may_serve(state_, node("n1")));
  ASSERT_TRUE(run(node_update("n1", "RESUME")));
  EXPECT_EQ(node("n1").base, NodeBaseState::kIdle);
  EXPECT_TRUE(has("n1", kNodePoweredDown));
  EXPECT_TRUE(may_serve(state_, node("n1")));
}

TEST_F(PowerTest, JobWakesItsNode) {
  put_down("n1");
  EXPECT_FALSE(is_schedulable(node("n1")));
  EXPECT_TRUE(may_serve(state_, node("n1")));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_NE(job(id).flags & kJobConfiguring, 0U);
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_TRUE(has("n1", kNodePoweredDown));
  tick();
  EXPECT_EQ(ran(PowerProgram::kResume), "n1");
  const JobId second = submit(batch_spec());
  ASSERT_TRUE(start_job(second, "n1")) << "it comes anyway";
  EXPECT_NE(job(second).flags & kJobConfiguring, 0U);
  EXPECT_TRUE(effects<PowerNodes>().empty());
  boot("n1", "another");
  EXPECT_EQ(effects<LaunchStep>().size(), 2U);
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0U);
  EXPECT_EQ(job(second).state, JobState::kRunning);
}

// A script that waits for the node was not begun there, whatever the node has forgotten.
TEST_F(PowerTest, JobOfANodeThatComesUpWithoutItsSpoolIsNotMissing) {
  put_down("n1");
  ASSERT_TRUE(run(node_update("n1", "POWER_UP")));
  tick();
  const Time booted = now_;
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  now_ += config_->batch_start_timeout + std::chrono::seconds(1);
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "another";
  command.node.hardware.boot_time = booted;
  ASSERT_TRUE(run(command));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(effects<LaunchStep>().size(), 1U);
}

TEST_F(PowerTest, DrainedNodeKeepsItsReason) {
  configure([](ClusterConfig& config) { config.suspend_time = std::chrono::seconds(300); });
  ASSERT_TRUE(run(node_update("n1", "DRAIN", "bad disk")));
  pass(std::chrono::hours(1));
  pass(std::chrono::seconds(10));
  ASSERT_TRUE(has("n1", kNodePoweredDown | kNodeDrain));
  ASSERT_TRUE(run(node_update("n1", "POWER_UP")));
  tick();
  EXPECT_TRUE(has("n1", kNodePoweringUp | kNodeDrain));
  EXPECT_EQ(node("n1").reason, "bad disk");
}

TEST_F(PowerTest, NodeThatRegistersIsUpWhateverItWasSaidToBe) {
  put_down("n1");
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  boot("n1", "boot");
  EXPECT_EQ(node("n1").flags, 0U);
  EXPECT_EQ(effects<LaunchStep>().size(), 1U);
}

TEST_F(PowerTest, NodeThatDoesNotComeUpIsDown) {
  put_down("n1");
  put_down("n2");
  const JobId again = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.requeue = Toggle::kNo;
  const JobId once = submit(spec);
  ASSERT_TRUE(start_job(again, "n1"));
  ASSERT_TRUE(start_job(once, "n2"));
  tick();
  EXPECT_EQ(ran(PowerProgram::kResume), "n[1-2]");
  pass(std::chrono::seconds(59));
  EXPECT_TRUE(has("n1", kNodePoweringUp));
  tick();
  EXPECT_EQ(ran(PowerProgram::kResumeFail), "n[1-2]");
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_TRUE(has("n1", kNodePoweredDown | kNodeNoRespond));
  EXPECT_EQ(node("n1").reason, "ResumeTimeout reached");
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(once).state, JobState::kBootFail);
  ASSERT_TRUE(run(node_update("n1", "POWER_UP")));
  tick();
  EXPECT_TRUE(has("n1", kNodePoweringUp));
  EXPECT_TRUE(node("n1").reason.empty());
}

TEST_F(PowerTest, JobThatIsCancelledDoesNotWaitForItsNode) {
  put_down("n1");
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  tick();
  ASSERT_TRUE(run(node_update("n1", "POWER_DOWN"))) << "once its job is over";
  EXPECT_TRUE(has("n1", kNodePoweringUp | kNodePowerDown));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  tick();
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_TRUE(node("n1").jobs.empty());
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n1");
}

TEST_F(PowerTest, ControllerThatComesBackGoesOn) {
  put_down("n1");
  ASSERT_TRUE(run(node_update("n1", "POWER_UP")));
  ASSERT_TRUE(run(node_update("n2", "POWER_DOWN")));
  tick();
  now_ += std::chrono::seconds(30);
  run(StartEpoch{"cluster", 2});
  size_t orders = 0;
  for (const Effect& effect : resume(state_))
    orders += std::holds_alternative<PowerNodes>(effect) ? 1 : 0;
  EXPECT_EQ(orders, 2U);
  pass(std::chrono::seconds(59));
  EXPECT_TRUE(has("n2", kNodePoweredDown));
  EXPECT_TRUE(has("n1", kNodePoweringUp)) << "it could not have said that it is up";
}

TEST_F(PowerTest, IdleNodesArePutDown) {
  configure([](ClusterConfig& config) {
    config.suspend_time = std::chrono::seconds(300);
    config.values["SuspendExcNodes"] = "n1,n[2-3]:1";
    config.values["SuspendRate"] = "1";
  });
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n2"));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "") << "they are idle since they are there";
  pass(std::chrono::seconds(300));
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n4")
      << "n1 is excepted, n3 the one idle node that is kept of n2 and n3";
  ASSERT_TRUE(end_step(id, kBatchStep, "n2", 0, true));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "")
      << "n2 is kept now, and n3 to go down, but one a minute does";
  pass(std::chrono::seconds(60));
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n3");
  pass(std::chrono::hours(1));
  EXPECT_EQ(ran(PowerProgram::kSuspend), "");
}

TEST_F(PowerTest, PartitionSaysHowLongItsNodesMayBeIdle) {
  configure([](ClusterConfig& config) {
    config.suspend_time = std::chrono::seconds(300);
    config.partitions[0].suspend_time_s = UINT32_MAX;
    config.nodes[3].suspend_time_s = 60;
  });
  pass(std::chrono::hours(1));
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n4");
  configure([](ClusterConfig& config) {
    config.partitions[0].suspend_time_s = 30;
    config.values["SuspendExcParts"] = "other,debug";
  });
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "");
  configure([](ClusterConfig& config) {
    config.values["SuspendExcParts"] = "";
    config.values["SuspendExcStates"] = "drain";
  });
  ASSERT_TRUE(run(node_update("n1", "DRAIN", "x")));
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n[2-3]");
}

TEST_F(PowerTest, NodesOfAPartitionGoDownWhenTheyBecomeIdle) {
  configure([](ClusterConfig& config) {
    config.partitions[0].power_down_on_idle = true;
    config.values["SuspendExcNodes"] = "n3";
  });
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "") << "they had no job";
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  ASSERT_TRUE(start_job(first, "n[1-3]"));
  ASSERT_TRUE(start_job(second, "n2"));
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0));
  ASSERT_TRUE(cleaned(first, "n[1-3]"));
  EXPECT_TRUE(has("n1", kNodePowerDown));
  EXPECT_FALSE(has("n2", kNodePowerDown)) << "it has a job";
  EXPECT_FALSE(has("n3", kNodePowerDown)) << "it is excepted";
  tick();
  EXPECT_EQ(ran(PowerProgram::kSuspend), "n1");
  ASSERT_TRUE(run(node_update("n2", "DRAIN", "repair")));
  ASSERT_TRUE(end_step(second, kBatchStep, "n2", 0, true));
  EXPECT_FALSE(has("n2", kNodePowerDown)) << "its administrator has it";
}

// They slept on, and nothing said why jobs did not get them.
TEST_F(PowerTest, PowerSavingIsTakenOut) {
  put_down("n1");
  put_down("n2");
  ASSERT_TRUE(run(node_update("n3", "POWER_DOWN")));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n2")) << "which is to be woken for it";
  configure([](ClusterConfig& config) {
    config.suspend_program.clear();
    config.return_to_service = 1;
  });
  tick();
  EXPECT_EQ(ran(PowerProgram::kResume), "");
  for (const char* name : {"n1", "n2"}) {
    EXPECT_EQ(node(name).base, NodeBaseState::kDown);
    EXPECT_EQ(node(name).flags, kNodeNoRespond);
    EXPECT_EQ(node(name).reason, kLeftAsleep);
    EXPECT_TRUE(expects_agent(node(name))) << "it is asked whether it is back";
  }
  EXPECT_EQ(node("n3").flags, 0U) << "it stays up";
  EXPECT_EQ(job(id).state, JobState::kPending) << "another node may run it";
  boot("n1", "another");
  EXPECT_EQ(node("n1").base, NodeBaseState::kIdle);
  EXPECT_EQ(node("n1").flags, 0U);
  EXPECT_EQ(node("n1").reason, "");
}

}  // namespace
}  // namespace sluice::state
