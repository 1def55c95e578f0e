// Heterogeneous jobs: one submission, one start, one end.
#include "support/core_fixture.hpp"

#include "ctld/state/core/cluster_state.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/rules/dependency.hpp"
#include "ctld/state/rules/step/launch_message.hpp"
#include "ctld/state/rules/target.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;

class HetTest : public CoreTest {
 protected:
  // Three components; the id of the first.
  JobId submit_het(JobSpec spec = batch_spec(),
                   std::vector<JobSpec> others = {batch_spec(), batch_spec()}) {
    spec.uid = kAnn.uid;
    SubmitJob command{kAnn, std::move(spec), {"users"}};
    command.components = std::move(others);
    const auto reply = run(command);
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
    return reply ? std::get<JobSubmittedReply>(*reply).job : kNoJob;
  }
  StartedReply start_all(JobId leader, std::vector<uint32_t> cpus = {1, 2, 3}) {
    StartJobs command;
    for (uint32_t i = 0; i < cpus.size(); ++i) {
      command.starts.push_back(
          {leader + i, kNoTask, "debug", free_cores("n" + std::to_string(i + 1), cpus[i])});
    }
    return std::get<StartedReply>(run(command).value());
  }
  void clean_all(JobId leader) {
    for (uint32_t i = 0; i < 3; ++i) {
      if (!is_completing(job(leader + i))) continue;
      ASSERT_TRUE(cleaned(leader + i, "n" + std::to_string(i + 1)));
    }
  }
  ErrorCode act(const std::string& target, JobAction action, Identity who = kRoot) {
    return error_of(ChangeJob{who, target, action, false});
  }
  ErrorCode cancel(const std::string& target) {
    return error_of(SignalJob{kAnn, target, 0, protocol::kSignalCancel});
  }
  static std::string text(JobId id) { return std::to_string(id); }
  std::vector<JobState> states(JobId leader) {
    return {job(leader).state, job(leader + 1).state, job(leader + 2).state};
  }
  static std::vector<JobState> all(JobState state) { return {state, state, state}; }
};

TEST_F(HetTest, AllComponentsAreOneSubmission) {
  names_.clear();
  const JobId leader = submit_het();
  EXPECT_EQ(names_, (std::vector<std::string>{"UserGroupsFound", "JobSubmitted", "JobSubmitted",
                                              "JobSubmitted"}));
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_NE(job(leader + i).het, nullptr);
    EXPECT_EQ(job(leader + i).het->leader, leader);
    EXPECT_EQ(job(leader + i).het->offset, i);
    EXPECT_EQ(job(leader + i).het->size, 3u);
    EXPECT_TRUE(job(leader + i).spec->batch);
  }
  EXPECT_EQ(state_.next_job_id, leader + 3);
  const ClusterState again =
      from_image(*wire::decode<StateImage>(wire::encode(make_image(state_))));
  EXPECT_EQ(differences(state_, again), std::vector<std::string>{});
}

TEST_F(HetTest, NoneIsAcceptedWhenOneIsRefused) {
  JobSpec bad = batch_spec();
  bad.partitions = "none";
  SubmitJob command{kAnn, batch_spec(), {"users"}};
  command.components = {batch_spec(), bad};
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidPartition);
  EXPECT_EQ(state_.jobs.size(), 0u);
  command.components[1] = batch_spec();
  command.components[1].array = "1-2";
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidArray);
  command.components[1].array = {};
  command.job.array = "1-2";
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidArray);
  EXPECT_EQ(state_.jobs.size(), 0u);
}

TEST_F(HetTest, IdsFollowOneAnother) {
  configure([](ClusterConfig& config) { config.max_job_id = 6; });
  for (int i = 0; i < 4; ++i) submit(batch_spec());
  for (const JobId gone : {1u, 2u, 3u}) ASSERT_EQ(cancel(text(gone)), ErrorCode::kOk);
  now_ += std::chrono::seconds(400);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(submit_het(), 1u);  // 5 and 6 alone are too few
  SubmitJob command{kAnn, batch_spec(), {"users"}};
  command.components = {batch_spec(), batch_spec()};
  EXPECT_EQ(error_of(command), ErrorCode::kTooManyJobs);
}

