// Features that helpers.conf manages: what nodes report of them, and what jobs have changed.
#include <algorithm>

#include "common/base/text.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/state/rules/wanted.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class NodeFeaturesTest : public CoreTest {
 protected:
  NodeFeaturesTest() {
    auto changed = std::make_shared<ClusterConfig>(*config_);
    changed->node_features_plugins = {"node_features/helpers"};
    changed->reboot_program = "/sbin/reboot";
    changed->helpers.helpers = {{{}, {"nps1", "nps4"}, "/nps", false}, {{}, {"mig"}, "/mig", true}};
    changed->helpers.exclusive = {"nps1,nps4"};
    changed->helpers.boot_time = std::chrono::seconds(100);
    for (NodeConfig& node : changed->nodes) adopt_helpers(*changed, node);
    config_ = changed;
    run(ReplaceConfig{changed});
    for (const NodeConfig& node : changed->nodes) report(node.name, "nps1");
  }
  void report(const std::string& name, const std::string& active,
              const std::string& boot_id = "boot", Time features_changed = kNoTime) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = boot_id;
    command.node.active_features = active;
    command.node.features_changed = features_changed;
    ASSERT_TRUE(run(command));
  }
  JobId submit_for(const std::string& constraint, Toggle requeue = Toggle::kDefault) {
    JobSpec spec = batch_spec();
    spec.constraint = constraint;
    spec.requeue = requeue;
    return submit(spec);
  }
  ErrorCode refused(const std::string& constraint, Identity who = kAnn) {
    JobSpec spec = batch_spec();
    spec.constraint = constraint;
    spec.uid = who.uid;
    return error_of(SubmitJob{who, spec, {"users"}});
  }
  void pass(Duration time) {
    now_ += time;
    run(Tick{});
  }
  const Node& node(const std::string& name) { return *find_node(state_, name); }
  std::string active(const std::string& name) { return join(active_features(node(name)), ","); }
};

TEST_F(NodeFeaturesTest, NodesReportWhatIsActive) {
  EXPECT_EQ(active("n1"), "fast,nps1") << "what no helper manages is active";
  report("n1", "mig,nps4,unknown");
  EXPECT_EQ(active("n1"), "fast,nps4,mig");
  names_.clear();
  report("n1", "mig,nps4,unknown");
  EXPECT_TRUE(names_.empty()) << "nothing is journaled that is as it was";
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n1";
  command.update.active_features = "nps4";
  ASSERT_TRUE(run(command));
  report("n1", "mig");
  EXPECT_EQ(active("n1"), "mig") << "the others are the administrator's";
  report("n1", "");
  EXPECT_EQ(active("n1"), "");
  register_node("n1");
  EXPECT_EQ(active("n1"), "") << "an agent that does not know of its helpers says nothing of them";
  auto plain = std::make_shared<ClusterConfig>(*config_);
  plain->helpers = {};
  for (NodeConfig& node : plain->nodes) {
    node.features = {"fast"};
    node.changeable_features.clear();
  }
  ASSERT_TRUE(run(ReplaceConfig{plain}));
  register_node("n1");
  EXPECT_EQ(active("n1"), "fast") << "without helpers it is as configured";
}

TEST_F(NodeFeaturesTest, NewFeaturesOfTheLineAreActive) {
  configure([](ClusterConfig& config) { config.nodes[0].features.emplace_back("large"); });
  EXPECT_EQ(active("n1"), "fast,nps1,large");
}

