// Nodes that no file names come, are used and go.
#include "support/core_fixture.hpp"

#include "ctld/state/rules/step/launch_message.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::state {
namespace {

class DynamicNodeTest : public CoreTest {
 protected:
  DynamicNodeTest() {
    auto config = std::make_shared<ClusterConfig>(*config_);
    config->max_node_count = 6;
    config->node_sets = {{.name = "swift", .features = {"swift"}, .nodes = {}}};
    PartitionConfig& debug = config->partitions[0];
    debug.nodes_text = "ALL";
    debug.node_sets = {"ALL"};
    PartitionConfig swift;
    swift.name = "swift";
    swift.nodes_text = "swift,n1";
    swift.node_sets = {"swift"};
    swift.nodes = {"n1"};
    config->partitions.push_back(swift);
    config_ = config;
    EXPECT_TRUE(run(ReplaceConfig{config_}));
  }

  static NodeConfig line(const std::string& name,
                         ConfiguredNodeState state = ConfiguredNodeState::kCloud) {
    NodeConfig out;
    out.name = out.hostname = name;
    out.cpus = out.cores_per_socket = 4;
    out.real_memory_mib = 500;
    out.state = state;
    out.dynamic = DynamicNode::kCreated;
    return out;
  }
  // What could not be deleted, and why.
  std::vector<std::string> refused(const std::string& nodes) {
    const auto reply = run(DeleteNodes{kRoot, nodes});
    EXPECT_TRUE(reply);
    return reply ? std::get<protocol::CountReply>(*reply).errors : std::vector<std::string>{};
  }
  std::string nodes_of(const std::string& partition) {
    return node_list(state_, find_partition(state_, partition)->nodes);
  }
};

TEST_F(DynamicNodeTest, ANodeIsCreatedRegistersAndRunsJobs) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1")}}));
  EXPECT_EQ(effects<WakeScheduler>().size(), 1u);
  const Node* node = find_node(state_, "d1");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->base, NodeBaseState::kIdle);
  EXPECT_EQ(node->flags, kNodeCloud | kNodePoweredDown | kNodeDynamicNorm);
  EXPECT_FALSE(is_schedulable(*node)) << "nobody is there yet";
  EXPECT_EQ(nodes_of("debug"), "n[1-4],d1");
  EXPECT_EQ(find_partition(state_, "debug")->total_cpus, 36u);
  EXPECT_EQ(nodes_of("swift"), "n1");
  register_node("d1");
  EXPECT_TRUE(is_schedulable(*find_node(state_, "d1")));
  EXPECT_EQ(find_node(state_, "d1")->flags, kNodeCloud | kNodeDynamicNorm);
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "d1"));
  EXPECT_EQ(refused("d1"),
            (std::vector<std::string>{"failed to delete nodes d1", "Requested nodes are busy"}));
  ASSERT_TRUE(end_step(id, kBatchStep, "d1", 0, true));
  EXPECT_TRUE(refused("d1").empty());
  EXPECT_EQ(find_node(state_, "d1"), nullptr);
  EXPECT_EQ(nodes_of("debug"), "n[1-4]");
  EXPECT_EQ(state_.config->nodes.size(), 4u);
}

TEST_F(DynamicNodeTest, TheAgentsOfDeletedNodesEnd) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1"), line("d2")}}));
  register_node("d1");
  EXPECT_TRUE(refused("d[1-2]").empty());
  const auto told = effects<EndAgents>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(node_list(state_, told[0].nodes), "d1") << "of d2 nobody has ever heard";
  const NodeOrder end = told[0];
  EXPECT_EQ(nodes_of_order(state_, end), told[0].nodes);
  EXPECT_EQ(still_wanted(state_, end, {}), told[0].nodes);
  EXPECT_TRUE(still_wanted(state_, end, config_->message_timeout).none())
      << "where nobody answers, there may be nobody";
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1")}}));
  EXPECT_TRUE(still_wanted(state_, end, {}).none()) << "it is another node";
  register_node("d1");
  ASSERT_TRUE(run(NodesNotResponding{{find_node(state_, "d1")->id}}));
  EXPECT_TRUE(refused("d1").empty());
  EXPECT_TRUE(effects<EndAgents>().empty()) << "nobody is there";
}