TEST_F(HetTest, ARepeatedRequestFindsTheFirst) {
  JobSpec spec = batch_spec();
  spec.request_id = 77;
  const JobId leader = submit_het(spec, {spec, spec});
  EXPECT_EQ(submit_het(spec, {spec, spec}), leader);
  EXPECT_EQ(state_.jobs.size(), 3u);
}

TEST_F(HetTest, AMissingTimeLimitOfTheFirstIsTheNextOnes) {
  JobSpec limited = batch_spec();
  limited.time_limit = 5;
  const JobId leader = submit_het(batch_spec(), {batch_spec(), limited});
  EXPECT_EQ(job(leader).time_limit, 5u);
  EXPECT_EQ(job(leader + 1).spec->time_limit, 0u);
}

TEST_F(HetTest, AllStartOrNone) {
  const JobId leader = submit_het();
  EXPECT_EQ(start_all(leader, {1, 2}).dropped, 2u);  // one is missing
  EXPECT_EQ(states(leader), all(JobState::kPending));
  ASSERT_EQ(act(text(leader) + "+2", JobAction::kHold), ErrorCode::kOk);
  EXPECT_EQ(start_all(leader).dropped, 3u);
  EXPECT_EQ(states(leader), all(JobState::kPending));
  ASSERT_EQ(act(text(leader) + "+2", JobAction::kRelease), ErrorCode::kOk);
  StartJobs twice;  // two components on the same cores
  const auto same = free_cores("n1", 5);
  for (uint32_t i = 0; i < 3; ++i) twice.starts.push_back({leader + i, kNoTask, "debug", same});
  EXPECT_EQ(std::get<StartedReply>(*run(twice)).dropped, 3u);
  names_.clear();
  EXPECT_EQ(start_all(leader).started, 3u);
  EXPECT_EQ(states(leader), all(JobState::kRunning));
  ASSERT_EQ(effects<LaunchStep>().size(), 1u);  // the script runs once, in the first component
  EXPECT_EQ(effects<LaunchStep>()[0].key.id.job, leader);
  EXPECT_TRUE(job(leader + 1).steps.empty());
}

TEST_F(HetTest, TheScriptIsToldOfAllComponents) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  const auto launch = make_step_launch(state_, {{leader, kBatchStep}, 0});
  ASSERT_TRUE(launch);
  ASSERT_EQ(launch->components.size(), 3u);
  EXPECT_EQ(launch->components[2].node_list, "n3");
  EXPECT_EQ(launch->components[2].cpus, std::vector<uint32_t>{3});
  EXPECT_EQ(launch->het_leader, leader);
  EXPECT_EQ(make_watch_update(state_, job(leader)).components.size(), 3u);
}

TEST_F(HetTest, TheScriptIsToldOfTheMemoryEachComponentGetsByDefault) {
  configure([](ClusterConfig& config) { config.def_mem_per_cpu_mib = 100; });
  JobSpec own = batch_spec(), none = batch_spec();
  own.memory_kind = MemoryKind::kPerNode;
  own.memory_mib = 50;
  none.memory_kind = MemoryKind::kDefault;
  const JobId leader = submit_het(none, {none, own});
  ASSERT_EQ(start_all(leader).started, 3u);
  const auto launch = make_step_launch(state_, {{leader, kBatchStep}, 0});
  ASSERT_TRUE(launch);
  ASSERT_EQ(launch->components.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(launch->components[i].spec->memory_kind, MemoryKind::kPerCpu);
    EXPECT_EQ(launch->components[i].spec->memory_mib, 100u);
  }
  EXPECT_EQ(launch->components[2].spec->memory_kind, MemoryKind::kPerNode);
  EXPECT_EQ(launch->components[2].spec->memory_mib, 50u);
}