TEST_F(NodeFeaturesTest, JobWaitsForAChangeWithoutReboot) {
  const JobId id = submit_for("mig");
  ASSERT_TRUE(start_job(id, "n1"));
  const auto orders = effects<RebootNow>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders[0].nodes.test(node("n1").id));
  EXPECT_EQ(orders[0].features, "mig");
  EXPECT_TRUE(orders[0].if_needed);
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_NE(job(id).flags & kJobConfiguring, 0U);
  EXPECT_FALSE(is_schedulable(node("n1")));
  report("n1", "nps1");
  ASSERT_EQ(effects<RebootNow>().size(), 1U)
      << "the order may be lost: it is repeated until it is answered";
  EXPECT_EQ(effects<RebootNow>()[0].issued, orders[0].issued);
  const Effects again = resume(state_);
  EXPECT_TRUE(std::ranges::any_of(again, [](const Effect& effect) {
    const auto* order = std::get_if<RebootNow>(&effect);
    return order != nullptr && order->features == "mig" && order->if_needed;
  }));
  report("n1", "nps1,mig", "boot", orders[0].issued);
  EXPECT_FALSE(effects<LaunchStep>().empty());
  EXPECT_TRUE(effects<RebootNow>().empty());
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0U);
  EXPECT_TRUE(is_schedulable(node("n1")));
  EXPECT_TRUE(node("n1").reason.empty() && node("n1").boot_features.empty());
}

TEST_F(NodeFeaturesTest, JobWaitsForTheRebootOfNodesThatChange) {
  report("n2", "nps4");
  const JobId id = submit_for("fast&nps4");
  ASSERT_TRUE(start_job(id, "n[1-2]"));
  ASSERT_EQ(effects<RebootNow>().size(), 1U) << "n2 has the feature";
  EXPECT_EQ(effects<RebootNow>()[0].features, "nps4");
  EXPECT_FALSE(effects<RebootNow>()[0].if_needed);
  EXPECT_TRUE(is_booting(job(id)));
  EXPECT_TRUE(is_schedulable(node("n2")));
  report("n1", "nps4", "another");
  EXPECT_FALSE(is_booting(job(id)));
  EXPECT_FALSE(effects<LaunchStep>().empty());
  EXPECT_TRUE(is_schedulable(node("n1")));
}

// The bug: the site's program was run once more whenever the agent of a node that it was to reboot
// registered again.
TEST_F(NodeFeaturesTest, AControllerThatRebootsByItselfIsToldOnce) {
  configure([](ClusterConfig& config) {
    config.slurmctld_parameters.emplace_back("reboot_from_controller");
  });
  const JobId id = submit_for("fast&nps4");
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_EQ(effects<RebootNow>().size(), 1U);
  EXPECT_TRUE(reboots_from_controller(state_, effects<RebootNow>()[0]));
  report("n1", "nps1");
  EXPECT_TRUE(effects<RebootNow>().empty());
  EXPECT_TRUE(is_booting(job(id)));
}

TEST_F(NodeFeaturesTest, NodesWithOtherJobsDoNotChange) {
  const JobId first = submit(batch_spec());
  ASSERT_TRUE(start_job(first, "n1"));
  const JobId id = submit_for("mig");
  EXPECT_FALSE(start_job(id, "n1"));
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  EXPECT_TRUE(start_job(id, "n1"));
}

TEST_F(NodeFeaturesTest, AlternativeThatChangesLeast) {
  report("n2", "nps4");
  const JobId any = submit_for("mig|nps4");
  ASSERT_TRUE(start_job(any, "n[1-2]"));
  ASSERT_EQ(effects<RebootNow>().size(), 1U);
  EXPECT_EQ(effects<RebootNow>()[0].features, "mig");
  report("n4", "nps4");
  const JobId one = submit_for("[nps1|mig|nps4]");
  ASSERT_TRUE(start_job(one, "n[3-4]"));
  ASSERT_EQ(effects<RebootNow>().size(), 1U) << "mig would be to change on both";
  EXPECT_EQ(effects<RebootNow>()[0].features, "nps1");
}

TEST_F(NodeFeaturesTest, HelperThatFails) {
  const JobId again = submit_for("mig"), once = submit_for("mig", Toggle::kNo);
  ASSERT_TRUE(start_job(again, "n1"));
  report("n1", "nps1", "boot", now_);
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).restart_count, 1U);
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_EQ(node("n1").reason, "boot failed: not active: mig");
  ASSERT_TRUE(start_job(once, "n2"));
  report("n2", "nps1", "another");
  EXPECT_EQ(job(once).state, JobState::kBootFail);
  EXPECT_EQ(node("n2").base, NodeBaseState::kDown);
}

