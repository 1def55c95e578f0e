// Nodes, partitions and configurations come, change and go.
#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/state/core/invariants.hpp"
#include "ctld/state/rules/wanted.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

TEST_F(CoreTest, ASilentNodeFailsItsJobs) {
  const JobId requeued = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.requeue = Toggle::kNo;
  const JobId failed = submit(spec);
  ASSERT_TRUE(start_job(requeued, "n1"));
  ASSERT_TRUE(start_job(failed, "n[1-2]"));
  ASSERT_TRUE(run(NodesTimedOut{{0}}));
  EXPECT_EQ(state_.nodes.at(0).base, NodeBaseState::kDown);
  EXPECT_EQ(state_.nodes.at(0).reason, "Not responding");
  EXPECT_TRUE(state_.nodes.at(0).jobs.empty());
  EXPECT_EQ(job(requeued).state, JobState::kPending);
  EXPECT_EQ(job(requeued).restart_count, 1u);
  EXPECT_EQ(job(failed).state, JobState::kNodeFail);
  EXPECT_EQ(job(failed).failed_node, "n1");
  EXPECT_EQ(job(requeued).failed_node, "n1");
  EXPECT_NE(job(failed).flags & kJobCompleting, 0u) << "n2 is still to be cleaned";
  ASSERT_TRUE(cleaned(failed, "n2"));
  EXPECT_TRUE(is_finished(job(failed)));

  // it comes back with what ran before, which is nobody's any more
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot";
  command.node.running = {{{requeued, kBatchStep}, 0}};
  command.node.jobs = {requeued};
  const auto reply = run(command);
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<RegisteredReply>(*reply).forget.size(), 1u);
  EXPECT_EQ(std::get<RegisteredReply>(*reply).clean.size(), 1u);
  EXPECT_TRUE(is_schedulable(state_.nodes.at(0)));
}

// The bug: an agent with a copy of slurm.conf that had another port took the node and its job over.
TEST_F(CoreTest, AnAgentOnAnotherPortIsRefused) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot";
  command.node.hardware.port = 6819;
  const auto refused = run(command);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().text.starts_with(
      "node n1 is to listen on port 6818 (slurm.conf of the controller), and this agent on 6819"))
      << refused.error().text;
  EXPECT_EQ(job(id).state, JobState::kRunning);
  command.node.hardware.port = 6818;
  command.node.running = {{{id, kBatchStep}, 0}};
  ASSERT_TRUE(run(command));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  configure([](ClusterConfig& config) { config.nodes.front().port = 7000; });
  ASSERT_TRUE(run(command)) << "it was there before the line changed";
  command.node.hardware.port = 7000;
  ASSERT_TRUE(run(command));
  command.node.hardware.port = 6818;
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName);
}

TEST_F(CoreTest, JobIdsGoOnBehindThoseThatANodeRemembers) {
  const JobId known = submit(batch_spec());
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot";
  command.node.running = {{{known, kBatchStep}, 0}, {{kFirstOutsideJob, 0}, 0}};
  ASSERT_TRUE(run(command));
  EXPECT_EQ(submit(batch_spec()), known + 1) << "it is known, or none of ours";
  command.node.ended = {{{known + 500, kBatchStep}, 0}};
  command.node.jobs = {known + 400};
  ASSERT_TRUE(run(command));
  EXPECT_EQ(submit(batch_spec()), known + 501);
  ASSERT_TRUE(run(command));
  EXPECT_EQ(submit(batch_spec()), known + 502) << "told again, it changes nothing";
}

TEST_F(CoreTest, JobsThatCanGoOnWithoutANodeDo) {
  JobSpec spec = batch_spec();
  spec.kill_on_node_fail = false;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n[1-2]"));
  ASSERT_TRUE(run(NodesTimedOut{{1}}));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(held_nodes(job(id)).count(), 1u);
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  EXPECT_TRUE(is_finished(job(id)));
}

