// Warnings of time limits, changed steps, triggers, crontabs, users' groups, reservations.
#include <algorithm>
#include <unordered_set>

#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/core/heavy_texts.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/triggers.hpp"

namespace sluice::state {

void apply_event(ClusterState& state, const JobLimitNear& event) {
  change_job(state, event.job, [&](Job& job) { job.limit_warned = event.percent; });
}

void apply_event(ClusterState& state, const StepUpdated& event) {
  change_job(state, event.id.job, [&](Job& job) {
    for (auto& step : job.steps) {
      if (step->id.step != event.id.step) continue;
      auto changed = std::make_shared<Step>(*step);
      const size_t before = changed->spec == nullptr ? 0 : heavy_text(*changed->spec);
      changed->spec = event.spec;
      count_heavy_text(state, job.spec->uid, before, heavy_text(*changed->spec));
      step = std::move(changed);
    }
  });
}

// A new one, or one that is there already as it is afterwards.
void apply_event(ClusterState& state, const TriggerSet& event) {
  Triggers& triggers = state.triggers.edit();
  const auto at = std::ranges::find(triggers, event.trigger.id, &Trigger::id);
  if (at != triggers.end()) {
    *at = event.trigger;
  } else {
    triggers.push_back(event.trigger);
    state.next_trigger_id = event.trigger.id + 1;
  }
  note_trigger_nodes(state, event.trigger);
}

void apply_event(ClusterState& state, const TriggersCleared& event) {
  Triggers& triggers = state.triggers.edit();
  const std::unordered_set<uint32_t> ids(event.ids.begin(), event.ids.end());
  std::erase_if(triggers, [&](const Trigger& trigger) { return ids.contains(trigger.id); });
  for (const uint32_t id : event.ids) forget_trigger_nodes(state, id);
}

void apply_event(ClusterState& state, const TriggerFired& event) {
  Triggers& triggers = state.triggers.edit();
  const auto at = std::ranges::find(triggers, event.trigger.id, &Trigger::id);
  if (at == triggers.end()) return;
  if (!event.trigger.permanent) {
    triggers.erase(at);
    forget_trigger_nodes(state, event.trigger.id);
  } else {
    at->due = kNoTime;
    // of idle nodes it remembers those that it has told of
    at->hit = (event.trigger.events & kTriggerIdle) != 0 ? event.trigger.hit : Bitmap();
  }
}

void apply_event(ClusterState& state, const CrontabReplaced& event) {
  auto crontabs = std::make_shared<Crontabs>(*state.crontabs);
  crontabs->erase(event.crontab.uid);
  if (!event.crontab.text.empty()) crontabs->emplace(event.crontab.uid, event.crontab);
  state.crontabs = std::move(crontabs);
}

void apply_event(ClusterState& state, const UserGroupsFound& event) {
  auto groups = std::make_shared<GroupsByUser>(*state.user_groups);
  (*groups)[event.user.uid] = event.user.groups;
  state.user_groups = std::move(groups);
}

void apply_event(ClusterState& state, const ReservationChanged& event) {
  auto reservations = std::make_shared<Reservations>(*state.reservations);
  const auto at = std::ranges::find(*reservations, event.reservation.id, &Reservation::id);
  if (at != reservations->end()) {
    *at = event.reservation;
  } else {
    reservations->push_back(event.reservation);
    state.next_reservation_id = event.reservation.id + 1;
  }
  state.reservations = std::move(reservations);
}

void apply_event(ClusterState& state, const ReservationDeleted& event) {
  auto reservations = std::make_shared<Reservations>(*state.reservations);
  std::erase_if(*reservations, [&](const Reservation& one) { return one.id == event.id; });
  state.reservations = std::move(reservations);
}

void apply_event(ClusterState& state, const ReservationTurned& event) {
  auto reservations = std::make_shared<Reservations>(*state.reservations);
  const auto at = std::ranges::find(*reservations, event.id, &Reservation::id);
  if (at == reservations->end()) return;
  at->begun = event.begins;
  state.reservations = std::move(reservations);
}

}  // namespace sluice::state
