#include "ctld/query/job_ranks.hpp"

#include <algorithm>
#include <set>

#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/found_job.hpp"
#include "ctld/state/rules/target.hpp"

namespace sluice::ctld {
namespace {

std::set<uint32_t> owners(const state::ClusterState& state, std::string_view targets) {
  std::set<uint32_t> uids;
  const auto named = state::split_targets(targets);
  if (!named) return uids;
  for (const std::string& target : *named) {
    if (const auto job = state::find_job(state, state::parse_target(target)->job))
      uids.insert(job->spec->uid);
  }
  return uids;
}

}  // namespace

std::vector<state::JobRank> ranks_beside(const state::ClusterState& state,
                                         const sched::Policies& policies, std::string_view targets,
                                         Time now) {
  std::vector<state::JobRank> out;
  const std::set<uint32_t> uids = owners(state, targets);
  if (uids.empty()) return out;
  state.pending.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (job.hold != HoldKind::kNone || !uids.contains(job.spec->uid)) return;
    uint32_t priority = 1;
    for (const std::string& name : state::partitions_of(state, job)) {
      const state::Partition* partition = state::find_partition(state, name);
      if (partition == nullptr) continue;
      priority =
          std::max(priority, sched::priority_of(*policies.priority, job, *partition->config, now));
    }
    out.push_back({id, priority});
  });
  return out;
}

}  // namespace sluice::ctld