TEST_F(HetTest, TheScriptsEndIsTheEndOfAll) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_TRUE(end_step(leader, kBatchStep, "n1", 3 << 8, true));
  EXPECT_EQ(states(leader), all(JobState::kFailed));
  EXPECT_EQ(job(leader + 2).exit_status, 3 << 8);
  EXPECT_EQ(job(leader + 2).reason, JobReason::kNonZeroExitCode);
  clean_all(leader);
  now_ += std::chrono::seconds(301);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(state_.jobs.size(), 0u);
}

TEST_F(HetTest, NoneIsForgottenBeforeTheOthers) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_TRUE(end_step(leader, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(cleaned(leader + 1, "n2"));
  now_ += std::chrono::seconds(301);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(state_.jobs.size(), 3u);  // the third one's node has not answered
  ASSERT_TRUE(cleaned(leader + 2, "n3"));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(state_.jobs.size(), 0u);
}

TEST_F(HetTest, CancelOfTheWholeAndOfAComponent) {
  JobId leader = submit_het();
  EXPECT_EQ(cancel(text(leader) + "+1"), ErrorCode::kHetComponent);
  EXPECT_EQ(cancel(text(leader + 1)), ErrorCode::kHetComponent);
  EXPECT_EQ(cancel(text(leader) + "+3"), ErrorCode::kInvalidJobId);
  EXPECT_EQ(cancel(text(leader)), ErrorCode::kOk);
  EXPECT_EQ(states(leader), all(JobState::kCancelled));
  EXPECT_EQ(cancel(text(leader)), ErrorCode::kAlreadyDone);

  leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  EXPECT_EQ(cancel(text(leader) + "+1"), ErrorCode::kOk);  // one that runs may go alone
  EXPECT_EQ(states(leader),
            (std::vector{JobState::kRunning, JobState::kCancelled, JobState::kRunning}));
  EXPECT_EQ(cancel(text(leader) + "+0"), ErrorCode::kOk);
  EXPECT_EQ(states(leader), all(JobState::kCancelled));
}

TEST_F(HetTest, WholeHetjobWidensCancelHoldAndRelease) {
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"whole_hetjob"}; });
  const JobId leader = submit_het();
  ASSERT_EQ(act(text(leader) + "+1", JobAction::kHold), ErrorCode::kOk);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(job(leader + i).hold, HoldKind::kAdmin);
  ASSERT_EQ(act(text(leader + 2), JobAction::kRelease), ErrorCode::kOk);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(job(leader + i).hold, HoldKind::kNone);
  EXPECT_EQ(cancel(text(leader) + "+1"), ErrorCode::kOk);
  EXPECT_EQ(states(leader), all(JobState::kCancelled));
}

TEST_F(HetTest, HoldReleaseAndUpdateReachAllOrOne) {
  const JobId leader = submit_het();
  ASSERT_EQ(act(text(leader), JobAction::kHold), ErrorCode::kOk);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(job(leader + i).hold, HoldKind::kAdmin);
  ASSERT_EQ(act(text(leader) + "+1", JobAction::kRelease), ErrorCode::kOk);
  EXPECT_EQ(job(leader + 1).hold, HoldKind::kNone);
  EXPECT_EQ(job(leader + 2).hold, HoldKind::kAdmin);
  JobUpdate update;
  update.name = "new";
  ASSERT_TRUE(run(UpdateJob{kRoot, text(leader), update}));
  update.name = "one";
  ASSERT_TRUE(run(UpdateJob{kRoot, text(leader) + "+2", update}));
  EXPECT_EQ(job(leader).spec->name, "new");
  EXPECT_EQ(job(leader + 1).spec->name, "new");
  EXPECT_EQ(job(leader + 2).spec->name, "one");
}