TEST_F(DynamicNodeTest, AFutureNodeWaitsForItsAdministrator) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1", ConfiguredNodeState::kFuture)}}));
  register_node("d1");
  EXPECT_EQ(find_node(state_, "d1")->base, NodeBaseState::kFuture);
  ASSERT_TRUE(run(node_update("d1", "RESUME")));
  EXPECT_TRUE(is_schedulable(*find_node(state_, "d1")));
}

TEST_F(DynamicNodeTest, FeaturesPutItIntoNodeSets) {
  NodeConfig swift = line("d1");
  swift.features = {"big", "swift"};
  ASSERT_TRUE(run(CreateNodes{kRoot, {swift, line("d2")}}));
  EXPECT_EQ(nodes_of("swift"), "n1,d1");
  EXPECT_EQ(nodes_of("debug"), "n[1-4],d[1-2]");
  EXPECT_EQ(state_.config->node_sets[0].nodes, std::vector<std::string>{"d1"});
  EXPECT_TRUE(refused("d1").empty());
  EXPECT_EQ(nodes_of("swift"), "n1");
  EXPECT_TRUE(state_.config->node_sets[0].nodes.empty());
}

TEST_F(DynamicNodeTest, WhatIsRefused) {
  EXPECT_EQ(error_of(CreateNodes{kAnn, {line("d1")}}), ErrorCode::kInvalidUser);
  EXPECT_EQ(error_of(DeleteNodes{kAnn, "d1"}), ErrorCode::kInvalidUser);
  EXPECT_EQ(error_of(CreateNodes{kRoot, {line("d1"), line("n1")}}), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(error_of(CreateNodes{kRoot, {line("d1"), line("d1")}}), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(error_of(CreateNodes{kRoot, {line("d1"), line("d2"), line("d3")}}),
            ErrorCode::kTooManyNodes);
  EXPECT_EQ(find_node(state_, "d1"), nullptr) << "all or none";
  EXPECT_EQ(error_of(DeleteNodes{kRoot, ""}), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(refused("x1"),
            (std::vector<std::string>{"failed to delete nodes x1", "Invalid node name specified"}));
  EXPECT_EQ(refused("n[1-2]"), (std::vector<std::string>{"failed to delete nodes n[1-2]",
                                                         "Invalid node state specified"}))
      << "slurm.conf has them";
  // what can go goes
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1"), line("d2")}}));
  EXPECT_EQ(refused("d1,x1"),
            (std::vector<std::string>{"failed to delete nodes x1", "Invalid node name specified"}));
  EXPECT_EQ(nodes_of("debug"), "n[1-4],d2");
  EXPECT_EQ(refused("ALL").front(), "failed to delete nodes n[1-4]");
  EXPECT_EQ(nodes_of("debug"), "n[1-4]");
}

TEST_F(DynamicNodeTest, WithoutMaxNodeCountThereIsNoRoom) {
  configure([](ClusterConfig& config) { config.max_node_count = 0; });
  EXPECT_EQ(error_of(CreateNodes{kRoot, {line("d1")}}), ErrorCode::kTooManyNodes);
}

TEST_F(DynamicNodeTest, ItStaysWhenTheConfigurationIsReadAgain) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1")}}));
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d2")}}));
  register_node("d1");
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "d1"));
  names_.clear();
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_TRUE(names_.empty()) << "nothing has changed, nothing is journaled";
  auto other = std::make_shared<ClusterConfig>(*config_);
  other->kill_wait = std::chrono::seconds(7);
  NodeConfig mine = line("d2");
  mine.dynamic = DynamicNode::kNo;
  mine.state = ConfiguredNodeState::kUnknown;
  other->nodes.push_back(mine);  // a file has it now
  other->partitions[0].nodes.push_back("d2");
  ASSERT_TRUE(run(ReplaceConfig{other}));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(nodes_of("debug"), "n[1-4],d[1-2]");
  EXPECT_EQ(find_node(state_, "d2")->flags & kNodeDynamicNorm, 0u);
  EXPECT_EQ(refused("d2").back(), "Invalid node state specified");
}

