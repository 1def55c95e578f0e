#include "ctld/sched/idle_placement.hpp"

namespace sluice::sched {

Placed place_idle_but(const Resources& resources, const Request& request, bool any_state,
                      const Bitmap& closed) {
  if (request.unknown_node) return std::nullopt;
  const state::ClusterState& state = resources.state();
  const fit::Unit unit = resources.rules().unit;
  std::vector<fit::Room> made;  // of nodes that are not schedulable
  made.reserve(any_state ? request.partition->nodes.count() : 0);
  std::vector<const fit::Room*> list;
  request.partition->nodes.for_each([&](size_t at) {
    const auto id = static_cast<NodeId>(at);
    if (closed.test(id)) return;
    const fit::Room* room = resources.idle(id);
    if (room == nullptr && any_state) {
      made.push_back(fit::room_empty(state.nodes.at(id), unit));
      room = &made.back();
    }
    if (room != nullptr) list.push_back(room);
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

}  // namespace sluice::sched
