#include "ctld/sched/idle_placement.hpp"

#include <unordered_map>

namespace sluice::sched {

Placed place_idle_but(const Resources& resources, const Request& request, bool any_state,
                      const state::NodeHold& closed) {
  if (request.unknown_node) return std::nullopt;
  const state::ClusterState& state = resources.state();
  const fit::Unit unit = resources.rules().unit;
  std::vector<fit::Room> made;  // of nodes that are not schedulable, or not all of which is open
  made.reserve(any_state ? request.partition->nodes.count() : closed.parts().count());
  std::vector<const fit::Room*> list;
  request.partition->nodes.for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    if (closed.whole.test(id)) return;
    const fit::Room* room = resources.idle(id);
    const bool is_made = room == nullptr && any_state;
    if (is_made) {
      made.push_back(fit::room_empty(state.nodes.at(id), unit));
      room = &made.back();
    }
    if (room == nullptr) return;
    if (closed.has_part(id)) {
      if (!is_made) made.push_back(*room);
      if (!resources.leave_open(closed, made.back())) return;
      room = &made.back();
    }
    list.push_back(room);
  });
  return fit::place(request.needs, list, &request.required, unit);
}

Placed place_idle(const Resources& resources, const Request& request, bool any_state) {
  const Time now = resources.now();
  return place_idle_but(resources, request, any_state, resources.closed_to(request, now, now));
}

Placed place_beside_reservations(const Resources& resources, const Request& request,
                                 Minutes limit) {
  const Time now = resources.now();
  return place_idle_but(resources, request, false,
                        resources.closed_to(request, now, resources.end_of(limit)));
}

bool fit_together(const Resources& resources, const std::vector<const Request*>& requests) {
  const Time now = resources.now();
  std::unordered_map<NodeId, fit::Room> taken;  // nodes of which something is given away
  for (const Request* request : requests) {
    if (request->unknown_node) return false;
    const state::NodeHold closed = resources.closed_to(*request, now, now);
    std::vector<fit::Room> open;  // of nodes not all of which is
    open.reserve(closed.parts().count());
    std::vector<const fit::Room*> list;
    request->partition->nodes.for_each([&](size_t at) {
      const auto id = static_cast<NodeId>(at);
      if (closed.whole.test(id) || resources.idle(id) == nullptr) return;
      const auto found = taken.find(id);
      const fit::Room* room = found != taken.end() ? &found->second : resources.idle(id);
      if (closed.has_part(id)) {
        open.push_back(*room);
        if (!resources.leave_open(closed, open.back())) return;
        room = &open.back();
      }
      list.push_back(room);
    });
    const auto placed =
        fit::place(request->needs, list, &request->required, resources.rules().unit);
    if (!placed) return false;
    for (const NodeAllocation& part : *placed) {
      fit::Room& room = taken.try_emplace(part.node, *resources.idle(part.node)).first->second;
      fit::take_from(room, part, request->needs.whole_nodes, request->needs.uid);
      room.one_user = room.one_user || request->needs.one_user;
    }
  }
  return true;
}

}  // namespace sluice::sched