TEST_F(DynamicNodeTest, PartitionsThatNameItForgetIt) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1"), line("d2")}}));
  UpdatePartition night{kRoot, protocol::PartitionAction::kCreate, "night", {}};
  night.config.nodes_text = "swift,n2,d[1-2]";
  night.config.node_sets = {"swift"};
  night.config.nodes = {"n2", "d1", "d2"};
  ASSERT_TRUE(run(night));
  EXPECT_TRUE(refused("d1").empty());
  EXPECT_EQ(nodes_of("night"), "n2,d2");
  EXPECT_EQ(find_partition(state_, "night")->config->nodes_text, "swift,n2,d2");
}

TEST_F(DynamicNodeTest, AReservationKeepsIt) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1"), line("d2")}}));
  protocol::ReservationValues values;
  values.start = now_ + std::chrono::hours(1);
  values.duration = std::chrono::hours(1);
  values.users = protocol::NameList{"ann"};
  values.nodes = "d1";
  const std::map<std::string, std::vector<uint32_t>> users{{"ann", {kAnn.uid}}};
  ASSERT_TRUE(
      run(ChangeReservation{kRoot, {protocol::ReservationAction::kCreate, "kept", values}, users}));
  EXPECT_EQ(refused("d[1-2]"),
            (std::vector<std::string>{"failed to delete nodes d1", "Requested nodes are busy"}));
  ASSERT_TRUE(
      run(ChangeReservation{kRoot, {protocol::ReservationAction::kDelete, "kept", {}}, users}));
  EXPECT_TRUE(refused("d1").empty());
}

TEST_F(DynamicNodeTest, ItIsANewNodeWhenItIsBack) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1")}}));
  register_node("d1");
  UpdateNode update{kRoot, {}};
  update.update.nodes = "d1";
  update.update.state = "DRAIN";
  update.update.reason = "a fan is loud";
  update.update.comment = "old";
  ASSERT_TRUE(run(update));
  const NodeId id = find_node(state_, "d1")->id;
  EXPECT_TRUE(refused("d1").empty());
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1")}}));
  const Node& node = *find_node(state_, "d1");
  EXPECT_EQ(node.id, id);
  EXPECT_TRUE(node.reason.empty() && node.comment.empty());
  EXPECT_EQ(node.hardware, nullptr);
  EXPECT_EQ(node.flags, kNodeCloud | kNodePoweredDown | kNodeDynamicNorm);
}

TEST_F(DynamicNodeTest, AnAgentBringsItsLineAlong) {
  RegisterNode command;
  command.node.name = "z1";
  command.node.hardware.boot_id = "boot";
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName);
  NodeConfig own = line("z1", ConfiguredNodeState::kUnknown);
  command.node.node_line = std::make_shared<NodeConfig>(own);
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidNodeName)
      << "of scontrol's kind, not of an agent's";
  own.dynamic = DynamicNode::kRegistered;
  own.features = {"swift"};
  command.node.node_line = std::make_shared<NodeConfig>(own);
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_schedulable(*find_node(state_, "z1")));
  EXPECT_EQ(find_node(state_, "z1")->flags, kNodeDynamicNorm);
  EXPECT_EQ(nodes_of("swift"), "n1,z1");
  names_.clear();
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(names_.empty()) << "it is known now";
  EXPECT_TRUE(refused("z1").empty());
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("d1"), line("d2")}}));
  EXPECT_EQ(error_of(command), ErrorCode::kTooManyNodes);
}

