#include "ctld/state/room.hpp"

#include <algorithm>

namespace sluice::state {

fit::Room room_of(const ClusterState& state, const Node& node, fit::Unit unit) {
  fit::Room room = fit::room_now(node, unit);
  for (const JobId id : node.jobs) {
    const Job& job = state.jobs.at(id);
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

uint32_t sharers_of(const PartitionConfig& partition, const JobSpec& spec) {
  const uint32_t most = partition.over_subscribe_count == 0 ? 4 : partition.over_subscribe_count;
  if (spec.sharing == Sharing::kExclusive || spec.sharing == Sharing::kUser) return 1;
  if (partition.over_subscribe == OverSubscribe::kForce) return most;
  const bool asked = spec.sharing == Sharing::kOversubscribe;
  return partition.over_subscribe == OverSubscribe::kYes && asked ? most : 1;
}

bool is_one_user(const Partition* partition, const JobSpec& spec) {
  return spec.sharing == Sharing::kUser ||
         (partition != nullptr && partition->config->exclusive == ExclusiveMode::kUser);
}

}  // namespace sluice::state
