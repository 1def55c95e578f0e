// sbatch --test-only: the start of a job that is not submitted.
#include <algorithm>

#include "ctld/sched/pass.hpp"
#include "ctld/sched/rooms.hpp"
#include "ctld/sched/why.hpp"
#include "ctld/state/rules/access.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

Result<TestStart> test_start(const state::ClusterState& state, const Job& job, Time now) {
  Error refused{ErrorCode::kNodesNotAvailable, {}};
  Job waited = job;
  // when it starts, it has waited for that
  waited.accrue = now - std::chrono::seconds(job.spec->delay_boot_seconds);
  for (const std::string& name : state::partitions_of(state, job)) {
    const state::Partition* partition = state::find_partition(state, name);
    if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);
    if (state::why_not_admitted(state, *partition, *job.spec)) {
      // one that lets him in has been found at submission
      refused = Error{ErrorCode::kAccessDenied, {}};
      continue;
    }
    Rooms rooms(state, now);
    const auto ask = rooms.ask_of(job, *partition);
    if (!ask) {
      refused = ask.error();
      continue;
    }
    TestStart found;
    found.partition = name;
    found.start = std::max(now, job.spec->begin);
    if (ask->reservation != nullptr && (ask->reservation->flags & kReservationFlex) == 0) {
      found.start = std::max(found.start, state::period_of(*ask->reservation, now).start);
    }
    auto placed = rooms.place_now(*ask, limit_of(job, *partition));
    Bitmap nodes;
    if (!placed) {
      const auto forecast = rooms.reserve_earliest({{&waited, &*ask}});
      placed = rooms.place_empty(*ask, false);
      if (!placed) continue;
      if (forecast) {
        found.start = std::max(found.start, forecast->start);
        nodes = forecast->nodes;
      } else {
        found.start = now + std::chrono::hours(24 * 365);  // as Slurm does when no end is in sight
      }
    }
    for (const NodeAllocation& a : *placed) {
      found.cpus += a.cpus;
      if (nodes.count() < placed->size()) nodes.set(a.node);
    }
    found.nodes = state::node_list(state, nodes);
    return found;
  }
  return tl::unexpected(std::move(refused));
}

}  // namespace sluice::sched