TEST_F(DynamicNodeTest, AHostBecomesAFutureNode) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("f1", ConfiguredNodeState::kFuture)}}));
  const auto node = [&]() -> const Node& { return *find_node(state_, "f1"); };
  RegisterNode command;
  command.node.name = "f1";
  command.node.hardware.boot_id = "boot";
  command.node.hardware.host_name = "h1";
  command.node.hardware.address = "10.0.0.7";
  ASSERT_TRUE(run(command));
  EXPECT_EQ(node().base, NodeBaseState::kFuture) << "it was not asked for";
  EXPECT_EQ(node_host_name(node()), "f1");
  EXPECT_EQ(node_address(node()).host, "f1");
  command.node.claims_future = true;
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_schedulable(node()));
  EXPECT_EQ(node().flags, kNodeDynamicFuture | kNodeDynamicNorm);
  EXPECT_EQ(node_host_name(node()), "h1");
  EXPECT_EQ(node_address(node()).host, "10.0.0.7");
  names_.clear();
  ASSERT_TRUE(run(command)) << "it is that host's";
  EXPECT_TRUE(names_.empty());
  RegisterNode late = command;
  late.node.hardware.host_name = "h2";
  late.node.hardware.address.clear();
  EXPECT_EQ(error_of(late), ErrorCode::kInvalidState);
  ASSERT_TRUE(run(node_update("f1", "FUTURE")));
  EXPECT_EQ(node().flags, kNodeDynamicNorm);
  EXPECT_EQ(node_host_name(node()), "f1");
  ASSERT_TRUE(run(late));
  EXPECT_EQ(node().base, NodeBaseState::kIdle);
  EXPECT_EQ(node_address(node()).host, "h2");
  late.node.hardware.port = 7777;
  ASSERT_TRUE(run(late)) << "where its agent listens is learnt";
  EXPECT_EQ(node_address(node()).port, 7777U);
  late.node.name = "n1";
  EXPECT_EQ(error_of(late), ErrorCode::kInvalidState) << "it never was a FUTURE node";
  late.node.name = "f9";
  EXPECT_EQ(error_of(late), ErrorCode::kInvalidNodeName);
}

TEST_F(DynamicNodeTest, CoresForTheSystemAreTakenAsTheConfigurationSaysNow) {
  NodeConfig spare = line("d1");
  spare.core_spec_count = 1;
  ASSERT_TRUE(run(CreateNodes{kRoot, {spare}}));
  auto config = std::make_shared<ClusterConfig>(*config_);
  config->scheduler_parameters = {"spec_cores_first"};
  ASSERT_TRUE(run(ReplaceConfig{config}));
  EXPECT_TRUE(find_node(state_, "d1")->config->system_cores_first);
  ASSERT_TRUE(run(ReplaceConfig{config_}));
  EXPECT_FALSE(find_node(state_, "d1")->config->system_cores_first);
}

// An agent that starts anew asks for its node before it knows what runs there.
TEST_F(DynamicNodeTest, AHostThatAsksForItsNodeAgainLosesNoJobs) {
  ASSERT_TRUE(run(CreateNodes{kRoot, {line("f1", ConfiguredNodeState::kFuture)}}));
  RegisterNode claim;
  claim.node.name = "f1";
  claim.node.hardware.boot_id = "boot";
  claim.node.hardware.host_name = "h1";
  claim.node.claims_future = claim.node.only_claims = true;
  ASSERT_TRUE(run(claim));
  const auto node = [&]() -> const Node& { return *find_node(state_, "f1"); };
  EXPECT_EQ(node().base, NodeBaseState::kUnknown);
  EXPECT_EQ(node_host_name(node()), "h1") << "others come too late";
  RegisterNode other = claim;
  other.node.hardware.host_name = "h2";
  EXPECT_EQ(error_of(other), ErrorCode::kInvalidState);
  EXPECT_FALSE(is_schedulable(node())) << "it has still to register";
  RegisterNode registers = claim;
  registers.node.only_claims = false;
  ASSERT_TRUE(run(registers));
  ASSERT_TRUE(is_schedulable(node()));
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "f1"));
  now_ += config_->batch_start_timeout + std::chrono::seconds(1);
  names_.clear();
  const auto reply = run(claim);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(std::get<RegisteredReply>(*reply).missing.empty());
  EXPECT_TRUE(names_.empty());
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_EQ(job(id).state, JobState::kRunning);
}

}  // namespace
}  // namespace sluice::state
