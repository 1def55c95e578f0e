#include "ctld/agents/orders.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/admin.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "ctld/state/rules/step/extern_step.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::ctld {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(300);
constexpr Duration kLongestPause = std::chrono::seconds(3);
constexpr Duration kLongestConfigPause = std::chrono::minutes(1);

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string text_of(const state::NodeOrder& order) {
  const Overloaded text{
      [](const state::LaunchStep& o) { return "launch of " + step_log_name(o.key.id); },
      [](const state::LaunchProlog& o) { return fmt::format("prolog of JobId={}", o.job); },
      [](const state::SignalSteps& o) {
        return fmt::format("signal {} for JobId={}", o.request.signal, o.request.key.id.job);
      },
      [](const state::TerminateStep& o) { return "end of " + step_log_name(o.key.id); },
      [](const state::TerminateJob& o) { return fmt::format("end of JobId={}", o.job); },
      [](const state::RebootNow&) { return std::string("reboot"); },
      [](const state::ReconfigureNodes&) { return std::string("configuration"); },
      [](const state::EndAgents&) { return std::string("end of the agent"); },
  };
  return std::visit(text, order);
}

// By which it is sent.
std::string method_of(const state::NodeOrder& order) {
  const Overloaded method{
      [](const state::LaunchStep&) { return net::method_name<protocol::LaunchStepRequest>(); },
      [](const state::LaunchProlog&) { return net::method_name<protocol::RunPrologRequest>(); },
      [](const state::SignalSteps& o) {
        return net::method_name<std::remove_cvref_t<decltype(o.request)>>();
      },
      [](const state::TerminateStep&) {
        return net::method_name<protocol::TerminateStepRequest>();
      },
      [](const state::TerminateJob&) { return net::method_name<protocol::TerminateJobRequest>(); },
      [](const state::RebootNow&) { return net::method_name<protocol::RebootNodeRequest>(); },
      [](const state::ReconfigureNodes&) {
        return net::method_name<protocol::ReconfigureNodeRequest>();
      },
      [](const state::EndAgents&) { return net::method_name<protocol::ShutdownNodeRequest>(); },
  };
  return std::string(net::short_method_name(std::visit(method, order)));
}

// A node that is deleted has nobody who could carry an order out, but for the one to its agent to
// end.
std::optional<NodeId> target_of(const state::ClusterState& state, const state::NodeOrder& order,
                                const std::string& name) {
  if (const Node* node = state::find_node(state, name)) return node->id;
  const auto* end = std::get_if<state::EndAgents>(&order);
  std::optional<NodeId> deleted;
  if (end == nullptr) return deleted;
  end->nodes.for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<NodeId>(id));
    if (node != nullptr && node->name == name) deleted = node->id;
  });
  return deleted;
}

// Who waits at an srun is told at once that a node knows another key or time. What was begun before
// this controller may be running there, and a script can wait.
bool tells_srun(const state::ClusterState& state, const state::NodeOrder& order) {
  const auto* launch = std::get_if<state::LaunchStep>(&order);
  const Job* job = launch == nullptr ? nullptr : state.jobs.find(launch->key.id.job);
  const Step* step = job == nullptr ? nullptr : state::find_step(*job, launch->key.id.step);
  return step != nullptr && step->id.step <= kMaxNormalStep && step->start > state.epoch_start;
}

// A batch script or step that this controller knows as begun: whether the node has it is what is
// asked.
bool began_before(const state::ClusterState& state, const state::NodeOrder& order) {
  const auto* launch = std::get_if<state::LaunchStep>(&order);
  const Job* job = launch == nullptr ? nullptr : state.jobs.find(launch->key.id.job);
  const Step* step = job == nullptr ? nullptr : state::find_step(*job, launch->key.id.step);
  return step != nullptr && step->start <= state.epoch_start;
}

// Why nodes that were reached do not take an order yet.
struct NotYet {
  std::string why;       // empty: they were not reached
  bool strange = false;  // they do not believe that this is their controller
};

std::string repeat_text(const state::ClusterState& state, const state::NodeOrder& order,
                        const std::string& nodes, const NotYet& how) {
  if (how.why.empty())
    return fmt::format("{} did not reach {}: it is repeated", text_of(order), nodes);
  const auto* launch = std::get_if<state::LaunchStep>(&order);
  if (launch != nullptr && !how.strange && began_before(state, order)) {
    return fmt::format("{}: whether its launch has reached {} is asked again ({})",
                       step_log_name(launch->key.id), nodes, how.why);
  }
  return fmt::format("{} is not taken by {} yet ({}): it is repeated", text_of(order), nodes,
                     how.why);
}

}  // namespace

Duration repeat_pause(const state::NodeOrder& order, uint32_t failed) {
  const bool config = std::holds_alternative<state::ReconfigureNodes>(order);
  const Duration longest = config ? kLongestConfigPause : kLongestPause;
  Duration pause = kFirstPause;
  for (uint32_t round = 1; round < failed && pause < longest; ++round) pause *= 2;
  return std::min(pause, longest);
}

