// Conservative backfill as one would write it first: each job in its turn is tried at each moment,
// on what is left of each node core by core. It shares with the scheduler what "fits" means
// (ctld/fit) and the order of jobs and nodes, and nothing of how a start is found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/syntax/licenses.hpp"
#include "ctld/sched/request.hpp"
#include "ctld/sched/why.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "unit/sched/world.hpp"

namespace sluice::sched {

class BruteForce {
 public:
  struct Start {
    uint32_t minute = 0;
    std::string nodes;
    friend bool operator==(const Start&, const Start&) = default;
  };

  // Moments are whole minutes from `now`; none later than `horizon` is tried.
  BruteForce(const state::ClusterState& state, Time now, uint32_t horizon)
      : state_(state), now_(now), horizon_(horizon), rules_(fit::rules_of(*state.config)) {
    state.active.for_each([&](JobId id) {
      const Job& job = state.jobs.at(id);
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(job.end - now).count();
      const auto end = static_cast<uint32_t>(std::max<int64_t>(1, (seconds + 59) / 60));
      hold(job, state::find_reservation(state, job.reservation.view()), job.allocation->nodes,
           job.allocation->whole_nodes, {0, end});
    });
  }

  // By job: those that ever start.
  std::map<JobId, Start> plan() {
    std::map<JobId, Start> starts;
    for (const bool reserved : {true, false}) {
      state_.pending.for_each([&](JobId id) {
        const bool names_one = !state_.jobs.at(id).spec->reservation.empty();
        if (names_one == reserved) plan(id, starts);
      });
    }
    return starts;
  }

 private:
  void plan(JobId id, std::map<JobId, Start>& starts) {
    const Job& job = state_.jobs.at(id);
    const state::Partition& partition = *state::find_partition(state_, job.partition.view());
    const state::ReservationChoice choice = state::choose_reservations(state_, job, now_);
    if (choice.named && choice.usable.empty()) return;
    const Reservation* own = choice.named ? choice.usable.front() : nullptr;
    const auto request = request_in(state_, rules_, job, partition, own);
    if (!request) return;
    const uint32_t limit = limit_of(job, partition);
    for (uint32_t minute = 0; minute < std::min(horizon_, end_of(own)); ++minute) {
      auto placed = place(job, *request, {minute, minute + limit});
      if (!placed) continue;
      Bitmap nodes;
      for (const NodeAllocation& part : *placed) nodes.set(part.node);
      starts[id] = {minute, state::node_list(state_, nodes)};
      hold(job, own, *placed, request->needs.whole_nodes, {minute, minute + limit});
      return;
    }
  }

  struct Held {
    uint32_t from = 0, to = 0;
    uint32_t uid = 0;
    bool whole = false;
    bool one_user = false;
    NodeAllocation part;
    const Reservation* own = nullptr;
  };
  struct Minutes {
    uint32_t from = 0, to = 0;
    [[nodiscard]] bool holds(uint32_t minute) const { return from <= minute && minute < to; }
  };
  struct License {
    Minutes minutes;
    const Reservation* own = nullptr;
    LicenseCounts counts;
  };

  // The minutes of a reservation, which comes once.
  Minutes minutes_of(const Reservation& reservation) const {
    const auto minute = [&](Time time) {
      const auto minutes = std::chrono::ceil<std::chrono::minutes>(time - now_).count();
      return static_cast<uint32_t>(std::max<int64_t>(0, minutes));
    };
    return {minute(reservation.start), minute(reservation.end)};
  }
  uint32_t end_of(const Reservation* own) const {
    return own == nullptr ? UINT32_MAX : minutes_of(*own).to;
  }

  void hold(const Job& job, const Reservation* own, const std::vector<NodeAllocation>& nodes,
            bool whole, Minutes minutes) {
    const bool one_user = job.spec->sharing == Sharing::kUser;
    for (const NodeAllocation& part : nodes)
      held_.push_back({minutes.from, minutes.to, job.spec->uid, whole, one_user, part, own});
    // its jobs are over with a reservation
    minutes.to = std::max(minutes.from + 1, std::min(minutes.to, end_of(own)));
    if (!job.spec->licenses.empty())
      licenses_.push_back({minutes, own, *parse_licenses(job.spec->licenses.view())});
  }