TEST_F(NodeFeaturesTest, NodeThatDoesNotComeBack) {
  const JobId again = submit_for("nps4"), once = submit_for("nps4", Toggle::kNo);
  ASSERT_TRUE(start_job(again, "n1"));
  ASSERT_TRUE(start_job(once, "n2"));
  pass(std::chrono::seconds(99));
  EXPECT_EQ(job(once).state, JobState::kRunning) << "BootTime, not ResumeTimeout";
  pass(std::chrono::seconds(1));
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(once).state, JobState::kBootFail);
  EXPECT_EQ(node("n1").reason, "reboot timed out");
}

TEST_F(NodeFeaturesTest, JobWithRebootThatNodesDoNotSurvive) {
  JobSpec spec = batch_spec();
  spec.reboot = true;
  spec.requeue = Toggle::kNo;
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n[1-2]", 8));
  report("n1", "nps1", "another");
  pass(std::chrono::seconds(60));  // ResumeTimeout
  ASSERT_EQ(effects<TerminateJob>().size(), 1U);
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_EQ(job(id).state, JobState::kBootFail);
  EXPECT_TRUE(is_schedulable(node("n1")));
  EXPECT_EQ(node("n2").reason, "reboot timed out");
}

TEST_F(NodeFeaturesTest, RebootOfAJobThatAnAdministratorTakesBack) {
  const JobId id = submit_for("nps4", Toggle::kNo);
  ASSERT_TRUE(start_job(id, "n1"));
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n1";
  command.update.state = "RESUME";
  ASSERT_TRUE(run(command));
  EXPECT_EQ(job(id).state, JobState::kBootFail) << "it would have waited until its time limit";
  EXPECT_TRUE(is_schedulable(node("n1")));
}

// Its registration after the reboot made it available again.
TEST_F(NodeFeaturesTest, AdministratorsDownOfANodeThatRebootsForAJob) {
  const JobId id = submit_for("nps4"), other = submit_for("nps4");
  UpdateNode command{kRoot, {}};
  command.update.state = "DOWN";
  command.update.reason = "smoke";
  ASSERT_TRUE(start_job(id, "n1"));
  command.update.nodes = "n1";
  ASSERT_TRUE(run(command));
  EXPECT_EQ(job(id).state, JobState::kPending) << "it is queued again";
  report("n1", "nps4", "another");
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").reason, "smoke");
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  configure([](ClusterConfig& config) { config.return_to_service = 2; });  // whatever the reason
  ASSERT_TRUE(start_job(other, "n2"));
  command.update.nodes = "n2";
  ASSERT_TRUE(run(command));
  EXPECT_EQ(node("n2").base, NodeBaseState::kDown);
  report("n2", "nps4", "another");
  EXPECT_TRUE(is_schedulable(node("n2")));
}

// The bug: a feature that no helper manages stayed inactive once scontrol had left it out, also
// when slurm.conf counted again.
TEST_F(NodeFeaturesTest, ReconfigureTakesThoseOfTheLineAgain) {
  for (const bool changed : {false, true}) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = "n1";
    command.update.available_features = "nps1,nps4,mig";
    command.update.active_features = "nps1";
    ASSERT_TRUE(run(command));
    EXPECT_EQ(active("n1"), "nps1");
    auto read = std::make_shared<ClusterConfig>(*config_);
    if (changed) read->min_job_age = std::chrono::seconds(7);
    ASSERT_TRUE(run(ReplaceConfig{.config = read, .ordered = true}));
    EXPECT_EQ(active("n1"), "nps1,fast");
    report("n1", "nps4");
    EXPECT_EQ(active("n1"), "fast,nps4");
    names_.clear();
    ASSERT_TRUE(run(ReplaceConfig{.config = read, .ordered = true}));
    EXPECT_TRUE(names_.empty());
    report("n1", "nps1");
  }
}