TEST_F(CoreTest, RegistrationIsCheckedAgainstTheConfiguration) {
  RegisterNode command;
  command.node.name = "n2";
  command.node.hardware.boot_id = "boot";
  command.node.hardware.real_memory_mib = 900;
  ASSERT_TRUE(run(command));
  EXPECT_EQ(state_.nodes.at(1).reason,
            "Low RealMemory (reported:900 < 100.00% of configured:1000)");
  EXPECT_NE(state_.nodes.at(1).flags & kNodeDrain, 0u);
  command.node.hardware.real_memory_mib = 1000;
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_schedulable(state_.nodes.at(1)));
  names_.clear();
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(names_.empty()) << "nothing new, nothing journaled";
  command.node.cluster_id = "other";
  EXPECT_EQ(error_of(command), ErrorCode::kWrongCluster);
}

TEST_F(CoreTest, NodesThatTheConfigurationKeepsDown) {
  auto changed = std::make_shared<ClusterConfig>(*config_);
  changed->down_nodes = {{{"n2"}, ConfiguredNodeState::kDown, "disk broken"},
                         {{"n3"}, ConfiguredNodeState::kDrain, "fan"}};
  config_ = changed;
  state_ = ClusterState();
  start();  // all register
  const Node& down = state_.nodes.at(1);
  const Node& drained = state_.nodes.at(2);
  EXPECT_EQ(down.base, NodeBaseState::kDown);
  EXPECT_EQ(down.reason, "disk broken");
  EXPECT_EQ(drained.base, NodeBaseState::kIdle);
  EXPECT_NE(drained.flags & kNodeDrain, 0u);
  EXPECT_EQ(drained.reason, "fan");
  EXPECT_TRUE(is_schedulable(state_.nodes.at(0)));
  names_.clear();
  for (const char* name : {"n1", "n2", "n3"}) register_node(name);
  EXPECT_TRUE(names_.empty()) << "the same again is nothing new, whatever state the node is in";
  UpdateNode resume;
  resume.who = kRoot;
  resume.update.nodes = "n[2-3]";
  resume.update.state = "RESUME";
  ASSERT_TRUE(run(resume));
  const auto told = effects<ReconfigureNodes>();
  ASSERT_EQ(told.size(), 1u) << "the one that was DOWN registers again";
  EXPECT_TRUE(told[0].nodes.test(1));
  ASSERT_TRUE(is_schedulable(state_.nodes.at(1)) && is_schedulable(state_.nodes.at(2)));
  ASSERT_TRUE(run(ReplaceConfig{std::make_shared<ClusterConfig>(*changed)}));
  EXPECT_EQ(state_.nodes.at(1).base, NodeBaseState::kDown)
      << "at each reading of slurm.conf, also where it has not changed";
  EXPECT_EQ(state_.nodes.at(1).reason, "disk broken");
  EXPECT_NE(state_.nodes.at(2).flags & kNodeDrain, 0u);
}

