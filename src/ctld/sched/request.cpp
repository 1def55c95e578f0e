#include "ctld/sched/request.hpp"

#include <algorithm>

#include "ctld/state/rules/node_groups.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {

using state::ClusterState;
using state::Partition;

Result<Request> request_in(const ClusterState& state, const fit::Rules& rules, const Job& job,
                           const Partition& partition, const Reservation* reservation) {
  Request request;
  request.partition = &partition;
  request.reservation = reservation;
  request.confined = state::confines(state, reservation);
  request.leaves_within = state::leaves_within(*job.spec);
  const bool flex = reservation != nullptr && (reservation->flags & kReservationFlex) != 0;
  if (flex) request.first = state::nodes_of(state, *reservation);
  auto needs = fit::needs_of(*job.spec, *partition.config, *state.config, rules);
  if (!needs) return tl::unexpected(std::move(needs.error()));
  request.needs = std::move(*needs);
  request.sharers = state::sharers_of(*partition.config, *job.spec);
  if (auto prefer = fit::parse_features(job.spec->prefer.view()))
    request.prefer = std::move(*prefer);
  request.switches = switches_of(*job.spec, *state.config);
  request.segment = job.spec->segment;
  request.spread_segments = job.spec->spread_segments;
  request.groups_alone = state::wants_groups_alone(state, partition.config.get(), *job.spec);
  for (auto [text, nodes] : {std::pair{&job.spec->required_nodes, &request.required},
                             std::pair{&job.spec->excluded_nodes, &request.excluded}}) {
    if (text->empty()) continue;
    auto resolved = state::resolve_nodes(state, *text);
    if (resolved) *nodes = std::move(*resolved);
    else request.unknown_node = true;
  }
  request.needs.min_nodes =
      std::max(request.needs.min_nodes, static_cast<uint32_t>(request.required.count()));
  request.needs.max_nodes = std::max(request.needs.max_nodes, request.needs.min_nodes);
  return request;
}

Result<Request> request_of(const ClusterState& state, const fit::Rules& rules, const Job& job,
                           const Partition& partition) {
  return request_in(state, rules, job, partition, state::named_reservation(state, *job.spec));
}

bool serves_unchanged(const Request& request, const std::vector<std::string>& features) {
  const bool preferred = !request.prefer.empty() && fit::satisfies_any(request.prefer, features);
  return preferred || fit::satisfies_any(request.needs.features, features);
}

Patience patience_of(const Request& request, const Job& job, Time now, bool has_switches) {
  const Time since = job.accrue != kNoTime ? job.accrue : job.submit;
  Patience patience;
  const auto insists_until = [&](Time then) {
    if (then > now) patience.until = std::min(patience.until, then);
    return then > now;
  };
  if (request.needs.may_change)
    patience.may_change =
        !insists_until(since + std::chrono::seconds(job.spec->delay_boot_seconds));
  const bool insists =
      request.switches.most > 0 && has_switches && insists_until(since + request.switches.wait);
  if (insists) patience.most_switches = request.switches.most;
  return patience;
}

}  // namespace sluice::sched
