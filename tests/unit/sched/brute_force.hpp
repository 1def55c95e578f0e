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
      hold(job, job.allocation->nodes, job.allocation->whole_nodes, 0, end);
    });
  }

  // By job: those that ever start.
  std::map<JobId, Start> plan() {
    std::map<JobId, Start> starts;
    state_.pending.for_each([&](JobId id) {
      const Job& job = state_.jobs.at(id);
      const state::Partition& partition = *state::find_partition(state_, job.partition.view());
      const auto request = request_in(state_, rules_, job, partition, nullptr);
      if (!request) return;
      const uint32_t limit = limit_of(job, partition);
      for (uint32_t minute = 0; minute < horizon_; ++minute) {
        auto placed = place(job, *request, minute, minute + limit);
        if (!placed) continue;
        Bitmap nodes;
        for (const NodeAllocation& part : *placed) nodes.set(part.node);
        starts[id] = {minute, state::node_list(state_, nodes)};
        hold(job, *placed, request->needs.whole_nodes, minute, minute + limit);
        return;
      }
    });
    return starts;
  }

 private:
  struct Held {
    uint32_t from = 0, to = 0;
    uint32_t uid = 0;
    bool whole = false;
    bool one_user = false;
    NodeAllocation part;
  };
  struct License {
    uint32_t from = 0, to = 0;
    LicenseCounts counts;
  };

  void hold(const Job& job, const std::vector<NodeAllocation>& nodes, bool whole, uint32_t from,
            uint32_t to) {
    const bool one_user = job.spec->sharing == Sharing::kUser;
    for (const NodeAllocation& part : nodes)
      held_.push_back({from, to, job.spec->uid, whole, one_user, part});
    if (!job.spec->licenses.empty())
      licenses_.push_back({from, to, *parse_licenses(job.spec->licenses.view())});
  }

  bool has_licenses(const Job& job, uint32_t from, uint32_t to) const {
    if (job.spec->licenses.empty()) return true;
    const LicenseCounts all = *parse_licenses(state_.config->licenses);
    const LicenseCounts asked = *parse_licenses(job.spec->licenses.view());
    for (const auto& [name, wanted] : asked) {
      for (uint32_t minute = from; minute < to; ++minute) {
        uint64_t used = 0;
        for (const License& one : licenses_) {
          const auto found = one.counts.find(name);
          const bool now = one.from <= minute && minute < one.to;
          if (now && found != one.counts.end()) used += found->second;
        }
        if (used + wanted > all.at(name)) return false;
      }
    }
    return true;
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

  std::optional<std::vector<NodeAllocation>> place(const Job& job, const Request& request,
                                                   uint32_t from, uint32_t to) const {
    if (!has_licenses(job, from, to)) return std::nullopt;
    const auto time = [&](uint32_t minute) { return now_ + std::chrono::minutes(minute); };
    const Bitmap closed =
        request.excluded | state::closed_nodes(state_, {nullptr, time(from), time(to)}, now_);
    std::vector<NodeId> order;
    request.partition->nodes.for_each([&](size_t id) {
      const bool serves = state::may_serve(state_, state_.nodes.at(static_cast<NodeId>(id)));
      if (serves && !closed.test(id)) order.push_back(static_cast<NodeId>(id));
    });
    std::ranges::stable_sort(order, {}, [&](NodeId id) { return state_.nodes.at(id).weight; });
    std::vector<fit::Room> rooms;
    std::vector<const fit::Room*> list;
    rooms.reserve(order.size());
    for (const NodeId id : order) {
      rooms.push_back(room(id, from, to));
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