TEST_F(CoreTest, TheConfigurationTakesNodesOutOfUse) {
  const JobId lost = submit(batch_spec());
  const JobId stays = submit(batch_spec());
  ASSERT_TRUE(start_job(lost, "n1"));
  ASSERT_TRUE(start_job(stays, "n2"));
  ASSERT_TRUE(run(node_update("n3", "DRAIN", "other")));
  configure([](ClusterConfig& config) {
    config.down_nodes = {{{"n1"}, ConfiguredNodeState::kDown, "disk"},
                         {{"n2", "n3"}, ConfiguredNodeState::kDrain, "fan"},
                         {{"n4"}, ConfiguredNodeState::kFailing, ""},
                         {{"n1", "n4"}, ConfiguredNodeState::kUnknown, "nothing"}};
  });
  EXPECT_EQ(find_node(state_, "n1")->base, NodeBaseState::kDown);
  EXPECT_EQ(find_node(state_, "n1")->reason, "disk");
  EXPECT_EQ(job(lost).state, JobState::kPending);
  const auto ends = effects<TerminateJob>();
  EXPECT_TRUE(std::ranges::any_of(ends, [&](const TerminateJob& end) {
    return end.job == lost && end.restart == 0 && end.nodes.test(0);
  })) << "else it runs twice at a time";
  EXPECT_TRUE(
      std::ranges::none_of(ends, [&](const TerminateJob& end) { return end.job == stays; }));
  EXPECT_EQ(job(stays).state, JobState::kRunning);
  EXPECT_NE(find_node(state_, "n2")->flags & kNodeDrain, 0u);
  EXPECT_EQ(find_node(state_, "n3")->reason, "fan");
  EXPECT_NE(find_node(state_, "n4")->flags & kNodeFailing, 0u);
  EXPECT_EQ(find_node(state_, "n4")->reason, "Set in slurm.conf");
  names_.clear();
  ASSERT_TRUE(run(ReplaceConfig{state_.config}));
  EXPECT_TRUE(names_.empty()) << "nothing is journaled that is as it was";
}

TEST_F(CoreTest, FutureNodesAreNotTakenOutOfUse) {
  ASSERT_TRUE(run(node_update("n1", "FUTURE")));
  configure([](ClusterConfig& config) {
    config.down_nodes = {{{"n1"}, ConfiguredNodeState::kDown, "disk"}};
  });
  EXPECT_EQ(find_node(state_, "n1")->base, NodeBaseState::kFuture);
}

TEST_F(CoreTest, ALostLaunchIsOrderedAgainAtRegistration) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  register_node("n1");
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
  register_node("n1", {{{id, kBatchStep}, 0}});
  EXPECT_TRUE(effects<LaunchStep>().empty());
}

// BatchStartTimeout: a node that has lost its spool folder does not know whether it has begun a
// script.
TEST_F(CoreTest, AScriptThatAForgetfulNodeShouldRunIsMissing) {
  const auto forgetful = [&](std::vector<protocol::StepKey> running, Time boot_time = kNoTime) {
    RegisterNode command;
    command.node.name = "n1";
    command.node.hardware.boot_id = "boot";
    command.node.hardware.boot_time = boot_time;
    command.node.running = std::move(running);
    const auto reply = run(command);
    EXPECT_TRUE(reply);
    return reply ? std::get<RegisteredReply>(*reply).missing : std::vector<JobId>();
  };
  JobSpec spec = batch_spec();
  const JobId requeued = submit(spec);
  spec.requeue = Toggle::kNo;
  const JobId failed = submit(spec);
  ASSERT_TRUE(start_job(requeued, "n[1-2]"));
  ASSERT_TRUE(start_job(failed, "n1"));
  const JobId elsewhere = submit(spec);
  ASSERT_TRUE(start_job(elsewhere, "n[2-3]"));
  now_ += config_->batch_start_timeout - std::chrono::seconds(1);
  EXPECT_TRUE(forgetful({}).empty()) << "the order may be on its way";
  EXPECT_EQ(effects<LaunchStep>().size(), 2u);
  now_ += std::chrono::seconds(1);
  register_node("n1");
  EXPECT_EQ(effects<LaunchStep>().size(), 2u)
      << "a node that remembers has not begun what it does not know";
  EXPECT_TRUE(forgetful({}, now_).empty()) << "it has booted since";
  EXPECT_TRUE(forgetful({{{requeued, kBatchStep}, 0}, {{failed, kBatchStep}, 0}}).empty())
      << "they run";
  EXPECT_EQ(forgetful({}), (std::vector<JobId>{requeued, failed}));
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_FALSE(effects<TerminateJob>().empty());
  EXPECT_EQ(job(failed).state, JobState::kNodeFail);
  EXPECT_EQ(job(elsewhere).state, JobState::kRunning);
  ASSERT_TRUE(cleaned(failed, "n1"));
  EXPECT_TRUE(is_finished(job(failed)));
  ASSERT_TRUE(cleaned(requeued, "n[1-2]"));
  EXPECT_EQ(job(requeued).state, JobState::kPending);
  EXPECT_EQ(job(requeued).restart_count, 1u);
}

