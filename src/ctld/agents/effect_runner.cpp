#include "ctld/agents/effect_runner.hpp"

#include <map>
#include <string>

#include "common/log/log.hpp"
#include "common/os/ending_text.hpp"
#include "common/protocol/admin.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::ctld {

EffectRunner::EffectRunner(Parts parts)
    : parts_(parts),
      orders_(
          Orders::create({parts.store, parts.signer, parts.links, parts.users, parts.refusals})) {}
EffectRunner::~EffectRunner() { stop(); }

void EffectRunner::connect(engine::Engine& engine, engine::SchedulerLoop& scheduler,
                           const engine::Publisher& publisher) {
  engine_ = &engine;
  scheduler_ = &scheduler;
  orders_->connect(engine, publisher);
}

void EffectRunner::stop() { orders_->stop(); }

void EffectRunner::run(const state::Effects& effects, const Snapshot& state) {
  std::map<std::string, Bitmap> reboots;  // by the features that the nodes are to have
  std::map<state::PowerProgram, Bitmap> powers;
  for (const state::Effect& effect : effects) {
    if (const auto* power = std::get_if<state::PowerNodes>(&effect)) {
      powers[power->program] |= power->nodes;
      continue;
    }
    const auto* reboot = std::get_if<state::RebootNow>(&effect);
    if (reboot == nullptr || !state::reboots_from_controller(*state, *reboot)) {
      std::visit([&](const auto& e) { handle(e, state); }, effect);
    } else if (reboot->issued >= state->epoch_start) {
      // else a controller before this one has run the program
      reboots[reboot->features] |= reboot->nodes;
    }
  }
  for (const auto& [features, nodes] : reboots) {
    const std::string list = state::node_list(*state, nodes);
    log::info("RebootProgram is run for nodes {}", list);
    parts_.programs.run_reboot(nodes, features, state,
                               [this, list, user = state->config->slurm_user_id](int status) {
                                 if (status != 0) tell_of_failed_reboot(list, user, status);
                               });
  }
  for (const auto& [program, nodes] : powers) handle(state::PowerNodes{program, nodes}, state);
}

// Which of the nodes do not reboot nobody knows: until ResumeTimeout it is their reason.
void EffectRunner::tell_of_failed_reboot(const std::string& nodes, uint32_t slurm_user,
                                         int status) {
  state::UpdateNode told;
  told.who.uid = slurm_user;
  told.update.nodes = nodes;
  told.update.reason = "RebootProgram " + ending_text(status);
  engine_->post({std::move(told), {}, {}});
}

// Whether anybody is there is not known of nodes that are new or silent: they are told once, and
// apart from the rest.
void EffectRunner::handle(const state::ReconfigureNodes& effect, const Snapshot& state) {
  state::ReconfigureNodes known{state::still_wanted(*state, effect, {})};
  Bitmap others = effect.nodes;
  others.and_not(known.nodes);
  if (others.any())
    parts_.links.send(*state, others, protocol::ReconfigureNodeRequest{*state->config}, {});
  orders_->give(std::move(known), state);
}

void EffectRunner::handle(const state::EndAgents& effect, const Snapshot& state) {
  log::info("the agents of {} are told to end: the nodes were deleted",
            state::node_list(*state, effect.nodes));
  orders_->give(effect, state);
}

void EffectRunner::handle(const state::RebootNow& effect, const Snapshot& state) {
  const std::string nodes = state::node_list(*state, effect.nodes);
  if (effect.features.empty()) log::info("nodes {} are told to reboot", nodes);
  else log::info("nodes {} are told to come up with {}", nodes, effect.features);
  orders_->give(effect, state);
}

void EffectRunner::handle(const state::PowerNodes& effect, const Snapshot& state) {
  parts_.programs.run_power(effect, state);
}

void EffectRunner::handle(const state::RunTrigger& effect, const Snapshot& state) {
  log::info("trigger {}: {} {}", effect.trigger.id, effect.trigger.program, effect.resource);
  parts_.programs.run_trigger(effect, state);
}

void EffectRunner::handle(const state::JobChanged& effect, const Snapshot& state) {
  parts_.watches.notify(effect.job, effect.message, state);
  parts_.step_waiters.wake(effect.job);
}

void EffectRunner::handle(const state::StepRoomFreed& effect, const Snapshot&) {
  parts_.step_waiters.wake(effect.job);
}

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

void EffectRunner::handle(const state::RunReservationProgram& effect, const Snapshot& state) {
  parts_.programs.run_reservation(effect, state);
}

void EffectRunner::handle(const state::WakeScheduler& effect, const Snapshot&) {
  scheduler_->wake(effect.submitted ? engine::SchedulerLoop::Wake::kSubmitted
                                    : engine::SchedulerLoop::Wake::kNews);
}

void EffectRunner::handle(const state::RunTick&, const Snapshot&) { engine_->ask_tick(); }

}  // namespace sluice::ctld
