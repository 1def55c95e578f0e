#include "ctld/state/decide/cluster/reservation_tick.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/format/reservation_keys.hpp"
#include "ctld/state/decide/cluster/reserved_nodes.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {
namespace {

// Jobs that hold nodes in the reservation.
std::vector<JobId> jobs_in(const ClusterState& state, const Reservation& r) {
  std::vector<JobId> jobs;
  state.active.for_each([&](uint32_t id) {
    if (state.jobs.at(id).reservation == r.name) jobs.push_back(id);
  });
  return jobs;
}
// Jobs that wait for it, and for no other one that is there.
std::vector<JobId> jobs_waiting(const ClusterState& state, const Reservation& r) {
  std::vector<JobId> jobs;
  state.pending.for_each([&](uint32_t id) {
    const JobSpec& spec = *state.jobs.at(id).spec;
    if (spec.reservation.empty() || !is_named(spec.reservation.view(), r.name)) return;
    const std::vector<std::string> names = split_list(spec.reservation.view());
    const bool other = std::ranges::any_of(names, [&](const std::string& name) {
      return name != r.name && find_reservation(state, name) != nullptr;
    });
    if (!other) jobs.push_back(id);
  });
  return jobs;
}

Duration over_run(const ClusterState& state) {
  const Minutes minutes = state.config->resv_over_run;
  return minutes == kInfiniteMinutes ? kNoLimit : Duration(std::chrono::minutes(minutes));
}

// True when none is left.
bool end_jobs(Draft& draft, const Reservation& r, Time now) {
  const std::vector<JobId> jobs = jobs_in(draft.state(), r);
  // its jobs may stay as long as they like
  const bool flexible = (r.flags & kReservationFlex) != 0;
  if (flexible) return jobs.empty();
  for (const JobId id : jobs) {
    if (is_completing(draft.job(id)) || now < r.end + over_run(draft.state())) continue;
    complete_job(draft, whole_job(draft, id),
                 {.state = JobState::kTimeout, .reason = JobReason::kTimeLimit}, now);
  }
  return jobs.empty();
}

// Its jobs wait for it no longer: they are held, and when they are released they go on without it.
void remove(Draft& draft, const Reservation& r, Time now) {
  const bool goes_on = (r.flags & kReservationNoHold) != 0;
  for (const JobId id : jobs_waiting(draft.state(), r)) {
    JobSpec spec = *draft.job(id).spec;
    spec.reservation = {};
    draft.emit(with_spec(draft.job(id), spec, now));
    if (!goes_on && draft.job(id).hold == HoldKind::kNone) {
      draft.emit(JobHeld{.job = id,
                         .hold = HoldKind::kUser,
                         .reason = JobReason::kReservationDeleted,
                         .description = "Reservation " + r.name + " was deleted",
                         .flags = kJobReservationDeletedHold,
                         .time = now,
                         .eligible = delay_of_held(draft.job(id), now)});
    }
  }
  draft.emit(ReservationDeleted{.id = r.id});
}

// ResvProlog or ResvEpilog is due.
void turn(Draft& draft, Reservation& r, bool begins) {
  r.begun = begins;
  draft.emit(ReservationTurned{.id = r.id, .begins = begins, .name = r.name});
}

void advance(Draft& draft, Reservation r, Time now) {
  while (r.end <= now) move_on(r);
  r.idle_since = kNoTime;
  draft.emit(ReservationChanged{.reservation = std::move(r)});
}

// PURGE_COMP: gone (or over for this time) when nobody has used it for long.
void purge_when_idle(Draft& draft, Reservation r, Time now) {
  if (!is_active(r, now)) return;
  const bool used = !jobs_in(draft.state(), r).empty() || !jobs_waiting(draft.state(), r).empty();
  if (used == (r.idle_since == kNoTime)) {  // as it is noted
    if (used || now - r.idle_since < r.purge_after) return;
    if (r.begun) turn(draft, r, false);
    if ((r.flags & kReservationRecurs) == 0) return remove(draft, r, now);
    move_on(r);
    r.idle_since = kNoTime;
  } else {
    r.idle_since = used ? kNoTime : now;
  }
  draft.emit(ReservationChanged{.reservation = std::move(r)});
}

// Nodes that were chosen by number and cannot be used any more give way to others. Before it begins
// that is so of every such reservation, afterwards with REPLACE_DOWN or REPLACE; that one replaces
// nodes that its jobs use, too.
void replace_nodes(Draft& draft, Reservation r, Time now) {
  if (r.node_count == 0 || !r.cores.empty() || !r.gres.empty() ||
      (r.flags & (kReservationStatic | kReservationSpecNodes)) != 0)
    return;
  const bool replaces = (r.flags & (kReservationReplace | kReservationReplaceDown)) != 0;
  const bool active = is_active(r, now);
  if (active && !replaces) return;
  Bitmap keep;
  nodes_of(draft.state(), r).for_each([&](size_t id) {
    const Node& node = draft.node(static_cast<NodeId>(id));
    const bool in_use = active && (r.flags & kReservationReplace) != 0 && !node.jobs.empty();
    if (may_serve(draft.state(), node) && !in_use) keep.set(id);
  });
  if (keep.count() >= r.node_count) return;
  const size_t had = keep.count();
  for (uint32_t count = r.node_count; count > had; --count) {
    auto chosen = choose_nodes(draft.state(), {&r, keep, count}, now);
    if (!chosen) continue;
    Bitmap stay = r.nodes;  // what cannot be replaced
    stay.and_not(*chosen);
    r.nodes = *chosen | stay.take_first(r.node_count - chosen->count());
    draft.emit(ReservationChanged{.reservation = std::move(r)});
    return;
  }
}

// What was chosen of a node: as much of another one.
GresWish wish_for(const Reservation& r, NodeId node) {
  GresWish wish{.items = {}, .per_node = true, .cores = {}};
  const auto cores = std::ranges::find(r.cores, node, &ReservedCores::node);
  if (cores != r.cores.end()) wish.cores = {static_cast<uint32_t>(cores->cores.count())};
  const auto gres = std::ranges::find(r.gres, node, &ReservedGres::node);
  if (gres == r.gres.end()) return wish;
  for (const GresShare& share : gres->shares)
    wish.items.push_back({share.name, share.type, share.count});
  return wish;
}

// Cores and generic resources that were chosen by number and whose node cannot be used any more
// give way to as many of another node, until the reservation begins.
void replace_parts(Draft& draft, Reservation r, Time now) {
  const bool stays = (r.flags & (kReservationStatic | kReservationSpecNodes)) != 0;
  if ((r.cores.empty() && r.gres.empty()) || stays || is_active(r, now)) return;
  bool replaced = false;
  const Bitmap had = r.nodes;
  had.for_each([&](size_t id) {
    const auto node = static_cast<NodeId>(id);
    if (may_serve(draft.state(), draft.node(node))) return;
    const NodeWish nodes{.reservation = &r, .keep = {}, .count = 1, .without = r.nodes};
    const GresWish wish = wish_for(r, node);
    ReservedParts chosen;
    if (wish.items.empty()) {
      auto cores = choose_cores(draft.state(), nodes, wish.cores, now);
      if (!cores) return;
      chosen.cores = std::move(*cores);
    } else {
      auto parts = choose_gres(draft.state(), nodes, wish, now);
      if (!parts) return;
      chosen = std::move(*parts);
    }
    replaced = true;
    r.nodes.reset(node);
    std::erase_if(r.cores, [&](const ReservedCores& part) { return part.node == node; });
    std::erase_if(r.gres, [&](const ReservedGres& part) { return part.node == node; });
    for (ReservedCores& part : chosen.cores) {
      r.nodes.set(part.node);
      r.cores.push_back(std::move(part));
    }
    for (ReservedGres& part : chosen.gres) {
      r.nodes.set(part.node);
      r.gres.push_back(std::move(part));
    }
  });
  if (replaced) draft.emit(ReservationChanged{.reservation = std::move(r)});
}

}  // namespace

void tick_reservations(Draft& draft, Time now) {
  const std::shared_ptr<const Reservations> all = draft.state().reservations;
  const auto& values = draft.state().config->values;
  const bool has_programs = values.contains("ResvProlog") || values.contains("ResvEpilog");
  for (const Reservation& one : *all) {
    Reservation r = one;
    if (has_programs && !r.begun && is_active(r, now)) turn(draft, r, true);
    const bool floats = (r.flags & kReservationTimeFloat) != 0;
    if (!floats && r.end <= now) {
      if (r.begun) turn(draft, r, false);
      if (!end_jobs(draft, r, now)) continue;
      if ((r.flags & kReservationRecurs) != 0) advance(draft, r, now);
      else remove(draft, r, now);
      continue;
    }
    replace_nodes(draft, r, now);
    replace_parts(draft, r, now);
    const Reservation* after = find_reservation(draft.state(), r.name);
    if (after != nullptr && (after->flags & kReservationPurge) != 0)
      purge_when_idle(draft, *after, now);
  }
}

}  // namespace sluice::state