TEST_F(CoreTest, AnUnexpectedRebootTakesTheJobs) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot2";
  ASSERT_TRUE(run(command));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(state_.nodes.at(0).base, NodeBaseState::kDown);
  EXPECT_EQ(state_.nodes.at(0).reason, "Node unexpectedly rebooted");
}

// The bug: a script that had ended before, and whose report the node had kept, ran again.
TEST_F(CoreTest, ARebootDoesNotTakeWhatHadEnded) {
  for (const uint32_t to_service : {1U, 2U}) {
    configure([&](ClusterConfig& config) { config.return_to_service = to_service; });
    const std::string name = "n" + std::to_string(to_service);
    const JobId over = submit(batch_spec()), lost = submit(batch_spec());
    ASSERT_TRUE(start_job(over, name));
    ASSERT_TRUE(start_job(lost, name));
    RegisterNode command;
    command.node.name = name;
    command.node.hardware.boot_id = "boot2";
    command.node.cluster_id = state_.cluster_id;
    command.node.ended = {{{over, kBatchStep}, 0}};
    ASSERT_TRUE(run(command));
    EXPECT_EQ(job(lost).state, JobState::kPending);
    EXPECT_EQ(job(over).state, JobState::kRunning);
    EXPECT_TRUE(effects<LaunchStep>().empty());
    ASSERT_TRUE(end_step(over, kBatchStep, name, 0, true));
    EXPECT_EQ(job(over).state, JobState::kCompleted);
    EXPECT_TRUE(is_finished(job(over)));
  }
}

// scontrol reconfigure, also when slurm.conf is as it was.
TEST_F(CoreTest, ReconfigureTakesLinesOfNodesAgain) {
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n2";
  command.update.weight = 9;
  command.update.available_features = "fast,slow";
  command.update.active_features = "slow";
  command.update.addresses = "10.0.0.1";
  command.update.comment = "noisy";
  ASSERT_EQ(error_of(command), ErrorCode::kOk);
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_EQ(find_node(state_, "n2")->weight, 9u) << "a restart of the controller";
  for (const bool changed : {false, true}) {
    ASSERT_EQ(error_of(command), ErrorCode::kOk);
    auto read = std::make_shared<ClusterConfig>(*config_);
    if (changed) read->min_job_age = std::chrono::seconds(7);
    ASSERT_TRUE(run(ReplaceConfig{.config = read, .ordered = true}));
    const Node& node = *find_node(state_, "n2");
    EXPECT_EQ(node.weight, 1u);
    EXPECT_EQ(active_features(node), std::vector<std::string>{"fast"});
    EXPECT_EQ(node.config->address, "");
    EXPECT_EQ(node.comment, "noisy");
    names_.clear();
    ASSERT_TRUE(run(ReplaceConfig{.config = read, .ordered = true}));
    EXPECT_TRUE(names_.empty());
  }
}

TEST_F(CoreTest, NodesComeAndGoWithTheConfiguration) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n4"));
  configure([](ClusterConfig& config) {
    config.nodes.pop_back();
    config.partitions[0].nodes.pop_back();
  });
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(find_node(state_, "n4"), nullptr);
  EXPECT_EQ(default_partition(state_)->nodes.count(), 3u);
  const auto told = effects<ReconfigureNodes>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].nodes.to_text(), "3") << "its agent hears that it is gone";
  EXPECT_EQ(told[1].nodes.to_text(), "0-2");
  EXPECT_TRUE(still_wanted(state_, told[0], {}).none()) << "and hears it once";
  register_node("n4");
  EXPECT_EQ(find_node(state_, "n4"), nullptr);
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_EQ(effects<ReconfigureNodes>().size(), 1u);
  ASSERT_NE(find_node(state_, "n4"), nullptr);
  EXPECT_EQ(find_node(state_, "n4")->id, 3u) << "the same number as before";
  names_.clear();
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_TRUE(names_.empty());
}

