#include "ctld/agents/liveness.hpp"

#include <algorithm>

#include "common/log/log.hpp"
#include "common/model/ping_interval.hpp"
#include "common/names/errors.hpp"
#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/noded.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::ctld {

Liveness::Liveness(engine::Engine& engine, const engine::Publisher& publisher, NodeLinks& links,
                   engine::Clock clock)
    : engine_(engine),
      publisher_(publisher),
      links_(links),
      clock_(std::move(clock)),
      since_(net::steady_now()),
      roll_call_(std::make_shared<RollCall>(*publisher.newest()->state,
                                            [&engine] { engine.open_job_ids(); })) {}

Liveness::~Liveness() { stop(); }

void Liveness::start() {
  thread_.start([this] { run(); });
}

void Liveness::stop() {
  roll_call_->cancel();
  thread_.stop();
}

NodeSoft& Liveness::Heard::entry(NodeId node) {
  if (soft_.size() <= node) {
    soft_.resize(node + 1);
    times_.resize(node + 1);
  }
  times_[node] = net::steady_now();
  unresolved_.erase(node);
  refused_.erase(node);
  return soft_[node];
}

void Liveness::Heard::set(NodeId node, Time time) {
  const std::lock_guard lock(mutex_);
  entry(node).last_response = time;
}

void Liveness::Heard::set(NodeId node, const NodeSoft& soft) {
  const std::lock_guard lock(mutex_);
  entry(node) = soft;
}

bool Liveness::Heard::is_newly_unresolved(NodeId node) {
  const std::lock_guard lock(mutex_);
  return unresolved_.insert(node).second;
}

bool Liveness::Heard::is_newly_refused(NodeId node) {
  const std::lock_guard lock(mutex_);
  return refused_.insert(node).second;
}

std::set<NodeId> Liveness::Heard::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

std::vector<NodeSoft> Liveness::Heard::all() const {
  const std::lock_guard lock(mutex_);
  return soft_;
}

std::vector<SteadyTime> Liveness::Heard::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

void Liveness::heard_of(NodeId node) {
  heard_->set(node, clock_());
  roll_call_->answered(node);
}

std::vector<NodeSoft> Liveness::soft() const { return heard_->all(); }

void Liveness::run() {
  while (true) {
    const state::ClusterSnapshot state = publisher_.newest()->state;
    ping(state);
    const Duration interval = ping_interval(*state->config);
    const SteadyTime asked = net::steady_now();
    if (!thread_.rest(interval)) return;
    // When this process stood still itself (SIGSTOP, a paused machine), what the nodes said
    // meanwhile is not read yet: they have the whole of SlurmdTimeout again.
    if (net::steady_now() - asked > 2 * interval) {
      since_ = net::steady_now();
      continue;
    }
    judge(*state, *publisher_.newest()->state);
  }
}

void Liveness::ping(const state::ClusterSnapshot& state) {
  Bitmap up, down;  // those that are down or were never heard of are asked to register
  state->nodes.for_each([&](const Node& node) {
    if (!state::expects_agent(node)) return;
    (node.base == NodeBaseState::kDown || !node.hardware ? down : up).set(node.id);
  });
  ping(state, up, false);
  ping(state, down, true);
}

void Liveness::ping(const state::ClusterSnapshot& state, const Bitmap& nodes, bool register_again) {
  if (nodes.none()) return;
  const protocol::PingNodeRequest request{state->cluster_id, state->epoch, register_again,
                                          state->epoch_start};
  links_.send(*state, nodes, request,
              [heard = heard_, roll_call = roll_call_, clock = clock_, state](const auto& results) {
                for (const net::FanoutResult& result : results) {
                  const Node* node = state::find_node(*state, result.node);
                  if (node == nullptr) continue;
                  if (result.code != ErrorCode::kOk) {
                    roll_call->answered(node->id);
                    const bool unresolved = result.text.find(net::kUnresolved) != std::string::npos;
                    if (unresolved && heard->is_newly_unresolved(node->id))
                      log::error("node {} cannot be reached: {}", node->name, result.text);
                    const bool refused = state::refuses_controller(result.code);
                    if (refused && heard->is_newly_refused(node->id))
                      log::error(
                          "node {} does not respond, it takes nothing of this controller: {}",
                          node->name, error_text({result.code, result.text}));
                    continue;
                  }
                  auto reply = wire::decode<protocol::PingNodeReply>(result.reply);
                  if (!reply) continue;
                  reply->soft.last_response = clock();
                  heard->set(node->id, reply->soft);
                }
              });
}

// Two pings missed, or one refused: shown as not responding. SlurmdTimeout over: down, also where
// no agent ever registered. Only of nodes that were asked, by `asked`.
void Liveness::judge(const state::ClusterState& asked, const state::ClusterState& state) {
  const SteadyTime now = net::steady_now();
  const Duration limit = state.config->slurmd_timeout;
  const Duration late = 2 * ping_interval(*state.config);
  state::NodesTimedOut silent;
  state::NodesNotResponding quiet;
  state::NodesResponding back;
  const std::vector<SteadyTime> known = heard_->times();
  const std::set<NodeId> refused = heard_->refused();
  state.nodes.for_each([&](const Node& node) {
    const Node* before = asked.nodes.find(node.id);
    const bool given_up = !node.hardware && node.base == NodeBaseState::kDown;
    if (before == nullptr || !state::expects_agent(*before) || !state::expects_agent(node) ||
        given_up) {
      expected_.erase(node.id);
      return;
    }
    const SteadyTime expected = expected_.try_emplace(node.id, now).first->second;
    // one that has never registered has its time from when it was put in
    const SteadyTime from = node.hardware ? since_ : std::max(since_, expected);
    const SteadyTime spoke = std::max(from, node.id < known.size() ? known[node.id] : SteadyTime());
    const bool marked = (node.flags & kNodeNoRespond) != 0;
    if (limit > Duration(0) && now - spoke > limit) {
      if (node.base != NodeBaseState::kDown) silent.nodes.push_back(node.id);
    } else if (now - spoke > late || refused.contains(node.id)) {
      if (!marked) quiet.nodes.push_back(node.id);
    } else if (marked && spoke > since_) {
      back.nodes.push_back(node.id);
    }
  });
  if (!silent.nodes.empty()) engine_.post({std::move(silent), {}, {}});
  if (!quiet.nodes.empty()) engine_.post({std::move(quiet), {}, {}});
  if (!back.nodes.empty()) engine_.post({std::move(back), {}, {}});
}

}  // namespace sluice::ctld
