#include "ctld/agents/health_checks.hpp"

#include <algorithm>
#include <vector>

#include "common/os/clock.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::ctld {
namespace {

constexpr Duration kStep = std::chrono::seconds(1);

bool is_meant(const ClusterConfig& config, const Node& node) {
  if (!state::expects_agent(node) || !node.hardware || (node.flags & kNodeNoRespond) != 0)
    return false;
  const auto& states = config.health_check_node_state;
  const NodeBaseState shown = state::shown_base(node);
  const bool drained = (node.flags & kNodeDrain) != 0;
  if (has_option(states, "ALLOC") && shown == NodeBaseState::kAllocated) return true;
  if (has_option(states, "IDLE") && shown == NodeBaseState::kIdle) return true;
  if (has_option(states, "MIXED") && shown == NodeBaseState::kMixed) return true;
  if (has_option(states, "NONDRAINED_IDLE") && shown == NodeBaseState::kIdle && !drained)
    return true;
  const bool any = std::ranges::none_of(states, [](const std::string& word) {
    return has_option({word}, "ALLOC") || has_option({word}, "IDLE") ||
           has_option({word}, "MIXED") || has_option({word}, "NONDRAINED_IDLE");
  });
  return any && !has_option(states, "START_ONLY") && !has_option(states, "REBOOT_ONLY");
}

}  // namespace

Bitmap nodes_to_check(const state::ClusterState& state, double from, double to) {
  std::vector<NodeId> meant;
  state.nodes.for_each([&](const Node& node) {
    if (is_meant(*state.config, node)) meant.push_back(node.id);
  });
  Bitmap nodes;
  const auto count = static_cast<double>(meant.size());
  const bool cycle = has_option(state.config->health_check_node_state, "CYCLE");
  for (size_t at = 0; at < meant.size(); ++at) {
    const double turn = cycle ? static_cast<double>(at) / count : 1.0;
    if (cycle ? from <= turn && turn < to : to >= 1.0) nodes.set(meant[at]);
  }
  return nodes;
}

HealthChecks::HealthChecks(const engine::Publisher& publisher, NodeLinks& links)
    : publisher_(publisher), links_(links) {
  thread_.start([this] { run(); });
}

void HealthChecks::run() {
  SteadyTime round = net::steady_now();
  double done = 0;  // of the round
  while (thread_.rest(kStep)) {
    const state::ClusterSnapshot state = publisher_.newest()->state;
    const Duration interval = state->config->health_check_interval;
    const SteadyTime now = net::steady_now();
    if (state->config->health_check_program.empty() || interval <= Duration(0)) {
      round = now;
      done = 0;
      continue;
    }
    const double part = std::min(
        1.0, static_cast<double>((now - round).count()) / static_cast<double>(interval.count()));
    const Bitmap nodes = nodes_to_check(*state, done, part);
    done = part;
    if (part >= 1.0) {
      round = now;
      done = 0;
    }
    if (nodes.any()) links_.send(*state, nodes, protocol::CheckHealthRequest{}, {});
  }
}

}  // namespace sluice::ctld