// The bug: nodes with files of their own were not told, and read these again when the next ping had
// them register.
TEST_F(CoreTest, AgentsAreToldToReconfigureThoughTheFileIsTheSame) {
  const ReplaceConfig ordered{.config = config_, .ordered = true};
  ASSERT_TRUE(run(ordered));
  names_.clear();
  ASSERT_TRUE(run(ordered));
  EXPECT_TRUE(names_.empty());
  const auto told = effects<ReconfigureNodes>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].nodes.to_text(), "0-3");
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_TRUE(effects<ReconfigureNodes>().empty())
      << "a start of the controller has them register anyway";
}

// The bug: its agent was refused and ran a job on that was requeued, so that it ran twice.
TEST_F(CoreTest, ANodeThatWentIsToldToEndWhatItRuns) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n4"));
  configure([](ClusterConfig& config) {
    config.nodes.pop_back();
    config.partitions[0].nodes.pop_back();
  });
  RegisterNode command;
  command.node.name = "n4";
  command.node.cluster_id = "cluster";
  command.node.hardware.boot_id = "boot";
  command.node.running = {{{id, kBatchStep}, 0}, {{kFirstOutsideJob + 7, 4}, 0}};
  command.node.jobs = {id, kFirstOutsideJob + 7};
  names_.clear();
  const auto ended = [&] {
    const auto reply = run(command);
    return reply && std::get<RegisteredReply>(*reply).removed ? std::get<RegisteredReply>(*reply)
                                                              : RegisteredReply{};
  };
  ASSERT_EQ(ended().forget.size(), 1u) << "what runs outside of jobs is let be";
  EXPECT_EQ(ended().forget[0].id.job, id);
  EXPECT_EQ(ended().clean, std::vector<JobId>{id});
  EXPECT_TRUE(names_.empty() && effects_.empty());

  command.node.cluster_id.clear();
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName) << "it may be anybody's";
  command.node.cluster_id = "other";
  EXPECT_EQ(error_of(command), ErrorCode::kWrongCluster);
  command.node.cluster_id = "cluster";
  command.node.claims_future = command.node.only_claims = true;
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName) << "there is none to be had";
  command.node.claims_future = command.node.only_claims = false;
  command.node.name = "n9";
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName) << "there never was one";
  command.node.name = "n4";
  EXPECT_EQ(ended().forget.size(), 1u) << "told again";

  ASSERT_TRUE(run(ReplaceConfig{config_}));
  const auto back = run(command);
  ASSERT_TRUE(back);
  EXPECT_FALSE(std::get<RegisteredReply>(*back).removed);
  EXPECT_EQ(std::get<RegisteredReply>(*back).forget.size(), 1u) << "that run is over all the same";
}

TEST_F(CoreTest, ACleanStartKeepsTheClustersIdAndTheNextJobId) {
  const JobId running = submit(batch_spec());
  submit(batch_spec());
  ASSERT_TRUE(start_job(running, "n1"));
  ASSERT_TRUE(run(node_update("n2", "drain", "disk")));
  EXPECT_EQ(error_of(StartEpoch{"other", 2, true}), ErrorCode::kWrongCluster);
  ASSERT_TRUE(run(StartEpoch{"cluster", 2, true}));
  EXPECT_TRUE(effects_.empty());
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_EQ(state_.cluster_id, "cluster");
  EXPECT_EQ(state_.epoch, 2u);
  EXPECT_EQ(state_.jobs.size(), 0u);
  for (const NodeConfig& node : config_->nodes) register_node(node.name);
  EXPECT_TRUE(is_schedulable(state_.nodes.at(1)));
  EXPECT_EQ(submit(batch_spec()), running + 2) << "an id that was used";

  // what still runs is nobody's
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot";
  command.node.running = {{{running, kBatchStep}, 0}};
  command.node.jobs = {running};
  const auto reply = run(command);
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<RegisteredReply>(*reply).forget.size(), 1u);
  EXPECT_EQ(std::get<RegisteredReply>(*reply).clean.size(), 1u);
}