TEST_F(HetTest, SuspendAndRequeueAreTheLeadersAffair) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  for (const char* component : {"+0", "+1"}) {  // the bug: with +0 all were suspended
    EXPECT_EQ(act(text(leader) + component, JobAction::kSuspend), ErrorCode::kHetComponent);
    EXPECT_EQ(act(text(leader) + component, JobAction::kResume), ErrorCode::kHetComponent);
  }
  EXPECT_EQ(act(text(leader + 1), JobAction::kRequeue), ErrorCode::kNotHetLeader);
  ASSERT_EQ(act(text(leader), JobAction::kSuspend), ErrorCode::kOk);
  EXPECT_EQ(states(leader), all(JobState::kSuspended));
  ASSERT_EQ(act(text(leader), JobAction::kResume), ErrorCode::kOk);
  EXPECT_EQ(states(leader), all(JobState::kRunning));
  ASSERT_EQ(cancel(text(leader) + "+1"), ErrorCode::kOk);
  ASSERT_TRUE(cleaned(leader + 1, "n2"));  // it is over …
  ASSERT_EQ(act(text(leader), JobAction::kRequeue), ErrorCode::kOk);
  clean_all(leader);
  EXPECT_EQ(states(leader), all(JobState::kPending));  // … and runs again with the others
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(job(leader + i).restart_count, 1u);
}

TEST_F(HetTest, ARequeueIsForAllOrNone) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_EQ(act(text(leader), JobAction::kRequeue), ErrorCode::kOk);
  ASSERT_TRUE(cleaned(leader, "n1"));
  EXPECT_EQ(job(leader).state, JobState::kPending);
  ASSERT_EQ(cancel(text(leader)), ErrorCode::kOk);  // while the others are still being cleaned
  clean_all(leader);
  EXPECT_EQ(states(leader), all(JobState::kCancelled));
  EXPECT_TRUE(is_finished(job(leader + 2)));
}

TEST_F(HetTest, ALimitOrALostNodeOfOneEndsAll) {
  JobSpec limited = batch_spec();
  limited.time_limit = 1;
  JobId leader = submit_het(batch_spec(), {limited, batch_spec()});
  ASSERT_EQ(start_all(leader).started, 3u);
  now_ += std::chrono::seconds(61);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(states(leader), all(JobState::kTimeout));
  clean_all(leader);

  JobSpec once = batch_spec();
  once.requeue = Toggle::kNo;
  leader = submit_het(once, {once, once});
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_TRUE(run(NodesTimedOut{{find_node(state_, "n2")->id}}));
  EXPECT_EQ(states(leader), all(JobState::kNodeFail));
}

TEST_F(HetTest, WhatCannotStartAnyMoreEndsAsAWhole) {
  JobSpec late = batch_spec();
  late.deadline = now_ + std::chrono::minutes(10);
  late.time_limit = 5;
  const JobId leader = submit_het(batch_spec(), {batch_spec(), late});
  now_ += std::chrono::minutes(6);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(states(leader), all(JobState::kDeadline));
}

