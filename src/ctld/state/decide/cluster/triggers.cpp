// strigger: setting and clearing. What makes them fire is in ctld/state/core/triggers.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/decide/draft.hpp"
#include "ctld/state/core/triggers.hpp"
#include "ctld/state/limits/visible_jobs.hpp"

namespace sluice::state {
namespace {

bool same_wish(const Trigger& a, const Trigger& b) {
  return a.resource == b.resource && a.events == b.events && a.nodes == b.nodes && a.job == b.job &&
         a.offset_seconds == b.offset_seconds && a.permanent == b.permanent && a.uid == b.uid &&
         a.program == b.program;
}

bool matches(const Trigger& trigger, const protocol::TriggerFilter& filter) {
  return (!filter.id || trigger.id == *filter.id) && (!filter.job || trigger.job == *filter.job) &&
         (!filter.uid || trigger.uid == *filter.uid);
}

// A program of a user is run as this user: only root can.
bool may_set(const ClusterState& state, uint32_t uid) {
  if (is_admin(state, uid)) return true;
  return state.config->slurm_user_id == 0 &&
         has_option(state.config->slurmctld_parameters, "allow_user_triggers");
}

// A list that names nodes again and again would be long for nothing.
bool are_known_nodes(const ClusterState& state, const std::string& list) {
  const auto count = count_hosts(list);
  return list.empty() ||
         (count && *count <= state.node_names->size() && resolve_nodes(state, list));
}

// Every change of a node looks at each trigger, and copies them.
Status check_room(const ClusterState& state, uint32_t uid) {
  constexpr ptrdiff_t kMostOfUser = 100;
  if (is_admin(state, uid) || std::ranges::count(*state.triggers, uid, &Trigger::uid) < kMostOfUser)
    return {};
  return failure(ErrorCode::kError,
                 fmt::format("A user may have at most {} triggers", kMostOfUser));
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const SetTrigger& command, Time) {
  if (!may_set(state, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  Trigger trigger = command.trigger;
  trigger.uid = command.who.uid;
  trigger.gid = command.who.gid;
  trigger.due = kNoTime;
  trigger.hit.clear();
  constexpr int64_t kMostOffset = int64_t{366} * 24 * 3600 * 100;
  if (trigger.events == 0 || !trigger.program.starts_with('/') ||
      trigger.offset_seconds > kMostOffset || trigger.offset_seconds < -kMostOffset)
    return failure(ErrorCode::kBadRequest);
  if (trigger.resource == TriggerResource::kJob) {
    const Job* job = state.jobs.find(trigger.job);
    // the answer does not tell whether a hidden one exists
    if (job == nullptr || !VisibleJobs(state, command.who.uid).contains(*job))
      return failure(ErrorCode::kInvalidJobId);
    if (is_terminal(job->state)) return failure(ErrorCode::kAlreadyDone);
  } else if (!are_known_nodes(state, trigger.nodes)) {
    return failure(ErrorCode::kInvalidNodeName);
  }
  if (std::ranges::any_of(*state.triggers,
                          [&](const Trigger& other) { return same_wish(other, trigger); })) {
    return failure(ErrorCode::kDuplicateName, "Duplicate event trigger");
  }
  if (Status room = check_room(state, trigger.uid); !room) return tl::unexpected(room.error());
  trigger.id = state.next_trigger_id;
  Draft draft(state);
  draft.emit(TriggerSet{.trigger = std::move(trigger)});
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const ClearTriggers& command, Time) {
  const bool admin = is_admin(state, command.who.uid);
  TriggersCleared event;
  for (const Trigger& trigger : *state.triggers) {
    if (!matches(trigger, command.filter)) continue;
    if (!admin && trigger.uid != command.who.uid) return failure(ErrorCode::kAccessDenied);
    event.ids.push_back(trigger.id);
  }
  if (event.ids.empty()) return failure(ErrorCode::kNotFound, "No such process");
  Draft draft(state);
  draft.emit(std::move(event));
  return draft.take();
}

Result<Decision> decide_on(const ClusterState& state, const AccountingNoticed& command, Time now) {
  Draft draft(state);
  for (Trigger& trigger : triggers_hit(state, command.events, now))
    draft.emit(TriggerSet{std::move(trigger)});
  return draft.take();
}

}  // namespace sluice::state