  uint64_t used_at(uint32_t minute, const Reservation* own, const std::string& name) const {
    uint64_t used = 0;
    for (const License& one : licenses_) {
      const auto found = one.counts.find(name);
      if (one.own == own && one.minutes.holds(minute) && found != one.counts.end())
        used += found->second;
    }
    return used;
  }
  uint64_t kept_at(uint32_t minute, const Reservation& one, const std::string& name) const {
    const LicenseCounts counts = *parse_licenses(one.licenses);
    const auto found = counts.find(name);
    return found == counts.end() || !minutes_of(one).holds(minute) ? 0 : found->second;
  }

  bool has_licenses(const Job& job, const Reservation* own, Minutes minutes) const {
    if (job.spec->licenses.empty()) return true;
    const LicenseCounts all = *parse_licenses(state_.config->licenses);
    const LicenseCounts asked = *parse_licenses(job.spec->licenses.view());
    for (const auto& [name, wanted] : asked) {
      for (uint32_t minute = minutes.from; minute < std::min(minutes.to, end_of(own)); ++minute) {
        uint64_t taken = used_at(minute, nullptr, name);
        for (const Reservation& one : *state_.reservations) {
          const uint64_t used = used_at(minute, &one, name);
          taken += &one == own ? used : std::max(used, kept_at(minute, one, name));
        }
        if (taken + wanted > all.at(name)) return false;
      }
    }
    return true;
  }

  // What of a kind is gone on the node for jobs of `own` in a minute: units, or so many.
  GresShare gone_at(uint32_t minute, const GresKind& kind, NodeId id,
                    const Reservation* own) const {
    GresShare gone{kind.name, kind.type, 0, {}, {}};
    std::map<const Reservation*, uint64_t> used;
    for (const Held& held : held_) {
      if (held.part.node != id || minute < held.from || held.to <= minute) continue;
      for (const GresShare& share : held.part.gres) {
        if (share.name != kind.name || share.type != kind.type) continue;
        gone.units |= share.units;
        used[held.own] += share.count;
      }
    }
    gone.count = used[nullptr];
    uint64_t most = kind.count;
    for (const Reservation& one : *state_.reservations) {
      uint64_t kept = 0;
      bool has_name = false;
      Bitmap units;
      for (const ReservedGres& part : one.gres) {
        if (part.node != id) continue;
        for (const GresShare& share : part.shares) {
          has_name = has_name || share.name == kind.name;
          if (share.name != kind.name || share.type != kind.type) continue;
          kept += share.count;
          units |= share.units;
        }
      }
      if (&one == own && has_name) {
        Bitmap others = kind.units;
        gone.units |= others.and_not(units);
        most = kept;
      }
      const bool others_now = &one != own && minutes_of(one).holds(minute);
      if (others_now) gone.units |= units;
      gone.count += others_now ? std::max(used[&one], kept) : used[&one];
    }
    gone.count = std::max(gone.count, kind.count - most + used[own] * (own == nullptr ? 0 : 1));
    if (kind.units.any()) gone.count = gone.units.count();
    return gone;
  }
  GresShares gone_gres(NodeId id, const Reservation* own, Minutes minutes) const {
    GresShares gone;
    const Node& node = state_.nodes.at(id);
    if (node.gres == nullptr) return gone;
    for (const GresKind& kind : node.gres->kinds) {
      GresShare all{kind.name, kind.type, 0, {}, {}};
      for (uint32_t minute = minutes.from; minute < minutes.to; ++minute) {
        const GresShare now = gone_at(minute, kind, id, own);
        all.units |= now.units;
        all.count = std::max(all.count, now.count);
      }
      if (all.units.any()) all.count = all.units.count();
      if (all.count > 0) gone.push_back(std::move(all));
    }
    return gone;
  }

  // What is free of the node in each of these minutes.
  fit::Room room(NodeId id, uint32_t from, uint32_t to) const {
    const Node& node = state_.nodes.at(id);
    fit::Room room = fit::room_empty(node, rules_.unit);
    const uint64_t all = room.free_memory_mib;
    Bitmap cores = room.free_cores;
    for (uint32_t minute = from; minute < to; ++minute) {
      uint64_t memory = 0;
      uint32_t jobs = 0;
      for (const Held& held : held_) {
        if (held.part.node != id || minute < held.from || held.to <= minute) continue;
        if (held.whole) cores.clear();
        cores.and_not(held.part.cores);
        memory += held.part.memory_mib;
        ++jobs;
        room.one_user = room.one_user || held.one_user;
        room.user =
            room.user == fit::kNoUser || room.user == held.uid ? held.uid : fit::kSeveralUsers;
      }
      room.jobs = std::max(room.jobs, jobs);
      room.free_memory_mib = std::min(room.free_memory_mib, all - std::min(all, memory));
    }
    fit::set_free_cores(room, cores, rules_.unit);
    return room;
  }

