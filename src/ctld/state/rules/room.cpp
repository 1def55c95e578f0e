#include "ctld/state/rules/room.hpp"

#include <algorithm>

#include "ctld/state/core/indexes.hpp"

namespace sluice::state {
namespace {

// What Slurm says beside the error; empty: nothing.
std::string why_never(const fit::Needs& needs, const std::vector<fit::Room>& rooms) {
  const auto all_lack = [&](fit::Lack what) {
    return !rooms.empty() && std::ranges::all_of(rooms, [&](const fit::Room& room) {
      return fit::lack_of(needs, room) == what;
    });
  };
  if (all_lack(fit::Lack::kShape))
    return "Socket, core and/or thread specification can not be satisfied";
  return all_lack(fit::Lack::kTmpDisk) ? "Temporary disk specification can not be satisfied" : "";
}

}  // namespace

fit::Room room_of(const ClusterState& state, const Node& node, fit::Unit unit) {
  fit::Room room = fit::room_now(node, unit);
  for (const JobId id : node.jobs) {
    const Job& job = state.jobs.at(id);
    if (!holds_processors(job)) {  // nor whom it shares the node with
      --room.jobs;
      continue;
    }
    if (room.user != job.spec->uid) {
      room.user = room.user == fit::kNoUser ? job.spec->uid : fit::kSeveralUsers;
    }
    const bool may_be =
        job.spec->sharing == Sharing::kUser || job.spec->sharing == Sharing::kDefault;
    if (!room.one_user && may_be) {
      room.one_user = is_one_user(find_partition(state, job.partition.view()), *job.spec);
    }
  }
  return room;
}

bool bounds_cpus(const PartitionConfig& partition) {
  return partition.max_cpus_per_node != kUnlimited || partition.max_cpus_per_socket != kUnlimited;
}

fit::PartitionUse use_of(const ClusterState& state, const Partition& partition, const Node& node) {
  fit::PartitionUse use;
  for (const JobId id : node.jobs) {
    const Job& job = state.jobs.at(id);
    if (!holds_processors(job) || find_partition(state, job.partition.view()) != &partition)
      continue;
    const auto at = allocation_position(*job.allocation, node.id);
    if (at) use.add(job.allocation->nodes[*at], *node.config);
  }
  return use;
}

uint32_t sharers_of(const PartitionConfig& partition, const JobSpec& spec) {
  const uint32_t most = partition.over_subscribe_count == 0 ? 4 : partition.over_subscribe_count;
  if (fit::asks_alone(fit::sharing_of(spec, partition))) return 1;
  if (partition.over_subscribe == OverSubscribe::kForce) return most;
  const bool asked = spec.sharing == Sharing::kOversubscribe;
  return partition.over_subscribe == OverSubscribe::kYes && asked ? most : 1;
}

bool is_one_user(const Partition* partition, const JobSpec& spec) {
  if (partition == nullptr) return spec.sharing == Sharing::kUser;
  return fit::sharing_of(spec, *partition->config) == Sharing::kUser ||
         partition->config->exclusive == ExclusiveMode::kUser;
}

Status could_serve(const ClusterState& state, const Partition& partition, const Bitmap& among,
                   const JobSpec& spec, size_t* looked_at) {
  const fit::Rules rules = fit::rules_of(*state.config);
  // limits are not enforced when jobs are submitted: it waits until they change
  const bool waits = state.config->enforce_part_limits == EnforcePartLimits::kNo;
  if (waits && fit::exceeds_memory_limit(spec, *partition.config, *state.config,
                                         partition.max_node_memory_mib))
    return {};
  auto needs = fit::needs_of(spec, *partition.config, *state.config, rules);
  if (!needs) return tl::unexpected(std::move(needs.error()));
  if (needs->min_nodes > partition.nodes.count() || needs->min_cpus > partition.total_cpus)
    return {};
  Bitmap required, excluded;
  for (auto [text, nodes] :
       {std::pair{&spec.required_nodes, &required}, std::pair{&spec.excluded_nodes, &excluded}}) {
    if (text->empty()) continue;
    auto resolved = resolve_nodes(state, text->view());
    if (!resolved) return tl::unexpected(std::move(resolved.error()));
    *nodes = std::move(*resolved);
  }
  std::vector<NodeId>
      ids;  // those that it must have first, so that a few nodes are enough to look at
  required.for_each([&](size_t id) { ids.push_back(static_cast<NodeId>(id)); });
  among.for_each([&](size_t id) {
    if (!required.test(id) && !excluded.test(id)) ids.push_back(static_cast<NodeId>(id));
  });
  std::vector<fit::Room> rooms;
  std::vector<const fit::Room*> list;
  for (size_t look = 2 * size_t{needs->min_nodes} + required.count();; look *= 4) {
    look = std::min(look, ids.size());
    while (rooms.size() < look) {
      rooms.push_back(fit::room_empty(state.nodes.at(ids[rooms.size()]), rules.unit));
    }
    list.clear();
    for (const fit::Room& room : rooms) list.push_back(&room);
    if (looked_at != nullptr) *looked_at += look;
    if (fit::place(*needs, list, &required, rules.unit)) return {};
    if (look == ids.size()) return failure(ErrorCode::kNodesNotAvailable, why_never(*needs, rooms));
  }
}

}  // namespace sluice::state
