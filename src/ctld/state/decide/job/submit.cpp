// sbatch, and the allocations of srun and salloc.
#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/fit/gres.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/job_ids.hpp"
#include "ctld/state/decide/job/submission_course.hpp"
#include "ctld/state/decide/job/submit_plugins.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/dependency.hpp"
#include "ctld/state/decide/draft.hpp"

namespace sluice::state {
namespace {

// A priority of 0 holds the job and is none: it is computed once the job is released. Commands take
// --priority=0 as not given, as Slurm's do. True: it is held.
bool takes_hold(JobSpec& spec) {
  const bool held = spec.hold || spec.priority == 0;
  if (spec.priority == 0) spec.priority = UINT32_MAX;
  return held;
}

// What a job leaves to the system is of nodes that it has whole; where jobs may not say so, it is
// left out. JobRequeue of the time of submission counts for as long as the job lives.
void follow_config(const ClusterConfig& config, JobSpec& spec) {
  if (spec.requeue == Toggle::kDefault)
    spec.requeue = config.job_requeue ? Toggle::kYes : Toggle::kNo;
  if (!config.allow_spec_resources_usage) spec.core_spec = spec.thread_spec = UINT32_MAX;
  if (system_share(spec, config).given()) spec.sharing = Sharing::kExclusive;
}

Status add_array(const ClusterState& state, const JobSpec& spec, Job& job) {
  if (spec.array.empty()) return {};
  if (!spec.batch) return failure(ErrorCode::kInvalidArray);
  Result<ArraySpec> parsed = parse_array_spec(spec.array.view(), state.config->max_array_size);
  if (!parsed) return failure(ErrorCode::kInvalidArray);
  const auto most = to_number<uint32_t>(
      option_value(state.config->scheduler_parameters, "max_array_tasks").value_or(""));
  if (most && parsed->indexes.size() > *most) return failure(ErrorCode::kInvalidArray);
  auto info = std::make_shared<ArrayInfo>();
  info->array_job = job.id;
  info->max_running = parsed->max_running;
  info->task_count = static_cast<uint32_t>(parsed->indexes.size());
  info->task_min = parsed->indexes.front();
  info->task_max = parsed->indexes.back();
  // as it was written: "2,5-9:2" has 2, "1,3,5" has 1
  const std::string_view text = spec.array.view();
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view step = text.substr(std::min(colon + 1, text.size()));
  info->task_step =
      to_number<uint32_t>(step.substr(0, step.find_first_not_of("0123456789"))).value_or(1);
  info->pending = std::move(parsed->indexes);
  job.array = std::move(info);
  return {};
}

Status add_dependency(const ClusterState& state, const JobSpec& spec, Time now,
                      SubmissionCourse& course, Job& job) {
  if (spec.dependency.empty()) return {};
  const auto parsed = parse_dependency(spec.dependency.view());
  if (!parsed) return tl::unexpected(parsed.error());
  const DependencyResult result =
      evaluate_dependency(state, job, *parsed, now, course.dependencies);
  if (result.satisfied()) return {};
  job.dependency = format_dependency(result.left);
  job.reason = result.never ? JobReason::kDependencyNeverSatisfied : JobReason::kDependency;
  return {};
}

void set_waiting_times(Time now, Job& job) {
  const bool delayed = job.spec->begin > now;
  if (delayed && job.dependency.empty()) job.eligible = job.spec->begin;
  if (job.hold != HoldKind::kNone) {
    job.reason = JobReason::kJobHeldUser;
    return;
  }
  if (!job.dependency.empty()) return;
  if (delayed) {
    job.reason = JobReason::kBeginTime;
    return;
  }
  job.eligible = job.accrue = now;
}

// Agents that are not root's can start processes of their own user only: a cluster that a user made
// for himself.
Status check_user(const ClusterConfig& config, uint32_t uid) {
  if (config.slurmd_user_id == 0 || config.slurmd_user_id == uid) return {};
  return failure(ErrorCode::kAccessDenied, "The nodes of this cluster run jobs of the user " +
                                               config.slurmd_user + " (SlurmdUser) only");
}

Status check_times(const JobSpec& spec, Time now) {
  // UNLIMITED is more than a limit that is not said yet
  const bool endless = spec.time_limit == 0 && spec.time_min == kInfiniteMinutes;
  if (endless || (spec.time_limit != 0 && spec.time_min > spec.time_limit))
    return failure(ErrorCode::kInvalidTimeMin);
  if (spec.deadline != kNoTime && spec.deadline < now) return failure(ErrorCode::kInvalidTimeLimit);
  const bool fixed =
      spec.time_min == 0 && spec.time_limit != 0 && spec.time_limit != kInfiniteMinutes;
  if (spec.deadline != kNoTime && fixed &&
      now + std::chrono::minutes(spec.time_limit) > spec.deadline) {
    return failure(ErrorCode::kInvalidTimeLimit);
  }
  if (spec.deadline != kNoTime && now + std::chrono::minutes(spec.time_min) > spec.deadline) {
    return failure(ErrorCode::kInvalidTimeMin);
  }
  return {};
}

// Without a limit of its own or of its partition a job may have what is left before its deadline, a
// minute or more.
void follow_deadline(const PartitionConfig& partition, JobSpec& spec) {
  const bool unlimited =
      spec.time_limit == kInfiniteMinutes || (spec.time_limit == 0 && !partition.default_time);
  if (spec.deadline != kNoTime && unlimited && spec.time_min == 0) spec.time_min = 1;
}

// The first of `count` ids in a row that are free.
std::optional<JobId> free_job_ids(const ClusterState& state, uint32_t count) {
  JobId from = state.next_job_id;
  for (uint32_t tries = 0; tries <= state.jobs.size() + 1; ++tries) {
    const auto first = free_job_id(state, from);
    if (!first) return std::nullopt;
    uint32_t free = 1;
    while (free < count && *first + free <= state.config->max_job_id &&
           free_job_id(state, *first + free) == *first + free) {
      ++free;
    }
    if (free == count) return first;
    from = *first + free;
  }
  return std::nullopt;
}

// The id of a job to be, and which component it is; null: not heterogeneous.
struct Place {
  JobId id = kNoJob;
  std::shared_ptr<const HetInfo> het;
};

// The event for one job.
Result<JobSubmitted> submit_one(const ClusterState& state, const SubmitJob& command,
                                const std::shared_ptr<JobSpec>& spec, Place place, Time now,
                                SubmissionCourse& course) {
  if (Status ok = check_user(*state.config, spec->uid); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_texts(*spec); !ok) return tl::unexpected(ok.error());
  if (!command.seen_by_site) {
    if (Status ok = check_rights(state, command.who.uid, *spec); !ok)
      return tl::unexpected(ok.error());
  }
  const bool held = takes_hold(*spec);
  follow_config(*state.config, *spec);
  if (Status ok = fit::complete_gres(*spec); !ok) return tl::unexpected(ok.error());
  ask_for_all_memory(*spec);
  bound_switch_wait(*state.config, *spec);
  const Submitter submitter{spec->uid, command.groups};
  if (Status ok = apply_submit_plugins(state, submitter, *spec); !ok)
    return tl::unexpected(ok.error());
  const auto named = find_partitions(state, *spec);
  if (!named) return tl::unexpected(named.error());
  auto account = resolve_account(state, *spec, *named);
  if (!account) return tl::unexpected(account.error());
  const auto partitions = check_partitions(state, *spec, submitter);
  if (!partitions) return tl::unexpected(partitions.error());
  // with more CPUs than its partitions have it waits until they get some
  const bool too_large = !check_release(state, *spec);
  if (Status ok = course.sizes.size(state, *spec, *partitions, held || too_large); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = check_limits(state, *spec, *partitions); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_time_min(state, *spec, *partitions); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_batch_features(*spec); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_extras(state, *spec); !ok) return tl::unexpected(ok.error());
  if (!held) {
    if (Status ok = course.sizes.reserved_room(state, *spec, *partitions, now); !ok)
      return tl::unexpected(ok.error());
  }
  if (Status ok = check_times(*spec, now); !ok) return tl::unexpected(ok.error());
  follow_deadline(*partitions->front()->config, *spec);

  JobSubmitted event;
  Job& job = event.job;
  job.id = place.id;
  job.het = std::move(place.het);
  job.spec = spec;
  job.submit = now;
  job.partition = partitions->front()->config->name;
  job.time_limit = time_limit_in(*spec, *partitions->front()->config);
  if (Status ok = add_array(state, *spec, job); !ok) return tl::unexpected(ok.error());
  const uint64_t count = job.array == nullptr ? 1 : job.array->task_count;
  if (state.job_count + count > state.config->max_job_count) {
    return failure(ErrorCode::kTooManyJobs);
  }
  if (Status ok = check_heavy_text(state, *spec); !ok) return tl::unexpected(ok.error());
  const Submission submission{
      .account = account->get(), .partitions = *partitions, .count = static_cast<uint32_t>(count)};
  if (Status ok = check_submit_limits(state, submission, *spec, now); !ok)
    return tl::unexpected(ok.error());
  job.account = std::move(*account);
  job.time_limit = time_limit_in(*spec, *partitions->front()->config);
  if (held) job.hold = HoldKind::kUser;
  if (Status ok = add_dependency(state, *spec, now, course, job); !ok)
    return tl::unexpected(ok.error());
  set_waiting_times(now, job);
  if (job.accrue != kNoTime && tasks_that_may_age(state, job) < count) {
    job.accrue = kNoTime;
    job.age_limited = true;
  }
  return event;
}

// What the first component lacks of a common time limit, the next one that has one gives it.
Minutes first_time_limit(const SubmitJob& command) {
  if (command.job.time_limit != 0) return command.job.time_limit;
  for (const JobSpec& spec : command.components) {
    if (spec.time_limit != 0) return spec.time_limit;
  }
  return 0;
}

std::shared_ptr<JobSpec> spec_of_component(const SubmitJob& command, uint32_t offset) {
  auto spec = std::make_shared<JobSpec>(offset == 0 ? command.job : command.components[offset - 1]);
  if (command.who.uid != 0 || command.job.uid == 0) {  // root may submit for others
    spec->uid = command.who.uid;
    spec->gid = command.who.gid;
  }
  if (offset == 0) {
    spec->time_limit = first_time_limit(command);
    return spec;
  }
  spec->request_id = 0;  // it is the first one that a repeated request finds
  spec->batch = command.job.batch;
  spec->script_blob = command.job.script_blob;
  spec->environment_blob = command.job.environment_blob;
  return spec;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const SubmitJob& command, Time now) {
  SubmissionCourse course;
  return decide_submission(state, command, now, course);
}

// All components of a heterogeneous job, or none: one frame of the journal.
Result<Decision> decide_submission(const ClusterState& state, const SubmitJob& command, Time now,
                                   SubmissionCourse& course) {
  const auto size = static_cast<uint32_t>(command.components.size() + 1);
  const std::shared_ptr<JobSpec> leader = spec_of_component(command, 0);
  if (const JobId known = find_request(state, leader->uid, leader->request_id); known != kNoJob) {
    return Decision{{}, JobSubmittedReply{known, {}}, {}};
  }
  std::optional<UserGroupsFound> groups = new_groups(state, leader->uid, command.groups);
  if (size == 1) {
    const auto id = free_job_id(state, state.next_job_id);
    if (!id) return failure(ErrorCode::kTooManyJobs);
    auto event = submit_one(state, command, leader, {*id, nullptr}, now, course);
    if (!event) return tl::unexpected(event.error());
    Decision decision;
    decision.reply = JobSubmittedReply{*id, {}};
    if (groups) decision.events.emplace_back(std::move(*groups));
    decision.events.emplace_back(std::move(*event));
    return decision;
  }
  if (size > kMostHetComponents) {
    return failure(
        ErrorCode::kTooManyJobs,
        fmt::format("a heterogeneous job has {} components at most", kMostHetComponents));
  }
  const auto first = free_job_ids(state, size);
  if (!first) return failure(ErrorCode::kTooManyJobs);
  Draft draft(state);
  if (groups) draft.emit(std::move(*groups));
  for (uint32_t offset = 0; offset < size; ++offset) {
    auto spec = offset == 0 ? leader : spec_of_component(command, offset);
    if (!spec->array.empty()) return failure(ErrorCode::kInvalidArray);
    Place place{*first + offset, std::make_shared<HetInfo>(HetInfo{*first, offset, size})};
    auto event = submit_one(draft.state(), command, spec, std::move(place), now, course);
    if (!event) return tl::unexpected(event.error());
    draft.emit(std::move(*event));
  }
  std::vector<const Job*> components;
  for (uint32_t offset = 0; offset < size; ++offset)
    components.push_back(draft.state().jobs.find(*first + offset));
  if (Status ok = check_component_limits(draft.state(), components, now); !ok)
    return tl::unexpected(ok.error());
  return draft.take(JobSubmittedReply{*first, {}});
}

}  // namespace sluice::state
