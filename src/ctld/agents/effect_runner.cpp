#include "ctld/agents/effect_runner.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/log/log.hpp"
#include "common/net/clock.hpp"
#include "common/protocol/admin.hpp"
#include "common/wire/codec.hpp"
#include "ctld/state/launch_message.hpp"

namespace sluice::ctld {
namespace {
constexpr auto kLaunchRetry = std::chrono::milliseconds(300);
}  // namespace

EffectRunner::EffectRunner(Parts parts) : parts_(parts) {}
EffectRunner::~EffectRunner() { stop(); }

void EffectRunner::connect(engine::Engine& engine, engine::SchedulerLoop& scheduler,
                           const engine::Publisher& publisher) {
  engine_ = &engine;
  scheduler_ = &scheduler;
  publisher_ = &publisher;
}

void EffectRunner::stop() {
  stopping_ = true;
  workers_.join();
}

void EffectRunner::run(const state::Effects& effects, const Snapshot& state) {
  for (const state::Effect& effect : effects) {
    std::visit([&](const auto& e) { handle(e, state); }, effect);
  }
}

void EffectRunner::handle(const state::LaunchStep& effect, const Snapshot& state) {
  boost::asio::post(workers_, [this, key = effect.key, state] { launch(key, state, {}); });
}

// Nodes need not ask for each step then who is in which group. Root's are those of its daemons there.
void EffectRunner::add_groups(const state::ClusterState& state, protocol::StepLaunch& launch) {
  if (launch.uid == 0 || has_option(state.config->launch_parameters, "disable_send_gids")) return;
  launch.groups = parts_.users.find(launch.uid, launch.gid, net::now()).group_ids;
}

// Reads script and environment, signs, sends.
void EffectRunner::launch(const protocol::StepKey& key, const Snapshot& state,
                          const std::vector<std::string>& only) {
  auto message = state::make_step_launch(*state, key);
  if (!message) return;  // ended or restarted meanwhile
  const auto fill = [&](std::string_view blob, std::string& into) {
    if (blob.empty()) return true;
    auto bytes = parts_.store.blob(blob);
    if (bytes) into = std::move(*bytes);
    return bytes.has_value();
  };
  const bool batch = message->step == nullptr;
  const JobSpec& job = *message->job_spec;
  const std::string_view environment = batch ? job.environment_blob.view() : message->step->environment_blob.view();
  if (!fill(environment, message->environment) || (batch && !fill(job.script_blob.view(), message->script))) {
    engine_->post({state::LaunchFailed{key, message->layout.node_list, "its script is not in the journal", false}, {}, {}});
    return;
  }
  add_groups(*state, *message);
  message->issued = net::now();
  protocol::LaunchStepRequest request;
  request.launch = wire::encode(*message);
  request.signature = parts_.signer.sign(request.launch);
  const Job* record = state->jobs.find(key.id.job);
  const Step* step = record != nullptr ? state::find_step(*record, key.id.step) : nullptr;
  if (step == nullptr) return;
  Bitmap nodes;
  step->nodes_left.for_each([&](size_t position) {
    const StepNode& part = step->layout->nodes[position];
    if (only.empty() || std::ranges::find(only, part.name) != only.end()) nodes.set(part.node);
  });
  parts_.links.send(*state, nodes, request, [this, key](const auto& results) { launched(key, results); },
                    batch ? 0 : message->step->tree_width);
}

void EffectRunner::launch_later(const protocol::StepKey& key, std::vector<std::string> nodes) {
  if (stopping_) return;  // resume() sends it again
  auto timer = std::make_shared<boost::asio::steady_timer>(workers_, kLaunchRetry);
  timer->async_wait([this, timer, key, nodes = std::move(nodes)](const auto& error) {
    if (!error && !stopping_) launch(key, publisher_->newest()->state, nodes);
  });
}

// A node that cannot be reached keeps its launch open: it is repeated until the node answers or is
// declared down (then the step is gone). A node that says no ends the step.
void EffectRunner::launched(const protocol::StepKey& key, const std::vector<net::FanoutResult>& results) {
  std::vector<std::string> refused, unreached;
  std::string reason;
  for (const net::FanoutResult& result : results) {
    if (result.code == ErrorCode::kOk) continue;
    log::debug("step {}.{} could not be started on {}: {}", key.id.job, key.id.step, result.node, result.text);
    if (result.code == ErrorCode::kUnreachable || result.code == ErrorCode::kTimedOut ||
        result.code == ErrorCode::kConnectionLost || result.code == ErrorCode::kRetry) {
      unreached.push_back(result.node);
      continue;
    }
    refused.push_back(result.node);
    reason = result.text;
  }
  if (!unreached.empty()) launch_later(key, std::move(unreached));
  if (refused.empty()) return;
  log::error("step {}.{} was refused by {}: {}", key.id.job, key.id.step, fold_hosts(refused), reason);
  engine_->post({state::LaunchFailed{key, fold_hosts(refused), reason, false}, {}, {}});
}

void EffectRunner::handle(const state::LaunchProlog& effect, const Snapshot& state) {
  const Job* job = state->jobs.find(effect.job);
  if (job == nullptr || !job->allocation) return;
  const protocol::RunPrologRequest request{effect.job, effect.restart, job->spec, job->partition.str(),
                                           job->allocation->node_list,
                                           state::holds_gres(*job) ? job->allocation : nullptr};
  parts_.links.send(*state, effect.nodes, request, {});
}

void EffectRunner::handle(const state::SignalSteps& effect, const Snapshot& state) {
  parts_.links.send(*state, effect.nodes, effect.request, {});
}

void EffectRunner::handle(const state::TerminateStep& effect, const Snapshot& state) {
  parts_.links.send(*state, effect.nodes, protocol::TerminateStepRequest{effect.key, effect.at_once, {}}, {});
}

void EffectRunner::handle(const state::TerminateJob& effect, const Snapshot& state) {
  if (const auto request = state::make_terminate_job(*state, effect)) {
    parts_.links.send(*state, effect.nodes, *request, {});
  }
}

void EffectRunner::handle(const state::ReconfigureNodes&, const Snapshot& state) {
  Bitmap known, fresh;  // whether anybody is there is not known of those that are new: apart from the rest
  state->nodes.for_each([&](const Node& node) {
    const bool away = node.base == NodeBaseState::kFuture || (node.flags & kNodePoweredDown) != 0;
    if (!node.removed && !away) (node.hardware ? known : fresh).set(node.id);
  });
  const protocol::ReconfigureNodeRequest request{*state->config};
  if (known.any()) parts_.links.send(*state, known, request, {});
  if (fresh.any()) parts_.links.send(*state, fresh, request, {});
}

void EffectRunner::handle(const state::RebootNow& effect, const Snapshot& state) {
  const std::string nodes = state::node_list(*state, effect.nodes);
  if (effect.features.empty()) log::info("nodes {} are told to reboot", nodes);
  else log::info("nodes {} are told to come up with {}", nodes, effect.features);
  const protocol::RebootNodeRequest request{effect.issued, effect.reason, effect.features, effect.if_needed};
  parts_.links.send(*state, effect.nodes, request, {});
}

void EffectRunner::handle(const state::RunTrigger& effect, const Snapshot& state) {
  log::info("trigger {}: {} {}", effect.trigger.id, effect.trigger.program, effect.resource);
  parts_.programs.run_trigger(effect, state);
}

void EffectRunner::handle(const state::JobChanged& effect, const Snapshot& state) {
  parts_.watches.notify(effect.job, effect.message, *state);
  parts_.step_waiters.wake(effect.job);
}

void EffectRunner::handle(const state::StepRoomFreed& effect, const Snapshot&) { parts_.step_waiters.wake(effect.job); }

void EffectRunner::handle(const state::JobRecordEnded& effect, const Snapshot& state) {
  parts_.programs.record_ended(*effect.job, state);
}

void EffectRunner::handle(const state::SendMail& effect, const Snapshot& state) {
  parts_.programs.send_mail(effect, state);
}

void EffectRunner::handle(const state::RunControllerProlog& effect, const Snapshot& state) {
  const Job* job = state->jobs.find(effect.job);
  if (job == nullptr) return;
  parts_.programs.run_prolog(*job, state, [this, effect](int status) {
    engine_->post({state::PrologDone{effect.job, effect.restart, {}, status}, {}, {}});
  });
}

void EffectRunner::handle(const state::RunControllerEpilog& effect, const Snapshot& state) {
  parts_.programs.run_epilog(*effect.job, state);
}

void EffectRunner::handle(const state::WakeScheduler&, const Snapshot&) { scheduler_->wake(); }

void EffectRunner::handle(const state::RunTick&, const Snapshot&) { engine_->post({state::Tick{}, {}, {}}); }

}  // namespace sluice::ctld
