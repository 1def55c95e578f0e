// sbatch, and the allocations of srun and salloc.
#include "ctld/fit/gres.hpp"
#include "ctld/state/decide/job_checks.hpp"
#include "ctld/state/decide/job_ids.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/dependency.hpp"

namespace sluice::state {
namespace {

// What only administrators may ask for is left out for others, as Slurm does.
void drop_privileged(const ClusterState& state, uint32_t uid, JobSpec& spec) {
  if (!is_admin(state, uid) || state.config->reboot_program.empty()) spec.reboot = false;
  if (is_admin(state, uid)) return;
  if (spec.priority != 0) spec.priority = UINT32_MAX;
}

Status add_array(const ClusterState& state, const JobSpec& spec, Job& job) {
  if (spec.array.empty()) return {};
  if (!spec.batch) return failure(ErrorCode::kInvalidArray);
  Result<ArraySpec> parsed = parse_array_spec(spec.array.view(), state.config->max_array_size);
  if (!parsed) return failure(ErrorCode::kInvalidArray);
  auto info = std::make_shared<ArrayInfo>();
  info->array_job = job.id;
  info->max_running = parsed->max_running;
  info->task_count = static_cast<uint32_t>(parsed->indexes.size());
  info->task_min = parsed->indexes.front();
  info->task_max = parsed->indexes.back();
  const auto& ranges = parsed->indexes.ranges();
  if (ranges.size() > 1 && ranges[0].first == ranges[0].last) {
    info->task_step = ranges[1].first - ranges[0].first;
    for (size_t i = 1; i < ranges.size(); ++i) {
      const bool even = ranges[i].first == ranges[i].last &&
                        ranges[i].first - ranges[i - 1].first == info->task_step;
      if (!even) info->task_step = 1;
    }
  }
  info->pending = std::move(parsed->indexes);
  job.array = std::move(info);
  return {};
}

Status add_dependency(const ClusterState& state, const JobSpec& spec, Time now, Job& job) {
  if (spec.dependency.empty()) return {};
  const auto parsed = parse_dependency(spec.dependency.view());
  if (!parsed) return tl::unexpected(parsed.error());
  const DependencyResult result = evaluate_dependency(state, job, *parsed, now);
  if (result.satisfied()) return {};
  job.dependency = format_dependency(result.left);
  job.reason = result.never ? JobReason::kDependencyNeverSatisfied : JobReason::kDependency;
  return {};
}

void set_waiting_times(Time now, Job& job) {
  if (job.spec->hold || job.spec->priority == 0) {
    job.hold = HoldKind::kUser;
    job.reason = JobReason::kJobHeldUser;
    return;
  }
  if (!job.dependency.empty()) return;
  if (job.spec->begin > now) {
    job.eligible = job.spec->begin;
    job.reason = JobReason::kBeginTime;
    return;
  }
  job.eligible = job.accrue = now;
}

Status check_times(const JobSpec& spec, Time now) {
  if (spec.time_limit != 0 && spec.time_min > spec.time_limit) return failure(ErrorCode::kInvalidTimeMin);
  if (spec.deadline != kNoTime && spec.deadline < now) return failure(ErrorCode::kInvalidTimeLimit);
  return {};
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const SubmitJob& command, Time now) {
  auto spec = std::make_shared<JobSpec>(command.job);
  if (command.who.uid != 0 || spec->uid == 0) {  // root may submit for others
    spec->uid = command.who.uid;
    spec->gid = command.who.gid;
  }
  if (const JobId known = find_request(state, spec->uid, spec->request_id); known != kNoJob) {
    return Decision{{}, JobSubmittedReply{known, {}}, {}};
  }
  drop_privileged(state, command.who.uid, *spec);
  if (Status ok = fit::complete_gres(*spec); !ok) return tl::unexpected(ok.error());
  if (spec->nice < 0 && !is_admin(state, command.who.uid)) return failure(ErrorCode::kInvalidNice);
  const auto partitions = check_partitions(state, *spec, {spec->uid, command.groups});
  if (!partitions) return tl::unexpected(partitions.error());
  if (Status ok = check_size(state, *spec, *partitions); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_limits(state, *spec, *partitions); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_extras(state, *spec); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_times(*spec, now); !ok) return tl::unexpected(ok.error());

  const auto id = free_job_id(state, state.next_job_id);
  if (!id) return failure(ErrorCode::kTooManyJobs);
  JobSubmitted event;
  Job& job = event.job;
  job.id = *id;
  job.spec = spec;
  job.submit = now;
  job.partition = partitions->front()->config->name;
  job.time_limit = time_limit_in(*spec, *partitions->front()->config);
  if (Status ok = add_array(state, *spec, job); !ok) return tl::unexpected(ok.error());
  const uint64_t count = job.array == nullptr ? 1 : job.array->task_count;
  if (state.job_count + count > state.config->max_job_count) {
    return failure(ErrorCode::kTooManyJobs);
  }
  if (Status ok = add_dependency(state, *spec, now, job); !ok) return tl::unexpected(ok.error());
  set_waiting_times(now, job);

  Decision decision;
  decision.reply = JobSubmittedReply{job.id, {}};
  decision.events.emplace_back(std::move(event));
  return decision;
}

}  // namespace sluice::state
