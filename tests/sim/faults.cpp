// What happens to nodes of the simulated cluster: reboots, power, lost links, agents that restart.
#include "world.hpp"

#include <array>

namespace sluice::sim {

using namespace sluice::state;

const char* fault_name(Fault fault) {
  static constexpr std::array<const char*, static_cast<size_t>(Fault::kCount)> kNames{
      "message lost",
      "message repeated",
      "message delayed",
      "node cut off",
      "node back",
      "node rebooted",
      "agent restarted",
      "controller crashed",
      "undurable frames lost",
      "stale report",
      "configuration replaced",
      "launch failed",
      "prolog failed",
      "kill failed",
      "reboot by order",
      "helper failed",
      "order lost"};
  return kNames[static_cast<size_t>(fault)];
}

void World::reboot(FakeNode& node, Fault why) {
  count(why);
  node.booted = now_;
  node.reboot(chance(2));
  register_node(node);
}

// SuspendProgram and ResumeProgram, which does not always help.
void World::change_power(FakeNode& node, PowerProgram program) {
  if (program == PowerProgram::kSuspend && !quiet_ && node.powered) {
    node.powered = node.agent_up = false;
    node.reboot(chance(2));
  } else if (program == PowerProgram::kResume && (quiet_ || !chance(8))) {
    if (!node.powered) node.booted = now_;
    node.powered = node.agent_up = true;
    register_node(node);
    report(node);
  }
}

void World::obey(FakeNode& node, const RebootNow& order) {
  if (node.booted >= order.issued || node.features_changed >= order.issued) return;
  const bool fails = !order.features.empty() && !quiet_ && chance(8);
  if (fails) count(Fault::kHelperFailed);
  else if (!order.features.empty()) node.features = order.features;
  if (!fails && !order.if_needed) return reboot(node, Fault::kOrderedReboot);
  node.features_changed = order.issued;
  register_node(node);
}

void World::cut_off(FakeNode& node) {
  if (node.cut_off) return;
  count(Fault::kNodeCutOff);
  node.cut_off = true;
  const auto told = [this, &node](auto command) {
    const Node* known = find_node(controller_.state(), node.name());
    if (!node.cut_off || known == nullptr) return;
    command.nodes = {known->id};
    controller_.handle(command, now_);
    flush_later();
  };
  at(between(1'000, 5'000), [told] { told(NodesNotResponding{}); });
  at(between(5'000, 40'000), [told] { told(NodesTimedOut{}); });
  at(between(2'000, 80'000), [this, &node] {
    count(Fault::kNodeBack);
    node.cut_off = false;
    const Node* known = find_node(controller_.state(), node.name());
    if (known != nullptr) controller_.handle(NodesResponding{{known->id}}, now_);
    register_node(node);
    report(node);
  });
}

void World::disturb_node() {
  FakeNode& node = *nodes_[below(static_cast<uint32_t>(nodes_.size()))];
  switch (below(6)) {
    case 0: cut_off(node); break;
    case 1:
      if (node.agent_up && chance(2)) reboot(node, Fault::kNodeRebooted);
      break;
    case 2:
      count(Fault::kAgentRestarted);
      node.restart_agent();
      node.agent_up = false;
      at(between(100, 10'000), [this, &node] {
        if (!node.powered) return;
        node.agent_up = true;
        node.run_until(now_);
        register_node(node);
        report(node);
      });
      break;
    case 3: {  // a report of a run that is long over
      const JobId id = any_job();
      const Job* job = controller_.state().jobs.find(id);
      if (job == nullptr) break;
      protocol::StepEnded stale;
      stale.key = {{id, kBatchStep}, job->restart_count == 0 ? 99 : job->restart_count - 1};
      stale.nodes = node.name();
      stale.node_clean = true;
      count(Fault::kStaleReport);
      to_controller(node, EndSteps{{stale}}, {});
      break;
    }
    default: register_node(node); break;
  }
}

}  // namespace sluice::sim