TEST_F(HetTest, DependenciesOnComponents) {
  const JobId leader = submit_het();
  JobSpec spec = batch_spec();
  spec.dependency = "afterok:" + text(leader) + "+1";
  const JobId waiting = submit(spec);
  EXPECT_EQ(job(waiting).dependency, "afterok:" + text(leader) + "+1(unfulfilled)");
  spec.dependency = "after:" + text(leader) + "+1";  // a minute after it began
  EXPECT_EQ(job(submit(spec)).dependency, "after:" + text(leader) + "+1(unfulfilled)");
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_TRUE(end_step(leader, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_FALSE(job(waiting).dependency.empty());  // that component still completes
  ASSERT_TRUE(cleaned(leader + 1, "n2"));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(waiting).dependency.empty());
  JobSpec single = batch_spec();
  single.name = "other";
  single.dependency = "singleton";
  const JobId alone = submit_het(single, {single, single});  // they do not wait for one another
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(job(alone + i).dependency.empty());
}

TEST_F(HetTest, AStepOverComponentsIsOneWorld) {
  const JobId leader = submit_het();
  ASSERT_EQ(start_all(leader).started, 3u);
  CreateHetStep command{kAnn, {}};
  StepSpec spec;
  spec.num_tasks = 1;
  command.parts.push_back({leader, spec});
  spec.num_tasks = 3;
  command.parts.push_back({leader + 2, spec});
  spec.num_tasks = 2;
  CreateStep single{kAnn, leader + 2, spec};
  ASSERT_TRUE(run(single));
  ASSERT_TRUE(run(SignalJob{kAnn, text(leader) + "+2.0", 9, protocol::kSignalCancel}));
  ASSERT_TRUE(end_step(leader + 2, 0, "n3", 9));
  const auto reply = run(command);
  ASSERT_TRUE(reply) << reply.error().text;
  // the number is free in both
  EXPECT_EQ(std::get<HetStepCreatedReply>(*reply).parts,
            (std::vector<StepId>{{leader, 1}, {leader + 2, 1}}));
  EXPECT_EQ(effects<LaunchStep>().size(), 2u);
  const Step& second = *find_step(job(leader + 2), 1);
  EXPECT_EQ(second.layout->nodes[0].tasks, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(second.first_node, 1u);
  ASSERT_NE(second.world, nullptr);
  EXPECT_EQ(second.world->layout.num_tasks, 4u);
  EXPECT_EQ(second.world->id, (StepId{leader, 1}));
  const auto launch = make_step_launch(state_, {{leader + 2, 1}, 0});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->components.size(), 2u);
  EXPECT_EQ(whole_layout(*launch).nodes.size(), 2u);
}

TEST_F(HetTest, AStepOverComponentsIsMadeWhollyOrNot) {
  const JobId leader = submit_het();
  const JobId other = submit(batch_spec());
  StepSpec spec;
  spec.num_tasks = 1;
  CreateHetStep command{kAnn, {{leader, spec}, {leader + 1, spec}}};
  EXPECT_EQ(error_of(command), ErrorCode::kJobPending);
  ASSERT_EQ(start_all(leader).started, 3u);
  ASSERT_TRUE(start_job(other, "n4"));
  command.who = kBob;
  EXPECT_EQ(error_of(command), ErrorCode::kAccessDenied);
  command.who = kAnn;
  command.parts[1].step.num_tasks = 50;
  EXPECT_NE(error_of(command), ErrorCode::kOk);
  EXPECT_EQ(job(leader).steps.size(), 1u);  // the batch step
  command.parts[1] = {other, spec};
  EXPECT_EQ(error_of(command), ErrorCode::kBadRequest);
  command.parts[1] = {leader, spec};
  EXPECT_EQ(error_of(command), ErrorCode::kBadRequest);
  command.parts[0].step.request_id = 5;
  command.parts[1] = {leader + 1, spec};
  command.parts[1].step.request_id = 6;
  const auto first = run(command), again = run(command);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(std::get<HetStepCreatedReply>(*first).parts,
            std::get<HetStepCreatedReply>(*again).parts);
  EXPECT_EQ(job(leader + 1).steps.size(), 1u);
}

TEST(Target, Components) {
  EXPECT_EQ(parse_target("12+1")->component, 1u);
  EXPECT_EQ(parse_target("12+1.3")->step, 3u);
  EXPECT_FALSE(parse_target("12+"));
  EXPECT_FALSE(parse_target("12+x"));
  EXPECT_FALSE(parse_target("12_3+1"));
}

// Nobody told them to, and the job waited for them until its time limit.
TEST_F(HetTest, NodesOfAllComponentsReboot) {
  configure([](ClusterConfig& config) { config.reboot_program = "/sbin/reboot"; });
  JobSpec spec = batch_spec();
  spec.reboot = true;
  spec.uid = kRoot.uid;
  SubmitJob command{kRoot, spec, {"users"}};
  command.components = {spec, spec};
  const JobId leader = std::get<JobSubmittedReply>(run(command).value()).job;
  EXPECT_EQ(start_all(leader, {8, 8, 8}).started, 3U);
  EXPECT_EQ(effects<RebootNow>().size(), 3U);
}

}  // namespace
}  // namespace sluice::state