TEST_F(CoreTest, PartitionsAreMadeAndTakenAway) {
  UpdatePartition command{kRoot, protocol::PartitionAction::kCreate, "night", {}};
  command.config.nodes = {"n1", "n2"};
  EXPECT_EQ(error_of(command), ErrorCode::kOk);
  EXPECT_EQ(find_partition(state_, "night")->nodes.count(), 2u);
  JobSpec spec = batch_spec();
  spec.partitions = "night";
  const JobId id = submit(spec);
  command.action = protocol::PartitionAction::kDelete;
  EXPECT_EQ(error_of(command), ErrorCode::kPartitionInUse);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id), 0, protocol::kSignalCancel}));
  EXPECT_EQ(error_of(command), ErrorCode::kOk);
  EXPECT_EQ(find_partition(state_, "night"), nullptr);
}

TEST_F(CoreTest, PartitionsAreConfiguredAgainUnlessTheyAreKept) {
  UpdatePartition command{kRoot, protocol::PartitionAction::kCreate, "night", {}};
  command.config.nodes = {"n1", "n2"};
  ASSERT_TRUE(run(command));
  ASSERT_TRUE(run(ReplaceConfig{.config = config_, .keep_partitions = true}));
  EXPECT_NE(find_partition(state_, "night"), nullptr);
  auto changed = std::make_shared<ClusterConfig>(*config_);
  changed->partitions[0].max_nodes = 1;
  ASSERT_TRUE(run(ReplaceConfig{.config = changed, .keep_partitions = true}));
  EXPECT_EQ(find_partition(state_, "night"), nullptr) << "slurm.conf is another";
  ASSERT_TRUE(run(command));
  ASSERT_TRUE(run(ReplaceConfig{changed}));
  EXPECT_EQ(find_partition(state_, "night"), nullptr);
}

TEST_F(CoreTest, ACheckpointIsTheState) {
  JobSpec spec = batch_spec();
  spec.array = "1-9";
  const JobId array = submit(spec);
  ASSERT_TRUE(start_job(array, "n1", 2, 1));
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  EXPECT_EQ(differences(state_, from_image(*image)), std::vector<std::string>{});
}

TEST_F(CoreTest, WhatWasUnderWayIsOrderedAgainAfterARestart) {
  const JobId running = submit(batch_spec());
  const JobId ending = submit(batch_spec());
  ASSERT_TRUE(start_job(running, "n1"));
  ASSERT_TRUE(start_job(ending, "n2"));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(ending), 0, protocol::kSignalCancel}));
  effects_ = resume(state_);
  EXPECT_EQ(effects<LaunchStep>().size(), 1u);
  EXPECT_EQ(effects<TerminateJob>().size(), 1u);
}

// srun -Z: the controller knows nothing of it, and lets it be.
TEST_F(CoreTest, WhatRunsOutsideOfJobsIsLeftAlone) {
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "boot";
  command.node.running = {{{kFirstOutsideJob + 7, 4}, 0}, {{77, 0}, 0}};
  command.node.jobs = {kFirstOutsideJob + 7, kFirstOutsideJob + 8, 77};
  const auto reply = run(command);
  ASSERT_TRUE(reply);
  const auto& answer = std::get<RegisteredReply>(*reply);
  ASSERT_EQ(answer.forget.size(), 1u);
  EXPECT_EQ(answer.forget[0].id.job, 77u);
  EXPECT_EQ(answer.clean, (std::vector<JobId>{kFirstOutsideJob + 8, 77}));
}

}  // namespace
}  // namespace sluice::state
