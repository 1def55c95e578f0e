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

// `left_for`: as for has_jobs().
bool is_free_of_jobs(const ClusterState& state, const Node& node, Time from,
                     const Reservation* left_for = nullptr) {
  return std::ranges::none_of(node.jobs, [&](JobId id) {
    const Job& job = state.jobs.at(id);
    const bool leaves = left_for != nullptr && lets_in(*left_for, leaves_within(*job.spec));
    return !leaves && is_there(job, from);
  });
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

class PartChoice {
 public:
  PartChoice(const ClusterState& state, const Reservation& r, Time now)
      : state_(state),
        r_(r),
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

  // Its generic resources that nobody has then: those that the reservation has itself first.
  [[nodiscard]] GresShares free_gres(const Node& node) const {
    if (node.gres == nullptr || kept_.whole.test(node.id)) return {};
    GresShares used;
    if (const auto at = kept_.gres.find(node.id); at != kept_.gres.end()) used = at->second;
    for (const JobId id : node.jobs) {
      const Job& job = state_.jobs.at(id);
      const bool own = !r_.name.empty() && job.reservation == r_.name;
      if (ignores_jobs_ || own || !is_there(job, start_) || !job.allocation) continue;
      for (const NodeAllocation& part : job.allocation->nodes) {
        if (part.node == node.id) add_shares(used, part.gres);
      }
    }
    const auto had = std::ranges::find(r_.gres, node.id, &ReservedGres::node);
    GresShares own, others;
    for (const GresKind& kind : node.gres->kinds) {
      if (kind.no_consume || is_shared_gres(kind.name)) continue;
      GresFree free = free_of(kind, used);
      if (had != r_.gres.end() && kind.units.any()) {
        Bitmap units = free.units;
        for (const GresShare& share : had->shares) {
          if (share.name == kind.name && share.type == kind.type) units &= share.units;
          else if (share.name == kind.name) units.and_not(share.units);
        }
        free.units.and_not(units);
        if (units.any()) own.push_back({kind.name, kind.type, units.count(), units, {}});
        free.count = free.units.count();
      }
      if (free.count > 0) others.push_back({kind.name, kind.type, free.count, free.units, {}});
    }
    own.insert(own.end(), others.begin(), others.end());
    return own;
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
  const Reservation& r_;
  const fit::Unit unit_;
  const bool ignores_jobs_;
  const Time start_;
  const NodeHold kept_;
};

Result<std::vector<ReservedCores>> of_named(const ClusterState& state, const PartChoice& choice,
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

// What is asked of one node.
struct NodeDemand {
  std::vector<uint64_t> counts;  // by item
  uint32_t cores = 0;
};
// What a node has free.
struct Offer {
  NodeId node = kNoNode;
  GresShares gres;
  Bitmap cores;
};

// So many of each item out of what is free, one after the other; nullopt: there are not so many.
std::optional<GresShares> taken_of(GresShares free, const std::vector<GresItem>& items,
                                   const std::vector<uint64_t>& counts) {
  GresShares taken;
  for (size_t i = 0; i < items.size(); ++i) {
    const GresShares part =
        take_shares(free, items[i].name.view(), items[i].type.view(), counts[i]);
    if (count_of(part, items[i].name.view()) < counts[i]) return std::nullopt;
    remove_shares(free, part);
    add_shares(taken, part);
  }
  return taken;
}

void take(const Offer& offer, GresShares gres, uint32_t cores, ReservedParts& out) {
  if (cores > 0) out.cores.push_back({offer.node, offer.cores.take_first(cores)});
  out.gres.push_back({offer.node, std::move(gres)});
}

// Each of the demands on another node, the larger ones first; nullopt: it does not come out so.
std::optional<ReservedParts> dealt(const std::vector<Offer>& offers,
                                   const std::vector<GresItem>& items,
                                   const std::vector<NodeDemand>& demands) {
  ReservedParts out;
  Bitmap used;
  for (const NodeDemand& demand : demands) {
    bool found = false;
    for (size_t at = 0; at < offers.size() && !found; ++at) {
      if (used.test(at) || offers[at].cores.count() < demand.cores) continue;
      auto gres = taken_of(offers[at].gres, items, demand.counts);
      if (!gres) continue;
      take(offers[at], std::move(*gres), demand.cores, out);
      used.set(at);
      found = true;
    }
    if (!found) return std::nullopt;
  }
  return out;
}

// What each of so many nodes is to give; of what does not come out even the first give one more.
std::vector<NodeDemand> demands_of(const GresWish& wish, uint32_t nodes) {
  std::vector<NodeDemand> out(nodes);
  for (uint32_t n = 0; n < nodes; ++n) {
    for (const GresItem& item : wish.items) {
      const uint64_t more = n < item.count % nodes ? 1 : 0;
      out[n].counts.push_back(wish.per_node ? item.count : item.count / nodes + more);
    }
    if (wish.cores.size() == 1) out[n].cores = evenly(wish.cores.front(), nodes).front();
    else if (n < wish.cores.size()) out[n].cores = wish.cores[n];
  }
  return out;
}

// As much of the one item as each node has until there is enough, with cores in proportion.
std::optional<ReservedParts> walked(const std::vector<Offer>& offers, const GresWish& wish) {
  const GresItem& item = wish.items.front();
  const uint64_t cores = wish.cores.empty() ? 0 : wish.cores.front();
  ReservedParts out;
  uint64_t left = item.count;
  for (const Offer& offer : offers) {
    const uint64_t count = std::min(left, count_of(offer.gres, item.name.view(), item.type.view()));
    const auto share = static_cast<uint32_t>((cores * count + item.count - 1) / item.count);
    if (count == 0 || offer.cores.count() < share) continue;
    take(offer, *taken_of(offer.gres, wish.items, {count}), share, out);
    left -= count;
    if (left == 0) return out;
  }
  return std::nullopt;
}

std::optional<ReservedParts> gathered(const std::vector<Offer>& offers, const GresWish& wish) {
  constexpr uint64_t kMostTries = 64;
  uint64_t most = kMostTries;
  for (const GresItem& item : wish.items) most = std::min(most, item.count);
  for (uint32_t nodes = 1; nodes <= std::min<uint64_t>(most, offers.size()); ++nodes) {
    if (auto parts = dealt(offers, wish.items, demands_of(wish, nodes))) return parts;
  }
  return wish.items.size() == 1 ? walked(offers, wish) : std::nullopt;
}

// How many nodes follow from what is asked for; 0: any number.
uint32_t nodes_asked(const NodeWish& nodes, const GresWish& gres) {
  if (nodes.count > 0) return nodes.count;
  if (gres.cores.size() > 1) return static_cast<uint32_t>(gres.cores.size());
  return gres.per_node ? 1 : 0;
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
  const PartChoice choice(state, r, now);
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

Result<ReservedParts> choose_gres(const ClusterState& state, const NodeWish& wish,
                                  const GresWish& gres, Time now) {
  constexpr uint32_t kMostNodes = 1U << 16;
  const PartChoice choice(state, *wish.reservation, now);
  std::vector<const Node*> nodes;
  if (wish.keep.any()) {
    wish.keep.for_each(
        [&](size_t id) { nodes.push_back(&state.nodes.at(static_cast<NodeId>(id))); });
    for (const Node* node : nodes) {
      if (choice.is_kept(node->id)) return failure(ErrorCode::kReservationOverlap);
    }
  } else {
    auto found = candidates(state, wish);
    if (!found) return tl::unexpected(found.error());
    nodes = std::move(*found);
    const Bitmap& own = wish.reservation->nodes;
    std::stable_partition(nodes.begin(), nodes.end(),
                          [&](const Node* node) { return own.test(node->id); });
  }
  std::vector<Offer> offers;
  for (const Node* node : nodes) {
    Offer offer{node->id, choice.free_gres(*node), choice.free(*node)};
    if (!offer.gres.empty()) offers.push_back(std::move(offer));
  }
  const uint32_t count =
      wish.keep.any() ? static_cast<uint32_t>(wish.keep.count()) : nodes_asked(wish, gres);
  const bool all_have_some = gres.per_node || std::ranges::all_of(gres.items, [&](const auto& one) {
                               return one.count >= count;
                             });
  std::optional<ReservedParts> parts;
  if (count == 0) parts = gathered(offers, gres);
  else if (count <= kMostNodes && all_have_some)
    parts = dealt(offers, gres.items, demands_of(gres, count));
  if (!parts) return failure(ErrorCode::kNodesBusy);
  choice.widen(parts->cores);
  return std::move(*parts);
}

bool has_jobs(const ClusterState& state, const Bitmap& nodes, Time from,
              const Reservation* left_for) {
  bool busy = false;
  nodes.for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    busy = busy || !is_free_of_jobs(state, node, from, left_for);
  });
  return busy;
}

}  // namespace sluice::state
