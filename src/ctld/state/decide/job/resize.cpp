#include "ctld/state/decide/job/resize.hpp"
#include "common/model/job_update.hpp"

#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/decide/ending.hpp"

namespace sluice::state {
namespace {

// NodeIds that the job is to keep.
Result<Bitmap> nodes_to_keep(const ClusterState& state, const Job& job, const JobUpdate& update) {
  const Bitmap held = held_nodes(job);
  Bitmap keep = held;
  if (update.required_nodes) {
    const auto named = resolve_nodes(state, *update.required_nodes);
    if (!named) return tl::unexpected(named.error());
    keep &= *named;
    if (keep.none() || keep.count() != named->count()) return failure(ErrorCode::kInvalidNodeName);
  }
  if (update.min_nodes) {
    if (*update.min_nodes > held.count()) return failure(ErrorCode::kNotSupported);
    if (*update.min_nodes == 0 || *update.min_nodes > keep.count())
      return failure(ErrorCode::kTooManyNodes);
    keep = keep.take_first(*update.min_nodes);
  }
  if (job.spec->batch && !keep.test(job.allocation->nodes[batch_position(state, job)].node)) {
    return failure(ErrorCode::kInvalidNodeName);
  }
  return keep;
}

}  // namespace

bool is_resize(const Job& job, const JobUpdate& update) {
  return is_running(job) && (update.min_nodes || update.required_nodes);
}

Status shrink_job(Draft& draft, JobId id, const JobUpdate& update, Time now) {
  const Job& job = draft.job(id);
  const bool range =
      update.min_nodes && update.max_nodes.value_or(*update.min_nodes) != *update.min_nodes;
  if (range) return failure(ErrorCode::kJobNotPending);
  if (has_option(draft.state().config->scheduler_parameters, "disable_job_shrink"))
    return failure(ErrorCode::kNotSupported);
  if (job.preparing.any() || job.state == JobState::kSuspended) return failure(ErrorCode::kRetry);
  const auto keep = nodes_to_keep(draft.state(), job, update);
  if (!keep) return tl::unexpected(keep.error());
  keep_nodes(draft, id, *keep, now);
  return {};
}

void keep_nodes(Draft& draft, JobId id, const Bitmap& keep, Time now) {
  const Job& job = draft.job(id);
  Bitmap drop = held_nodes(job);
  drop.and_not(keep);
  if (drop.none()) return;
  auto allocation = std::make_shared<Allocation>();
  allocation->whole_nodes = job.allocation->whole_nodes;
  for (const NodeAllocation& part : job.allocation->nodes) {
    if (!keep.test(part.node)) continue;
    allocation->nodes.push_back(part);
    allocation->cpus += part.cpus;
  }
  allocation->node_list = node_list(draft.state(), keep);
  drop.for_each([&](size_t node) { lose_step_parts(draft, id, static_cast<NodeId>(node), now); });
  // over with its steps
  if (!is_running(draft.job(id)))
    return release_nodes(draft, id, allocation_positions(draft.job(id), drop), now);
  std::shared_ptr<const JobCharge> charge;
  const Job& running = draft.job(id);
  const Partition* partition = find_partition(draft.state(), running.partition.view());
  if (running.charge != nullptr && running.account != nullptr && partition != nullptr)
    charge =
        charge_of(draft.state(), *running.spec, *partition->config, *allocation, *running.account);
  draft.emit(JobShrunk{.job = id,
                       .allocation = std::move(allocation),
                       .nodes = std::move(drop),
                       .time = now,
                       .charge = std::move(charge)});
}

}  // namespace sluice::state