std::shared_ptr<Orders> Orders::create(const Parts& parts) {
  return std::shared_ptr<Orders>(new Orders(parts));
}
Orders::~Orders() { stop(); }

void Orders::connect(engine::Engine& engine, const engine::Publisher& publisher) {
  engine_ = &engine;
  publisher_ = &publisher;
}

void Orders::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
  }
  workers_.join();
}

void Orders::give(state::NodeOrder order, const Snapshot& state) {
  if (stopping_) return;
  Round round{.order = std::move(order), .nodes = {}, .given = Clock::now(), .number = ++numbers_};
  round.nodes = state::nodes_of_order(*state, round.order);
  if (round.nodes.none()) return;
  if (!std::holds_alternative<state::LaunchStep>(round.order)) return send(round, state);
  boost::asio::post(workers_, [this, round = std::move(round), state] { send(round, state); });
}

void Orders::report(protocol::QueryStatisticsReply& reply) const {
  constexpr size_t kMostNamed = 25;
  reply.messages_sent = static_cast<uint64_t>(std::max<int64_t>(0, under_way_));
  const Snapshot state = publisher_ == nullptr ? nullptr : publisher_->newest()->state;
  const std::lock_guard lock(mutex_);
  reply.messages_waiting = waiting_.size();
  for (const auto& [subject, waiting] : waiting_) {
    if (state == nullptr || reply.waiting_orders.size() >= kMostNamed) return;
    reply.waiting_orders.push_back(
        {method_of(waiting.round.order), state::node_list(*state, waiting.round.nodes)});
  }
}

void Orders::send(const Round& round, const Snapshot& state) {
  // counts it for as long as it can be answered, also where there is nothing to send
  const std::shared_ptr<void> counted(nullptr, [weak = weak_from_this()](void*) {
    if (const auto self = weak.lock()) --self->under_way_;
  });
  ++under_way_;
  const Done done = [weak = weak_from_this(), round,
                     counted](const std::vector<net::FanoutResult>& results) {
    if (const auto self = weak.lock()) self->note_answers(round, results);
  };
  std::visit([&](const auto& order) { transmit(order, round.nodes, state, done); }, round.order);
}

// Nodes need not ask for each step then who is in which group. Root's are those of its daemons
// there.
void Orders::add_groups(const state::ClusterState& state, protocol::StepLaunch& launch) const {
  if (launch.uid == 0 || has_option(state.config->launch_parameters, "disable_send_gids")) return;
  launch.groups = parts_.users.find(launch.uid, launch.gid, net::now()).group_ids;
}

// Reads script and environment, signs, sends.
void Orders::transmit(const state::LaunchStep& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  auto message = state::make_step_launch(*state, order.key);
  if (!message) return;  // ended or restarted meanwhile
  std::string why;
  const auto fill = [&](std::string_view blob, std::string& into) {
    if (blob.empty()) return true;
    auto bytes = parts_.store.blob(blob);
    if (bytes) into = std::move(*bytes);
    else if (bytes.error().code == ErrorCode::kNotFound) why = "its script is not in the journal";
    else why = bytes.error().text;
    return bytes.has_value();
  };
  const bool batch = message->step == nullptr;
  const JobSpec& job = *message->job_spec;
  const std::string_view environment =
      batch ? job.environment_blob.view() : message->step->environment_blob.view();
  if (!fill(environment, message->environment) ||
      (batch && !fill(job.script_blob.view(), message->script))) {
    engine_->post({state::LaunchFailed{order.key, message->layout.node_list, why, false}, {}, {}});
    return;
  }
  add_groups(*state, *message);
  message->issued = net::now();
  protocol::LaunchStepRequest request;
  request.launch = wire::encode(*message);
  request.signature = parts_.signer.sign(request.launch);
  request.key = parts_.signer.public_key();
  parts_.links.send(*state, nodes, request, done, batch ? 0 : message->step->tree_width);
}

void Orders::transmit(const state::LaunchProlog& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  const Job* job = state->jobs.find(order.job);
  if (job == nullptr || !job->allocation) return;
  const protocol::RunPrologRequest request{order.job,
                                           order.restart,
                                           job->spec,
                                           job->partition.str(),
                                           job->allocation->node_list,
                                           state::holds_gres(*job) ? job->allocation : nullptr,
                                           state::has_group_for_scripts(*state, *job, nodes),
                                           state::round_of_job(*state, order.job)};
  parts_.links.send(*state, nodes, request, done);
}

void Orders::transmit(const state::SignalSteps& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  parts_.links.send(*state, nodes, order.request, done);
}

void Orders::transmit(const state::TerminateStep& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  parts_.links.send(*state, nodes, state::make_terminate_step(*state, order), done);
}

void Orders::transmit(const state::TerminateJob& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  if (const auto request = state::make_terminate_job(*state, order))
    parts_.links.send(*state, nodes, *request, done);
}

void Orders::transmit(const state::RebootNow& order, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  const protocol::RebootNodeRequest request{order.issued, order.reason, order.features,
                                            order.if_needed};
  parts_.links.send(*state, nodes, request, done);
}