// An agent that has not read of its helpers registers twice; the first time took the news of the
// reboot with it.
TEST_F(NodeFeaturesTest, RebootIsNoticedWhenTheNodeKnowsItsHelpers) {
  const JobId id = submit_for("nps4");
  ASSERT_TRUE(start_job(id, "n1"));
  RegisterNode command;
  command.node.name = "n1";
  command.node.hardware.boot_id = "another";
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_booting(job(id)));
  EXPECT_NE(node("n1").flags & kNodeRebootIssued, 0U);
  report("n1", "nps4", "another");
  EXPECT_FALSE(is_booting(job(id)));
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_FALSE(effects<LaunchStep>().empty());
  EXPECT_EQ(node("n1").hardware->boot_id, "another");
}

TEST_F(NodeFeaturesTest, NodesThatNoFileNamesHaveThem) {
  auto changed = std::make_shared<ClusterConfig>(*config_);
  changed->max_node_count = 6;
  ASSERT_TRUE(run(ReplaceConfig{changed}));
  NodeConfig line;
  line.name = line.hostname = "d1";
  line.cpus = line.cores_per_socket = 8;
  line.features = {"far"};
  line.dynamic = DynamicNode::kCreated;
  ASSERT_TRUE(run(CreateNodes{kRoot, {line}}));
  line.name = line.hostname = "d2";
  line.dynamic = DynamicNode::kRegistered;
  RegisterNode command;
  command.node.name = "d2";
  command.node.hardware.boot_id = "boot";
  command.node.node_line = std::make_shared<NodeConfig>(line);
  ASSERT_TRUE(run(command));
  for (const char* name : {"d1", "d2"}) {
    EXPECT_EQ(join(node(name).config->features, ","), "far,nps1,nps4,mig");
    EXPECT_EQ(join(node(name).config->changeable_features, ","), "nps1,nps4,mig");
    report(name, "nps1");
    EXPECT_EQ(active(name), "far,nps1");
  }
  names_.clear();
  ASSERT_TRUE(run(ReplaceConfig{changed}));
  EXPECT_TRUE(names_.empty()) << "nothing has changed";
  auto fewer = std::make_shared<ClusterConfig>(*changed);
  fewer->helpers.helpers.pop_back();
  for (NodeConfig& one : fewer->nodes) std::erase(one.changeable_features, "mig");
  ASSERT_TRUE(run(ReplaceConfig{fewer}));
  EXPECT_EQ(join(node("d1").config->changeable_features, ","), "nps1,nps4");
}

TEST_F(NodeFeaturesTest, WishesThatNoNodeCanHave) {
  EXPECT_EQ(refused("nps1&nps4"), ErrorCode::kInvalidFeature) << "they exclude each other";
  EXPECT_EQ(refused("[nps1*1&mig*1]"), ErrorCode::kInvalidFeature)
      << "which node gets which is not said";
  EXPECT_EQ(refused("(nps1&mig)*1"), ErrorCode::kInvalidFeature);
  EXPECT_EQ(refused("[fast*1]"), ErrorCode::kOk);
  EXPECT_EQ(refused("nps1|nps4"), ErrorCode::kOk);
}

TEST_F(NodeFeaturesTest, WhoMayChange) {
  configure([](ClusterConfig& config) {
    config.helpers.allow_user_boot = {"ann"};
    config.helpers.allow_user_boot_ids = {kAnn.uid};
  });
  EXPECT_EQ(refused("mig", kBob), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(refused("nps1", kBob), ErrorCode::kOk) << "nodes have it now";
  const JobId id = submit_for("mig");
  EXPECT_TRUE(start_job(id, "n1"));
}

}  // namespace
}  // namespace sluice::state
