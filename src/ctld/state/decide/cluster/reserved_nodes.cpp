#include "ctld/state/decide/cluster/reserved_nodes.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "ctld/fit/features.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::state {
namespace {

bool is_there(const Job& job, Time from) {
  return job.end == kNoTime || job.end > from || is_completing(job);
}

bool is_free_of_jobs(const ClusterState& state, const Node& node, Time from) {
  return std::ranges::none_of(node.jobs,
                              [&](JobId id) { return is_there(state.jobs.at(id), from); });
}

// Nodes that it may be given, those that are preferred first.
Result<std::vector<const Node*>> candidates(const ClusterState& state, const NodeWish& wish) {
  const Reservation& r = *wish.reservation;
  Bitmap from;
  if ((r.flags & kReservationAnyNodes) != 0 && r.partition.empty()) {
    from = all_nodes(state);
  } else {
    const Partition* partition =
        r.partition.empty() ? default_partition(state) : find_partition(state, r.partition);
    if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);
    from = partition->nodes;
  }
  fit::FeatureExpression features;
  if (!r.features.empty()) {
    auto parsed = fit::parse_features(r.features);
    if (!parsed) return failure(ErrorCode::kInvalidFeature);
    features = std::move(*parsed);
  }
  std::vector<const Node*> nodes;
  from.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    if (!may_serve(state, node) || wish.without.test(node.id)) return;
    if (!r.features.empty() && !fit::satisfies_any(features, node.config->features)) return;
    nodes.push_back(&node);
  });
  std::ranges::stable_sort(nodes, [](const Node* a, const Node* b) {
    return std::tuple(!a->jobs.empty(), is_asleep(*a), a->weight) <
           std::tuple(!b->jobs.empty(), is_asleep(*b), b->weight);
  });
  return nodes;
}

// What others have at the same time.
NodeHold kept_by_others(const ClusterState& state, const Reservation& r, Time now) {
  NodeHold kept;
  if (!stands_apart(r)) return kept;
  for (const Reservation& other : *state.reservations) {
    if (other.id != r.id && ever_meet(r, other, now)) kept.add(hold_of(state, other));
  }
  return kept;
}

class CoreChoice {
 public:
  CoreChoice(const ClusterState& state, const Reservation& r, Time now)
      : state_(state),
        unit_(fit::rules_of(*state.config).unit),
        ignores_jobs_((r.flags & kReservationIgnoreJobs) != 0),
        start_(period_of(r, now).start),
        kept_(kept_by_others(state, r, now)) {}

  [[nodiscard]] bool is_kept(NodeId node) const { return kept_.whole.test(node); }

  // Its cores that nobody has then; with CR_Socket of sockets that are wholly free.
  [[nodiscard]] Bitmap free(const Node& node) const {
    if (kept_.whole.test(node.id)) return {};
    fit::Room room = fit::room_empty(node, unit_);
    fit::set_free_cores(room, left_of(node, std::move(room.free_cores)), unit_);
    return std::move(room.free_cores);
  }

  // With CR_Socket jobs get whole sockets, and so does it.
  void widen(std::vector<ReservedCores>& chosen) const {
    if (unit_ != fit::Unit::kSocket) return;
    for (ReservedCores& part : chosen) {
      const Node& node = state_.nodes.at(part.node);
      const size_t each = std::max(1U, node.config->cores_per_socket);
      std::set<size_t> sockets;
      part.cores.for_each([&](size_t core) { sockets.insert(core / each); });
      fit::room_empty(node, unit_).free_cores.for_each([&](size_t core) {
        if (sockets.contains(core / each)) part.cores.set(core);
      });
    }
  }

 private:
  [[nodiscard]] Bitmap left_of(const Node& node, Bitmap cores) const {
    if (const auto at = kept_.cores.find(node.id); at != kept_.cores.end())
      cores.and_not(at->second);
    if (ignores_jobs_) return cores;
    for (const JobId id : node.jobs) {
      const Job& job = state_.jobs.at(id);
      if (!is_there(job, start_) || !job.allocation) continue;
      for (const NodeAllocation& part : job.allocation->nodes) {
        if (part.node != node.id) continue;
        if (job.allocation->whole_nodes) return {};
        cores.and_not(part.cores);
      }
    }
    return cores;
  }

  const ClusterState& state_;
  const fit::Unit unit_;
  const bool ignores_jobs_;
  const Time start_;
  const NodeHold kept_;
};