void Orders::transmit(const state::ReconfigureNodes&, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  // each node gets what it needs when it registers then; the whole to each would grow with their
  // square
  parts_.links.send(*state, nodes, protocol::ReconfigureNodeRequest{}, done);
}

void Orders::transmit(const state::EndAgents&, const Bitmap& nodes, const Snapshot& state,
                      const Done& done) {
  parts_.links.send(*state, nodes, protocol::ShutdownNodeRequest{"the node was deleted"}, done);
}

// On a thread of the links, which may go on when engine and publisher are gone: what needs them is
// a worker's.
void Orders::note_answers(const Round& round, const std::vector<net::FanoutResult>& results) {
  if (stopping_) return;
  Outcome outcome;
  for (const net::FanoutResult& result : results) {
    if (result.code == ErrorCode::kOk) outcome.taken = true;
    else outcome.failed.push_back(result);
  }
  if (outcome.failed.empty() && !std::holds_alternative<state::LaunchStep>(round.order)) return;
  boost::asio::post(workers_,
                    [this, round, outcome = std::move(outcome)] { answered(round, outcome); });
}

void Orders::answered(const Round& round, const Outcome& outcome) {
  if (stopping_) return;
  const Snapshot newest = publisher_->newest()->state;
  std::vector<net::FanoutResult> refusals;
  std::vector<std::string> unreached;
  NotYet not_yet;
  state::NodesNotResponding quiet;  // they take nothing more of this controller's
  Round again = round;
  again.nodes.clear();
  for (const net::FanoutResult& result : outcome.failed) {
    log::debug("{} on {}: {}", text_of(round.order), result.node, result.text);
    const auto node = target_of(*newest, round.order, result.node);
    const bool strange = state::refuses_controller(result.code);
    if (node && strange && round.failed == 0) quiet.nodes.push_back(*node);
    const bool ends = strange && round.failed == 0 && tells_srun(*newest, round.order);
    if (!node || ends || !state::may_repeat(round.order, result.code)) {
      refusals.push_back(result);
      continue;
    }
    unreached.push_back(result.node);
    if (strange || result.code == ErrorCode::kRetry)
      not_yet = {error_text({result.code, result.text}), not_yet.strange || strange};
    again.nodes.set(*node);
  }
  if (!refusals.empty()) refused(round, refusals);
  if (!quiet.nodes.empty()) engine_->post({std::move(quiet), {}, {}});
  if (!unreached.empty()) {
    if (round.failed == 0)
      log::info("{}", repeat_text(*newest, round.order, fold_hosts_sorted(unreached), not_yet));
    repeat_later(std::move(again));
  }
  const auto* launch = std::get_if<state::LaunchStep>(&round.order);
  if (launch == nullptr || !outcome.taken) return;
  if (auto stop = state::stop_after_launch(*newest, launch->key)) give(std::move(*stop), newest);
}

void Orders::refused(const Round& round, const std::vector<net::FanoutResult>& results) {
  std::vector<std::string> nodes;
  nodes.reserve(results.size());
  for (const net::FanoutResult& result : results) nodes.push_back(result.node);
  const std::string reason = error_text({results.back().code, results.back().text});
  // of a signal it says that nothing of the job runs there
  if (std::holds_alternative<state::SignalSteps>(round.order)) return;
  log::error("{} was refused by {}: {}", text_of(round.order), fold_hosts_sorted(nodes), reason);
  if (const auto* launch = std::get_if<state::LaunchStep>(&round.order)) {
    parts_.refusals.note(launch->key.id, reason);
    engine_->post({state::LaunchFailed{launch->key, fold_hosts(nodes), reason, false}, {}, {}});
  }
}

void Orders::repeat_later(Round round) {
  const state::OrderSubject subject = state::subject_of(round.order, round.number);
  ++round.failed;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  Waiting& waiting = waiting_[subject];
  if (waiting.timer != nullptr) {
    waiting.round.nodes |= round.nodes;
    state::join_orders(waiting.round.order, round.order);
    return;
  }
  waiting.timer = std::make_unique<boost::asio::steady_timer>(
      workers_, repeat_pause(round.order, round.failed));
  waiting.round = std::move(round);
  waiting.timer->async_wait([this, subject](const boost::system::error_code& cancelled) {
    if (!cancelled) repeat(subject);
  });
}

// What is wanted now is asked as late as can be, so that what ended meanwhile is not begun.
void Orders::repeat(const state::OrderSubject& subject) {
  Round round;
  {
    const std::lock_guard lock(mutex_);
    auto waited = waiting_.extract(subject);
    if (stopping_ || waited.empty()) return;
    round = std::move(waited.mapped().round);
  }
  const Snapshot newest = publisher_->newest()->state;
  const auto since = std::chrono::duration_cast<Duration>(Clock::now() - round.given);
  round.nodes &= state::still_wanted(*newest, round.order, since);
  if (round.nodes.any()) send(round, newest);
}

}  // namespace sluice::ctld
