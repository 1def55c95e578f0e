// scontrol update JobId=…
#include <algorithm>
#include <optional>
#include <tuple>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/job_age.hpp"
#include "common/model/job_update.hpp"
#include "common/names/errors.hpp"
#include "common/syntax/gpu_frequency.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/age.hpp"
#include "ctld/state/decide/job/held_licenses.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/resize.hpp"
#include "ctld/state/decide/job/size_checks.hpp"
#include "ctld/state/decide/job/submit_plugins.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/job/update_limits.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/dependency.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::state {
namespace {

template <class Given, class Field>
bool set_field(const std::optional<Given>& given, Field& field) {
  if (!given) return false;
  field = *given;
  return true;
}

// "2@00:05:00": the time behind the number of switches.
void set_switch_wait(uint32_t seconds, JobSpec& spec) {
  const std::string_view text = spec.switches;
  if (text.empty()) return;  // nothing that it would wait for
  spec.switches = std::string(text.substr(0, text.find('@'))) + "@" +
                  format_span(std::chrono::seconds(seconds));
}

// What may change at any time.
void set_notes(const JobUpdate& u, JobSpec& spec) {
  set_field(u.comment, spec.comment);
  set_field(u.admin_comment, spec.admin_comment);
  set_field(u.extra, spec.extra);
  set_field(u.name, spec.name);
  set_field(u.mail_type, spec.mail_type);
  set_field(u.mail_user, spec.mail_user);
  set_field(u.qos, spec.qos);
  set_field(u.reservation, spec.reservation);
  set_field(u.tres_freq, spec.tres_freq);  // for steps to come
  set_field(u.licenses, spec.licenses);
  set_field(u.time_min, spec.time_min);
  set_field(u.delay_boot_seconds, spec.delay_boot_seconds);
  set_field(u.switches, spec.switches);
  if (u.wait_for_switch_seconds) set_switch_wait(*u.wait_for_switch_seconds, spec);
  if (u.requeue) spec.requeue = *u.requeue ? Toggle::kYes : Toggle::kNo;
  // of a job that was given its priority it would say nothing, and stays as it is, as in Slurm
  if (spec.priority == UINT32_MAX) set_field(u.nice, spec.nice);
  set_field(u.site_factor, spec.site_factor);
  // 0 is a hold: set_hold()
  if (u.priority) spec.priority = *u.priority == 0 ? UINT32_MAX : *u.priority;
  if (spec.priority != UINT32_MAX && u.priority) spec.nice = 0;
}

// --core-spec or --thread-spec, and the whole nodes that either is about.
bool set_system_share(const JobUpdate& u, JobSpec& spec) {
  if (!u.core_spec && !u.thread_spec) return false;
  spec.core_spec = u.core_spec.value_or(UINT32_MAX);
  spec.thread_spec = u.core_spec ? UINT32_MAX : *u.thread_spec;
  spec.sharing = Sharing::kExclusive;
  return true;
}

// What may change only while the job waits; true when something of it was asked for.
bool set_waiting_fields(const JobUpdate& u, JobSpec& spec) {
  bool any = false;
  any |= set_field(u.account, spec.account);
  any |= set_field(u.wckey, spec.wckey);
  any |= set_field(u.partitions, spec.partitions);
  any |= set_field(u.required_nodes, spec.required_nodes);
  any |= set_field(u.excluded_nodes, spec.excluded_nodes);
  any |= set_field(u.constraint, spec.constraint);
  any |= set_field(u.std_out, spec.std_out);
  any |= set_field(u.std_err, spec.std_err);
  any |= set_field(u.std_in, spec.std_in);
  any |= set_field(u.work_dir, spec.work_dir);
  any |= set_field(u.gres, spec.gres);
  any |= set_field(u.tres_per_job, spec.tres_per_job);
  any |= set_field(u.tres_per_socket, spec.tres_per_socket);
  any |= set_field(u.tres_per_task, spec.tres_per_task);
  any |= set_field(u.cpus_per_gpu, spec.cpus_per_gpu);
  any |= set_field(u.tres_bind, spec.tres_bind);
  any |= set_field(u.cluster_features, spec.cluster_constraint);
  any |= set_field(u.begin, spec.begin);
  any |= set_field(u.num_tasks, spec.num_tasks);
  any |= set_field(u.cpus_per_task, spec.cpus_per_task);
  any |= set_field(u.min_cpus, spec.min_cpus);
  any |= set_field(u.max_cpus, spec.max_cpus);
  any |= set_field(u.min_cpus_per_node, spec.min_cpus_per_node);
  any |= set_field(u.prefer, spec.prefer);
  any |= set_field(u.sockets_per_node, spec.sockets_per_node);
  any |= set_field(u.cores_per_socket, spec.cores_per_socket);
  any |= set_field(u.threads_per_core, spec.threads_per_core);
  any |= set_field(u.ntasks_per_node, spec.ntasks_per_node);
  any |= set_system_share(u, spec);
  any |= set_field(u.reboot, spec.reboot);
  any |= set_field(u.tmp_disk_mib, spec.tmp_disk_mib);
  any |= set_field(u.contiguous, spec.contiguous);
  any |= set_field(u.sharing, spec.sharing);
  any |= set_field(u.min_nodes, spec.min_nodes);
  any |= set_field(u.max_nodes, spec.max_nodes);  // one number leaves it as it is
  if (u.memory_per_gpu_mib) {
    spec.memory_kind = MemoryKind::kPerGpu;
    spec.memory_mib = *u.memory_per_gpu_mib;
    any = true;
  } else if (u.memory_per_node_mib || u.memory_per_cpu_mib) {
    spec.memory_kind = u.memory_per_node_mib ? MemoryKind::kPerNode : MemoryKind::kPerCpu;
    spec.memory_mib = u.memory_per_node_mib ? *u.memory_per_node_mib : *u.memory_per_cpu_mib;
    ask_for_all_memory(spec);
    any = true;
  }
  return any;
}

// TimeLimit=0 is no time at all, where --time=0 is no limit: the job has, and shows, the least
// limit there is.
Minutes asked_limit(Minutes given) { return std::max<Minutes>(given, 1); }

// More time than a user may give his own job: a running one gets none, a waiting one what a
// partition of it allows.
bool raises_limit(const ClusterState& state, const Job& job, const JobUpdate& u) {
  if (u.end && is_running(job) && *u.end > job.end) return true;
  if (!u.time_limit || asked_limit(*u.time_limit) <= job.time_limit) return false;
  if (job.state != JobState::kPending) return is_running(job);
  const std::vector<std::string> names =
      u.partitions ? split_list(*u.partitions) : partitions_of(state, job);
  return std::ranges::none_of(names, [&](const std::string& name) {
    const Partition* partition = find_partition(state, name);
    // one that is not there is refused as such
    return partition == nullptr || asked_limit(*u.time_limit) <= partition->config->max_time;
  });
}

bool gives_priority(const JobUpdate& u) { return u.priority && *u.priority != 0; }

// 0: it is not known.
uint32_t present_priority(const Job& job, const std::vector<JobRank>& ranks) {
  if (job.spec->priority != UINT32_MAX) return job.spec->priority;
  if (job.state != JobState::kPending) return job.priority;
  auto rank = std::ranges::find(ranks, job.id, &JobRank::job);
  // a task that got a record just now
  if (rank == ranks.end() && job.array != nullptr)
    rank = std::ranges::find(ranks, job.array->array_job, &JobRank::job);
  return rank == ranks.end() ? 0 : rank->priority;
}

Status check_rights(const ClusterState& state, const Job& job, const UpdateJob& command) {
  if (!is_owner_or_admin(state, job, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  const JobUpdate& u = command.update;
  // where its user's programs run, and what they read and write as that user: %x in a path is the
  // job's name
  const bool renames = u.name && *u.name != job.spec->name;
  const bool of_owner = u.work_dir || u.std_in || u.std_out || u.std_err || renames;
  if (of_owner && !may_act_as_owner(state, job, command.who.uid))
    return failure(ErrorCode::kAccessDenied);
  const bool share = command.update.core_spec || command.update.thread_spec;
  if (share && !state.config->allow_spec_resources_usage) return failure(ErrorCode::kAccessDenied);
  if (is_operator(state, command.who.uid)) return {};
  // a running job may give its licenses up, and takes none: no limit is asked then
  if (is_running(job) && u.licenses && !u.licenses->empty())
    return failure(ErrorCode::kJobNotPending);
  if (u.priority && *u.priority != 0 && job.hold != HoldKind::kNone)
    return failure(ErrorCode::kJobHeld);
  // what its user took from the job he may give back; only below 0 it goes before those of others
  const bool nice = u.nice && *u.nice < 0 && *u.nice != job.spec->nice;
  const bool raises =
      nice || u.admin_comment || u.reboot || u.site_factor || u.sharing || u.contiguous;
  if (raises || (gives_priority(u) && *u.priority >= present_priority(job, command.ranks)))
    return failure(ErrorCode::kAccessDenied);
  if (raises_limit(state, job, u)) return failure(ErrorCode::kAccessDenied);
  return {};
}

void set_time_limit(const JobUpdate& u, Time now, Job& job, JobSpec& spec) {
  if (u.end && is_running(job)) {  // EndTime: the limit follows from it, in whole minutes
    job.end = std::max(*u.end, now);
    const Duration run = job.end - job.start - time_suspended(job);
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(run).count();
    spec.time_limit = job.time_limit =
        static_cast<Minutes>(std::clamp<int64_t>(minutes, 1, kInfiniteMinutes - 1));
    return;
  }
  if (!u.time_limit) return;
  const Minutes limit = asked_limit(*u.time_limit);
  spec.time_limit = job.time_limit = limit;
  if (!is_running(job)) return;
  // while the job is stopped its time stands still: it goes on from there
  const Time present = job.state == JobState::kSuspended ? job.suspended_at : now;
  const Time end = job.start + time_suspended(job) + std::chrono::minutes(*u.time_limit);
  job.end = limit == kInfiniteMinutes ? kNever : std::max(end, present);
}

bool waits_for_others(const Job& job) {
  return job.state == JobState::kPending && (job.reason == JobReason::kDependency ||
                                             job.reason == JobReason::kDependencyNeverSatisfied);
}

// What a new dependency comes to, worked out once for all the records that get it.
class NewDependency {
 public:
  Status set(const ClusterState& state, const JobUpdate& u, Time now, Job& job, JobSpec& spec) {
    if (!u.dependency) return {};
    if (job.state != JobState::kPending) return failure(ErrorCode::kJobNotPending);
    if (!parsed_) parsed_ = parse_dependency(*u.dependency);
    if (!*parsed_) return tl::unexpected(parsed_->error());
    const Dependency& dependency = **parsed_;
    if (waits_for_itself(state, dependency, job)) return failure(ErrorCode::kInvalidDependency);
    if (!reach_) reach_.emplace(state, dependency);
    if (reach_->contains(job)) return failure(ErrorCode::kError, "Circular job dependency");
    if (text_.empty()) text_ = *u.dependency;
    spec.dependency = text_;
    DependencyResult result = evaluate_dependency(state, job, dependency, now, notes_);
    if (!(result.left == left_)) {
      left_ = std::move(result.left);
      left_text_ = left_.items.empty() ? SharedText() : SharedText(format_dependency(left_));
    }
    job.dependency = left_text_;
    return {};
  }

 private:
  // By what it says of itself, or of its array; that others wait for it is another error.
  bool waits_for_itself(const ClusterState& state, const Dependency& dependency, const Job& job) {
    const JobId whole = job.array == nullptr ? job.id : job.array->array_job;
    Dependency own;
    for (const DependencyItem& item : dependency.items) {
      if (item.kind == DependencyKind::kSingleton) continue;
      if (item.job == job.id && item.tasks.empty()) return true;
      if (item.job == whole) own.items.push_back(item);
    }
    if (own.items.empty()) return false;
    if (own_of_ != whole) own_.emplace(state, own);
    own_of_ = whole;
    return own_->contains(job);
  }

  std::optional<Result<Dependency>> parsed_;
  std::optional<DependencyReach> reach_, own_;  // of all, and of what names the job itself
  JobId own_of_ = kNoJob;
  DependencyNotes notes_;
  SharedText text_;
  Dependency left_;
  SharedText left_text_;
};

// Fields that may not have just any value, whenever they are changed.
Status check_values(const ClusterState& state, const Job& job, const JobUpdate& u,
                    const JobSpec& spec, Time now, HeldLicenses& licenses) {
  const bool held = job.hold != HoldKind::kNone && !(u.hold && !*u.hold);
  if (held && u.priority && *u.priority != 0) return failure(ErrorCode::kJobHeld);
  if (u.partitions && u.partitions->empty()) return failure(ErrorCode::kInvalidPartition);
  if (u.tres_freq && !u.tres_freq->empty() &&
      !parse_gpu_frequency(gpu_frequency_in(*u.tres_freq))) {
    return failure(ErrorCode::kInvalidTres);
  }
  if (Status ok = check_texts(spec, *job.spec); !ok) return ok;
  if (Status ok = check_heavy_text(state, spec, job.spec.get()); !ok) return ok;
  if (Status ok = check_update_plugins(*state.config, job, u); !ok) return ok;
  const Minutes limit = u.time_limit ? asked_limit(*u.time_limit) : job.time_limit;
  if ((u.time_min || u.time_limit) && limit != 0 && spec.time_min > limit) {
    return failure(ErrorCode::kInvalidTimeMin);
  }
  if (u.reservation || spec.licenses != job.spec->licenses || u.licenses || u.gres ||
      u.tres_per_job || u.tres_per_socket || u.tres_per_task) {
    if (Status ok = check_extras(state, spec); !ok) return ok;
  }
  if (u.licenses && holds_licenses(job)) return licenses.check(state, job, spec, now);
  return {};
}

// Values that end a job at once, or that it cannot have as it is.
Status check_times_and_counts(const Job& job, const JobUpdate& u, Time now) {
  const bool pending = job.state == JobState::kPending;
  if (u.end && pending) return failure(ErrorCode::kJobNotRunning);
  // EndTime=now has a second to get here
  if (u.end && to_seconds(*u.end) < to_seconds(now) - 1) return failure(ErrorCode::kInvalidTime);
  if (u.reset_accrue && !pending) return failure(ErrorCode::kJobNotPending);
  if (pending && u.deadline && *u.deadline != kNoTime && *u.deadline < now)
    return failure(ErrorCode::kInvalidTime);
  if (pending && u.min_nodes && *u.min_nodes == 0) return failure(ErrorCode::kTooManyNodes);
  if (u.num_tasks && *u.num_tasks == 0) return failure(ErrorCode::kInvalidTaskCount);
  return {};
}

// The partitions that the job would wait in. Where it waits already it got in once: what was closed
// since then does not start it, and is no reason to refuse another change.
Result<std::vector<const Partition*>> partitions_after(const ClusterState& state, const Job& job,
                                                       const JobSpec& spec,
                                                       const UpdateJob& command) {
  if (spec.partitions == job.spec->partitions) return find_partitions(state, spec);
  return check_partitions(state, spec,
                          {spec.uid, command.owner_groups, is_admin(state, command.who.uid)});
}

bool is_refused(const Status& status, ErrorCode code) {
  return !status && status.error().code == code;
}

// What was queued held although nothing could serve it may be changed; what fits is not made too
// large.
Status check_changed_size(const ClusterState& state, const Job& job, const JobSpec& spec,
                          const std::vector<const Partition*>& partitions, SizeChecks& sizes) {
  // as in Slurm: a disk that no node has makes the job wait (BadConstraints)
  std::optional<JobSpec> any_disk;
  if (spec.tmp_disk_mib > 0) any_disk.emplace(spec).tmp_disk_mib = 0;
  const JobSpec& wanted = any_disk ? *any_disk : spec;
  Status fits = sizes.size(state, wanted, partitions, false);
  if (fits || job.hold == HoldKind::kNone || is_refused(fits, ErrorCode::kBadRequest)) return fits;
  const Status before = sizes.size(state, *job.spec, partitions, false);
  if (is_refused(before, ErrorCode::kBadRequest)) return before;
  return before ? fits : sizes.size(state, wanted, partitions, true);
}

// Whether the job still fits the cluster as it would be afterwards.
Status check_changed(const ClusterState& state, const Job& job, const JobSpec& spec,
                     const UpdateJob& command, SizeChecks& sizes) {
  const auto partitions = partitions_after(state, job, spec, command);
  if (!partitions) return failure(partitions.error().code);
  if (Status ok = check_changed_size(state, job, spec, *partitions, sizes); !ok) {
    // which are nothing but their text
    const bool of_text =
        is_refused(ok, ErrorCode::kError) || is_refused(ok, ErrorCode::kBadRequest);
    return of_text ? ok : failure(ok.error().code);
  }
  if (command.update.min_cpus && spec.max_cpus != 0 && spec.min_cpus > spec.max_cpus) {
    return failure(ErrorCode::kError, "CPU count specification invalid");
  }
  if (spec.min_nodes > state.node_names->size()) return failure(ErrorCode::kTooManyNodes);
  size_t large_enough = 0;
  for (const Partition* partition : *partitions) {
    const bool fits = spec.min_nodes <= partition->nodes.count() &&
                      allows_node_count(*partition->config, spec) &&
                      spec.min_cpus <= partition->total_cpus;
    large_enough += fits ? 1 : 0;
  }
  const bool more = spec.min_nodes > job.spec->min_nodes || spec.min_cpus > job.spec->min_cpus;
  if (more && large_enough == 0) return failure(ErrorCode::kPartitionNotNow);
  return {};
}

Status set_hold(Draft& draft, JobId id, const UpdateJob& command, Time now) {
  const JobUpdate& u = command.update;
  const bool to_zero = u.priority && *u.priority == 0;
  const Job& job = draft.job(id);
  if (to_zero || u.hold.value_or(false)) {
    const bool admin = is_operator(draft.state(), command.who.uid);
    if (job.hold == HoldKind::kAdmin) return {};
    draft.emit(JobHeld{.job = id,
                       .hold = admin ? HoldKind::kAdmin : HoldKind::kUser,
                       .reason = admin ? JobReason::kJobHeldAdmin : JobReason::kJobHeldUser,
                       .time = now,
                       .eligible = delay_of_held(job, now)});
  } else if (u.hold && job.hold != HoldKind::kNone) {
    if (job.hold == HoldKind::kAdmin && !is_operator(draft.state(), command.who.uid)) {
      return failure(ErrorCode::kAccessDenied);
    }
    if (Status ok = check_release(draft.state(), *job.spec); !ok) return ok;
    draft.emit(JobReleased{.job = id, .time = now});
  }
  return {};
}

Status set_array(const JobUpdate& u, bool whole_array, Job& job) {
  if (!u.array_max_running) return {};
  if (job.array == nullptr) return failure(ErrorCode::kInvalidArray);
  // it is the array's, and stays as it is when one of its tasks is updated
  if (!whole_array) return {};
  auto array = std::make_shared<ArrayInfo>(*job.array);
  array->max_running = *u.array_max_running;
  job.array = std::move(array);
  return {};
}

// Of a job that runs: its least time says nothing any more, and where it runs it may be told to
// run. As in Slurm that is no error.
JobUpdate relevant_changes(const Job& job, JobUpdate u) {
  if (!is_running(job)) return u;
  u.time_min.reset();
  if (u.partitions && *u.partitions == job.partition.view()) u.partitions.reset();
  return u;
}

// A lower priority that a user gives his own job. It lasts where nothing works it out again; Slurm
// tells him otherwise in any case, and does all else that was asked.
class LoweredPriorities {
 public:
  void lower(const ClusterState& state, const Job& job, const UpdateJob& command, JobUpdate& u) {
    if (!gives_priority(u) || is_operator(state, command.who.uid)) return;
    const bool lasts = job.spec->priority != UINT32_MAX || job.state != JobState::kPending ||
                       iequals(state.config->priority_type, "priority/basic");
    if (!lasts) u.priority.reset();
    any_ = true;
    if (job.array == nullptr) return;
    array_ = job.array->array_job;
    if (job.array->task == kNoTask) tasks_.insert(job.array->pending);
    else tasks_.insert(IndexSet(job.array->task, job.array->task));
  }
  // Slurm's line about it; nothing when there was none.
  [[nodiscard]] std::optional<std::string> line(std::string_view target) const {
    constexpr uint32_t kNotPersistent = 2095;
    if (!any_) return std::nullopt;
    const std::string text = error_number_text(kNotPersistent);
    if (array_ == kNoJob) return text + " for job " + std::string(target);
    return std::to_string(array_) + '_' + tasks_.to_text() + ": " + text;
  }

 private:
  bool any_ = false;
  JobId array_ = kNoJob;
  IndexSet tasks_;
};

// scontrol top gives one of a user's jobs what it takes from his others, by a negative nice value.
// That is of the job as it was then: once its user makes it another one, as far as its priority
// goes, it would come before jobs of other users with it.
void drop_top(const ClusterState& state, const Job& job, uint32_t by, JobSpec& spec) {
  if (spec.nice >= 0 || is_operator(state, by) ||
      !has_option(state.config->scheduler_parameters, "enable_user_top"))
    return;
  const auto standing = [](const JobSpec& s) {
    return std::tie(s.account, s.qos, s.partitions, s.num_tasks, s.cpus_per_task, s.min_cpus,
                    s.max_cpus, s.min_cpus_per_node, s.ntasks_per_node, s.min_nodes, s.max_nodes,
                    s.threads_per_core, s.cores_per_socket, s.sockets_per_node, s.core_spec,
                    s.thread_spec, s.sharing, s.memory_kind, s.memory_mib, s.gres, s.tres_per_job,
                    s.tres_per_socket, s.tres_per_task, s.cpus_per_gpu, s.licenses, s.time_limit);
  };
  if (standing(spec) != standing(*job.spec)) spec.nice = 0;
}

// What an update keeps from one of its records to the next.
struct UpdateCourse {
  NewDependency dependency;
  LoweredPriorities lowered;
  SizeChecks sizes;
  HeldLicenses licenses;
};

Status update_job(Draft& draft, JobId id, const UpdateJob& command, Time now,
                  UpdateCourse& course) {
  const ClusterState& state = draft.state();
  if (Status ok = check_rights(state, draft.job(id), command); !ok) return ok;
  JobUpdate u = relevant_changes(draft.job(id), command.update);
  course.lowered.lower(state, draft.job(id), command, u);
  if (is_resize(draft.job(id), u)) {
    if (Status ok = shrink_job(draft, id, u, now); !ok) return ok;
    u.min_nodes = u.max_nodes = std::nullopt;
    u.required_nodes = std::nullopt;
  }
  Job job = draft.job(id);
  if (is_terminal(job.state)) return failure(ErrorCode::kJobFinished);
  if (!job.spec->cron.empty())
    return failure(ErrorCode::kDisabled, "Cannot modify scrontab jobs through scontrol");
  JobSpec spec = *job.spec;
  if (Status ok = check_times_and_counts(job, u, now); !ok) return ok;
  set_notes(u, spec);
  if (u.switches || u.wait_for_switch_seconds) bound_switch_wait(*state.config, spec);
  if (set_waiting_fields(u, spec)) {
    if (job.state != JobState::kPending) return failure(ErrorCode::kJobNotPending);
    if (!u.licenses)
      spec.licenses =
          follow_tasks(spec.licenses, licenses_of_tasks(*job.spec), licenses_of_tasks(spec));
    if (Status ok = check_changed(state, job, spec, command, course.sizes); !ok) return ok;
  }
  const auto account = changed_account(state, job, u, command.who.uid, spec);
  if (!account) return tl::unexpected(account.error());
  if (Status ok = check_values(state, job, u, spec, now, course.licenses); !ok) return ok;
  if (Status ok = course.dependency.set(state, u, now, job, spec); !ok) return ok;
  if (u.partitions && u.partitions->find(',') == std::string::npos) job.partition = *u.partitions;
  set_time_limit(u, now, job, spec);
  job.admin_set = admin_set_after(state, job, u, command.who.uid);
  const Minutes asked = spec.time_limit;
  if (Status ok = check_move(state, job, account->get(), command.who.uid, spec, now); !ok)
    return ok;
  if (spec.time_limit != asked) job.time_limit = spec.time_limit;  // MaxWall of where it goes
  const bool whole_array = command.target.find('_') == std::string::npos;
  if (Status ok = set_array(u, whole_array, job); !ok) return ok;
  if (job.state == JobState::kPending) {
    if (u.deadline && !is_operator(state, command.who.uid))
      return failure(ErrorCode::kAccessDenied);
    // that of a job that runs stays, and nothing is said, as in Slurm
    set_field(u.deadline, spec.deadline);
    if (u.begin) job.eligible = *u.begin > now ? *u.begin : kNoTime;
    // it has to become eligible again when it now waits for something
    if (!job.dependency.empty() || (u.begin && *u.begin > now)) {
      job.accrue = kNoTime;
    } else if (u.reset_accrue && job.accrue != kNoTime) {
      job.accrue = now;  // since when it has been eligible stays known
    }
    if (!job.dependency.empty()) job.eligible = kNoTime;
    else if (job.eligible == kNoTime && spec.begin > now) job.eligible = spec.begin;
  }
  drop_top(state, job, command.who.uid, spec);
  JobUpdated event = with_spec(job, spec, now);
  event.account = *account;
  course.licenses.follow(state, draft.job(id), job, spec);
  draft.emit(std::move(event));
  // one without a begin time becomes eligible, and loses the reason with that
  if (job.dependency.empty() && waits_for_others(draft.job(id)))
    draft.emit(JobDependencyChanged{.job = id, .dependency = {}, .reason = JobReason::kNone});
  if (Status ok = set_hold(draft, id, command, now); !ok) return ok;
  const Job& after = draft.job(id);
  if (after.state == JobState::kPending && comes_later(after) && is_eligible(after, now))
    begin_to_wait(draft, id, now);
  return {};
}

// Each job that is waited for is looked up, shown and kept for each record.
size_t dependency_bytes(std::string_view text) {
  constexpr size_t kOfAnItem = 256;
  return kOfAnItem * static_cast<size_t>(std::ranges::count_if(
                         text, [](char c) { return c == ':' || c == ',' || c == '?'; }));
}

size_t text_bytes(const JobUpdate& update) {
  size_t bytes = update.dependency ? dependency_bytes(*update.dependency) : 0;
  JobUpdate::describe([&](auto&&, auto&&, auto member) {
    using Value = std::remove_cvref_t<decltype(update.*member)>;
    if constexpr (std::is_same_v<Value, std::optional<std::string>>)
      bytes += (update.*member).value_or("").size();
  });
  return bytes;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const UpdateJob& command, Time now) {
  UpdateCourse course;
  const auto change = [&](Draft& draft, JobId id) {
    if (Status ok = update_job(draft, id, command, now, course); !ok) return ok;
    auto groups = new_groups(draft.state(), draft.job(id).spec->uid, command.owner_groups);
    if (groups) draft.emit(std::move(*groups));
    return Status{};
  };
  auto decision = for_each_named(state, command.who, command.target, change, HetReach::kEach,
                                 text_bytes(command.update));
  if (auto line = course.lowered.line(command.target); line && decision)
    std::get<protocol::CountReply>(decision->reply).errors.push_back(std::move(*line));
  return decision;
}

}  // namespace sluice::state