Result<std::vector<ReservedCores>> of_named(const ClusterState& state, const CoreChoice& choice,
                                            const Bitmap& nodes,
                                            const std::vector<uint32_t>& counts) {
  if (counts.size() < nodes.count())
    return failure(ErrorCode::kBadRequest,
                   "Core count for reservation node list is not consistent!");
  if (counts.size() > nodes.count()) return failure(ErrorCode::kNodesBusy);
  std::vector<ReservedCores> out;
  Status refused;
  nodes.for_each([&](size_t id) {
    const auto node = static_cast<NodeId>(id);
    const uint32_t wanted = counts[out.size()];
    const Bitmap free = choice.free(state.nodes.at(node));
    if (refused && choice.is_kept(node)) refused = failure(ErrorCode::kReservationOverlap);
    if (refused && (wanted == 0 || free.count() < wanted)) refused = failure(ErrorCode::kNodesBusy);
    out.push_back({node, free.take_first(wanted)});
  });
  if (!refused) return tl::unexpected(refused.error());
  return out;
}

// On one node if one has as many, else on as few as there may be.
std::vector<ReservedCores> gathered(const std::vector<ReservedCores>& free, uint32_t wanted) {
  for (const ReservedCores& one : free) {
    if (one.cores.count() >= wanted) return {{one.node, one.cores.take_first(wanted)}};
  }
  std::vector<ReservedCores> out;
  for (const ReservedCores& one : free) {
    if (wanted == 0) break;
    out.push_back({one.node, one.cores.take_first(wanted)});
    wanted -= static_cast<uint32_t>(out.back().cores.count());
  }
  return wanted == 0 ? out : std::vector<ReservedCores>();
}

// Each of them on another node.
std::vector<ReservedCores> spread(const std::vector<ReservedCores>& free,
                                  const std::vector<uint32_t>& counts) {
  std::vector<ReservedCores> out;
  for (const ReservedCores& one : free) {
    if (out.size() == counts.size()) break;
    const uint32_t wanted = counts[out.size()];
    if (one.cores.count() >= wanted) out.push_back({one.node, one.cores.take_first(wanted)});
  }
  return out.size() == counts.size() ? out : std::vector<ReservedCores>();
}

// `total` cores over so many nodes: the same of each, and more if it does not come out even.
std::vector<uint32_t> evenly(uint32_t total, uint32_t nodes) {
  return std::vector<uint32_t>(nodes, total / nodes + (total % nodes == 0 ? 0 : 1));
}

}  // namespace

bool stands_apart(const Reservation& r) {
  return (r.flags & (kReservationMaint | kReservationOverlap)) == 0;
}

Result<Bitmap> choose_nodes(const ClusterState& state, const NodeWish& wish, Time now) {
  const Reservation& r = *wish.reservation;
  const auto nodes = candidates(state, wish);
  if (!nodes) return tl::unexpected(nodes.error());
  const Bitmap kept = kept_by_others(state, r, now).nodes();
  const Time start = period_of(r, now).start;
  Bitmap chosen = wish.keep;
  for (const Node* node : *nodes) {
    if (chosen.count() >= wish.count) break;
    if (kept.test(node->id)) continue;
    const bool free =
        (r.flags & kReservationIgnoreJobs) != 0 || is_free_of_jobs(state, *node, start);
    if (free) chosen.set(node->id);
  }
  if (chosen.count() < wish.count) return failure(ErrorCode::kNodesBusy);
  return chosen;
}

Result<std::vector<ReservedCores>> choose_cores(const ClusterState& state, const NodeWish& wish,
                                                const std::vector<uint32_t>& counts, Time now) {
  constexpr uint32_t kMostNodes = 1U << 16;
  const Reservation& r = *wish.reservation;
  const CoreChoice choice(state, r, now);
  if (wish.keep.any()) {
    auto chosen = of_named(state, choice, wish.keep, counts);
    if (chosen) choice.widen(*chosen);
    return chosen;
  }
  const auto nodes = candidates(state, wish);
  if (!nodes) return tl::unexpected(nodes.error());
  std::vector<ReservedCores> free;
  for (const Node* node : *nodes) {
    if (Bitmap cores = choice.free(*node); cores.any())
      free.push_back({node->id, std::move(cores)});
  }
  std::vector<ReservedCores> chosen;
  if (counts.size() > 1) chosen = spread(free, counts);
  else if (wish.count == 0) chosen = gathered(free, counts.front());
  else if (wish.count <= kMostNodes) chosen = spread(free, evenly(counts.front(), wish.count));
  const bool all = !chosen.empty() &&
                   std::ranges::all_of(chosen, [](const auto& one) { return one.cores.any(); });
  if (!all) return failure(ErrorCode::kNodesBusy);
  choice.widen(chosen);
  return chosen;
}

bool has_jobs(const ClusterState& state, const Bitmap& nodes, Time from) {
  bool busy = false;
  nodes.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    busy = busy || !is_free_of_jobs(state, node, from);
  });
  return busy;
}

}  // namespace sluice::state