  // Core by core: those that another reservation has in one of these minutes, and for jobs of one
  // that has cores all others.
  void leave_reserved(NodeId id, const Reservation* own, Minutes minutes, fit::Room& room) const {
    Bitmap open = room.free_cores;
    bool in_part = false;
    for (const Reservation& one : *state_.reservations) {
      const Minutes its = minutes_of(one);
      const bool meets = its.from < minutes.to && minutes.from < its.to;
      for (const ReservedGres& part : one.gres) {
        if (part.node != id || &one == own || !meets) continue;
        in_part = true;
        room.user = fit::kSeveralUsers;
      }
      for (const ReservedGres& part : one.gres)
        in_part = in_part || (part.node == id && &one == own && has_more_than(id, part.shares));
      for (const ReservedCores& part : one.cores) {
        const bool is_others = &one != own;
        if (part.node != id || (is_others && !meets)) continue;
        Bitmap cores = part.cores;
        if (is_others && own != nullptr && own->nodes.test(id)) {
          // they give way where its own has them, too
          if (has_whole(*own, id)) continue;
          cores.and_not(cores_in(*own, id));
          if (cores.none()) continue;
        }
        const size_t all = state_.nodes.at(id).config->cores();
        in_part = in_part || is_others || part.cores.count() < all;
        if (is_others) room.user = fit::kSeveralUsers;
        if (is_others) open.and_not(cores);
        else open &= cores;
      }
    }
    if (!in_part) return;
    fit::set_free_cores(room, open, rules_.unit);
    room.jobs = std::max(room.jobs, 1U);
  }

  static Bitmap cores_in(const Reservation& own, NodeId id) {
    const auto part = std::ranges::find(own.cores, id, &ReservedCores::node);
    return part == own.cores.end() ? Bitmap() : part->cores;
  }
  static bool has_whole(const Reservation& own, NodeId id) {
    return own.nodes.test(id) &&
           std::ranges::find(own.cores, id, &ReservedCores::node) == own.cores.end() &&
           std::ranges::find(own.gres, id, &ReservedGres::node) == own.gres.end();
  }

  // Of names that are reserved.
  bool has_more_than(NodeId id, const GresShares& kept) const {
    const Node& node = state_.nodes.at(id);
    return node.gres != nullptr && !state::units_only(state::gres_beside(node, kept)).empty();
  }

  std::optional<std::vector<NodeAllocation>> place(const Job& job, const Request& request,
                                                   Minutes minutes) const {
    const auto [from, to] = minutes;
    const Reservation* own = request.reservation;
    if (!has_licenses(job, own, minutes)) return std::nullopt;
    const auto time = [&](uint32_t minute) { return now_ + std::chrono::minutes(minute); };
    const auto is_open = [&](NodeId id) {
      const bool inside = !request.confined || request.confined->nodes().test(id);
      return inside && !request.excluded.test(id) && state::may_serve(state_, state_.nodes.at(id));
    };
    const state::NodeHold closed = state::closed_to(state_, {own, time(from), time(to)}, now_);
    std::vector<NodeId> order;
    request.partition->nodes.for_each([&](size_t id) {
      const auto node = static_cast<NodeId>(id);
      if (is_open(node) && !closed.whole.test(id)) order.push_back(node);
    });
    std::ranges::stable_sort(order, {}, [&](NodeId id) { return state_.nodes.at(id).weight; });
    std::vector<fit::Room> rooms;
    std::vector<const fit::Room*> list;
    rooms.reserve(order.size());
    for (const NodeId id : order) {
      rooms.push_back(room(id, from, to));
      leave_reserved(id, own, minutes, rooms.back());
      GresShares gone = gone_gres(id, own, minutes);
      if (!gone.empty())
        rooms.back().used_gres = std::make_shared<const GresShares>(std::move(gone));
      list.push_back(&rooms.back());
    }
    return fit::place(request.needs, list, &request.required, rules_.unit);
  }

  const state::ClusterState& state_;
  const Time now_;
  const uint32_t horizon_;
  const fit::Rules rules_;
  std::vector<Held> held_;
  std::vector<License> licenses_;
};

}  // namespace sluice::sched
