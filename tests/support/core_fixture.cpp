#include "support/core_fixture.hpp"

#include "common/base/hostlist.hpp"
#include "ctld/state/core/invariants.hpp"

template void sluice::wire::detail::put_message(std::string&, const sluice::state::EventFrame&);
template void sluice::wire::detail::get_message(sluice::wire::detail::Reader&,
                                                sluice::state::EventFrame&);
template void sluice::wire::detail::put_message(std::string&, const sluice::state::StateImage&);
template void sluice::wire::detail::get_message(sluice::wire::detail::Reader&,
                                                sluice::state::StateImage&);

namespace sluice::state {

CoreTest::CoreTest() {
  auto config = std::make_shared<ClusterConfig>();
  config->cluster_name = "test";
  config->return_to_service = 1;
  config->max_array_size = 1001;
  PartitionConfig debug;
  debug.name = "debug";
  debug.is_default = true;
  for (int i = 1; i <= 4; ++i) {
    NodeConfig node;
    node.name = node.hostname = "n" + std::to_string(i);
    node.cpus = 8;
    node.sockets = 1;
    node.cores_per_socket = 8;
    node.real_memory_mib = 1000;
    node.features = {"fast"};
    config->nodes.push_back(node);
    debug.nodes.push_back(node.name);
  }
  config->partitions.push_back(debug);
  config_ = config;
  start();
}

void CoreTest::start() {
  run(StartEpoch{"cluster", 1});
  run(ReplaceConfig{config_});
  for (const NodeConfig& node : config_->nodes) register_node(node.name);
}

UpdateNode CoreTest::node_update(const std::string& nodes, const std::string& node_state,
                                 const std::string& reason) {
  UpdateNode command{kRoot, {}};
  command.update.nodes = nodes;
  command.update.state = node_state;
  if (!reason.empty()) command.update.reason = reason;
  return command;
}

Result<Reply> CoreTest::run(const Command& command) {
  Result<Decision> decision = decide(state_, command, now_);
  if (!decision) return tl::unexpected(decision.error());
  const auto frame = wire::decode<EventFrame>(wire::encode(EventFrame{decision->events}));
  EXPECT_TRUE(frame);
  for (const Event& event : frame->events) {
    EXPECT_EQ(check_transition(state_, event), std::vector<std::string>{});
    names_.emplace_back(name_of(event));
    sluice::state::apply(state_, event);
  }
  EXPECT_EQ(check_state(state_), std::vector<std::string>{});
  effects_ = decision->effects;
  for (Effect& effect : react(state_, frame->events)) effects_.push_back(std::move(effect));
  return decision->reply;
}

ErrorCode CoreTest::error_of(const Command& command) {
  const auto reply = run(command);
  return reply ? ErrorCode::kOk : reply.error().code;
}

void CoreTest::configure(const std::function<void(ClusterConfig&)>& change) {
  auto changed = std::make_shared<ClusterConfig>(*state_.config);
  change(*changed);
  ASSERT_TRUE(run(ReplaceConfig{changed}));
}

void CoreTest::register_node(const std::string& name, std::vector<protocol::StepKey> running) {
  RegisterNode command;
  command.node.name = name;
  command.node.cluster_id = state_.cluster_id;
  command.node.hardware.boot_id = "boot";
  command.node.running = std::move(running);
  ASSERT_TRUE(run(command));
}

JobSpec CoreTest::batch_spec() {
  JobSpec spec;
  spec.batch = true;
  spec.name = "job";
  spec.user_name = "ann";
  return spec;
}

JobId CoreTest::submit(JobSpec spec, Identity who) {
  spec.uid = who.uid;
  const auto reply = run(SubmitJob{who, std::move(spec), {"users"}});
  EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
  return reply ? std::get<JobSubmittedReply>(*reply).job : kNoJob;
}

std::shared_ptr<const Allocation> CoreTest::free_cores(const std::string& nodes, uint32_t cpus) {
  auto allocation = std::make_shared<Allocation>();
  const std::vector<std::string> names = expand_hosts(nodes).value();
  for (const std::string& name : names) {
    const Node& node = *find_node(state_, name);
    NodeAllocation part{.node = node.id};
    for (size_t core = 0; part.cpus < cpus; ++core) {
      if (node.used_cores.test(core)) continue;
      part.cores.set(core);
      ++part.cpus;
    }
    part.memory_mib = 10;
    allocation->cpus += cpus;
    allocation->nodes.push_back(std::move(part));
  }
  allocation->node_list = nodes;
  return allocation;
}

bool CoreTest::start_job(JobId job, const std::string& nodes, uint32_t cpus, uint32_t task) {
  const auto reply = run(StartJobs{{{job, task, "debug", free_cores(nodes, cpus)}}});
  return reply && std::get<StartedReply>(*reply).started == 1;
}

Result<Reply> CoreTest::end_step(JobId job, StepNumber step, const std::string& nodes,
                                 int32_t status, bool clean) {
  protocol::StepEnded report;
  report.key = {{job, step}, state_.jobs.at(job).restart_count};
  report.nodes = nodes;
  report.exit_status = status;
  report.node_clean = clean;
  return run(EndSteps{{report}});
}

Result<Reply> CoreTest::cleaned(JobId job, const std::string& nodes) {
  return run(JobsCleaned{{{job, state_.jobs.at(job).restart_count, nodes, 0, false}}});
}

}  // namespace sluice::state
