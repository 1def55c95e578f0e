// See job_values.hpp.
#include "common/format/job_values.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "common/base/bounded.hpp"
#include "common/base/time_text.hpp"
#include "common/model/component_name.hpp"
#include "common/model/job_age.hpp"
#include "common/syntax/file_pattern.hpp"
#include "common/format/gathered_tasks.hpp"
#include "common/names/job_states.hpp"

namespace sluice {
namespace {

bool failed(const Job& job) {
  switch (job.state) {
    case JobState::kFailed:
    case JobState::kTimeout:
    case JobState::kNodeFail:
    case JobState::kBootFail:
    case JobState::kDeadline:
    case JobState::kOutOfMemory: return true;
    default: return false;
  }
}

}  // namespace

const JobSpec& JobView::spec() const {
  static const JobSpec nothing;
  return record->job.spec != nullptr ? *record->job.spec : nothing;
}

bool is_pending_array(const JobView& view) {
  const auto& array = view.job().array;
  return array != nullptr && array->task == kNoTask && view.task == kNoTask;
}

bool is_last_task(const JobView& view) {
  const auto& array = view.job().array;
  return is_pending_array(view) && array->pending.size() == 1 &&
         array->task_count > 1 + array->cancelled.size();
}

void append_task_id(const JobView& view, const RenderContext& context, std::string& out) {
  const auto& array = view.job().array;
  if (view.task != kNoTask) out += std::to_string(view.task);
  else if (array == nullptr) out += "N/A";
  else if (array->task != kNoTask) out += std::to_string(array->task);
  else if (view.gathered != nullptr && !view.gathered->records.empty()) {
    out += array_task_text(view.gathered->tasks, 0, context.bitstr_len);
  } else if (is_last_task(view)) {
    out += std::to_string(array->pending.front());
  } else out += array_task_text(array->pending, array->max_running, context.bitstr_len);
}

void append_job_id(const JobView& view, const RenderContext& context, std::string& out) {
  const auto& array = view.job().array;
  if (const auto& het = view.job().het; het != nullptr) {
    out += component_name(*het);
    return;
  }
  if (array == nullptr) {
    out += std::to_string(view.job().id);
    return;
  }
  out += std::to_string(array->array_job);
  const bool folded = is_pending_array(view) && !is_last_task(view);
  out += folded ? "_[" : "_";
  append_task_id(view, context, out);
  if (folded) out += ']';
}

std::string het_id_set(const HetInfo& het) {
  if (het.size < 2) return std::to_string(het.leader);
  return std::to_string(het.leader) + '-' + std::to_string(het.leader + het.size - 1);
}

JobId array_job_id(const JobView& view) {
  const ArrayInfo* array = view.job().array.get();
  return array != nullptr ? array->array_job : view.job().id;
}

std::optional<IndexSet> tasks_asked_for(const std::vector<std::string>& ids, const JobView& view) {
  const auto& array = view.job().array;
  std::optional<IndexSet> out;
  for (const std::string& id : ids) {
    const size_t mark = id.find('_');
    if (to_number<JobId>(std::string_view(id).substr(0, mark)) != array->array_job) continue;
    if (mark == std::string::npos) return std::nullopt;
    const auto tasks = IndexSet::parse_tasks(std::string_view(id).substr(mark + 1));
    if (!tasks) return std::nullopt;
    if (!out) out.emplace();
    out->insert(*tasks);
  }
  return out;
}

JobReason effective_reason(const JobView& view) {
  const Job& job = view.job();
  if (is_cleaning(job)) return JobReason::kCleaning;
  if (job.reason != JobReason::kNone) return job.reason;
  if (job.state == JobState::kPending) return view.record->soft.reason;
  switch (job.hold) {  // of one that runs, or ran: it counts when the job is queued again
    case HoldKind::kAdmin: return JobReason::kJobHeldAdmin;
    case HoldKind::kUser: return JobReason::kJobHeldUser;
    default: return JobReason::kNone;
  }
}

namespace {

std::string own_reason(const JobView& view) {
  const Job& job = view.job();
  if (!job.state_description.empty() && !is_cleaning(job)) return job.state_description.str();
  const bool waits = job.state == JobState::kPending && job.reason == JobReason::kNone;
  if (waits && !view.record->soft.reason_detail.empty())
    return view.record->soft.reason_detail.str();
  const JobReason reason = effective_reason(view);
  std::string out(reason_text(reason));
  if (reason == JobReason::kRaisedSignal && WIFSIGNALED(job.exit_status)) {
    const int number = WTERMSIG(job.exit_status);
    const char* name = sigdescr_np(number);
    out.append(":").append(std::to_string(number));
    out.append("(").append(name != nullptr ? name : "Unknown").append(")");
  }
  return out;
}

}  // namespace

std::string reason_with_detail(const JobView& view) {
  std::string out = own_reason(view);
  if (view.gathered == nullptr) return out;
  std::vector<std::string> seen{out};
  for (const protocol::JobRecord* record : view.gathered->records) {
    std::string reason = own_reason({record, kNoTask, {}});
    if (std::find(seen.begin(), seen.end(), reason) == seen.end())
      seen.push_back(std::move(reason));
  }
  return join(seen, ",");
}

void append_reason_or_nodes(const JobView& view, std::string& out) {
  const Job& job = view.job();
  const bool completing = is_completing(job);
  if (!completing && (job.state == JobState::kPending || failed(job))) {
    out.append("(").append(reason_with_detail(view)).append(")");
  } else {
    out += allocated_nodes(view);
  }
}

std::string_view shown_partition(const JobView& view) {
  if (!view.partition.empty()) return view.partition;
  const bool waits = view.job().state == JobState::kPending;
  if (waits && !view.spec().partitions.empty()) return view.spec().partitions.view();
  return view.job().partition.view();
}

std::string_view allocated_nodes(const JobView& view) {
  const auto& allocation = view.job().allocation;
  return allocation != nullptr ? std::string_view(allocation->node_list) : std::string_view();
}

uint32_t num_nodes(const JobView& view) {
  const auto& allocation = view.job().allocation;
  if (allocation != nullptr) return static_cast<uint32_t>(allocation->nodes.size());
  return std::max(view.spec().min_nodes, 1U);
}

uint32_t num_tasks(const JobView& view) {
  const JobSpec& spec = view.spec();
  if (spec.num_tasks != 0) return spec.num_tasks;
  return num_nodes(view) * std::max(spec.ntasks_per_node, 1U);
}

bool has_task_count(const JobView& view) {
  const bool never_ran = is_terminal(view.job().state) && view.job().allocation == nullptr;
  return !never_ran || view.spec().num_tasks != 0;
}

uint32_t num_cpus(const JobView& view) {
  const auto& allocation = view.job().allocation;
  if (allocation != nullptr) return allocation->cpus;
  const JobSpec& spec = view.spec();
  // NumCPUs= of an update, though the tasks may want more
  if (spec.min_cpus != 0) return spec.min_cpus;
  if (spec.overcommit) return num_nodes(view);
  return std::max(num_tasks(view) * std::max(spec.cpus_per_task, 1U), num_nodes(view));
}

Duration switch_wait(const JobSpec& spec) {
  const std::string_view text = spec.switches;
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return Duration(0);
  return parse_span(text.substr(at + 1), std::chrono::minutes(1)).value_or(Duration::max());
}

uint32_t min_cpus_per_node(const JobSpec& spec) {
  const uint32_t tasks = spec.overcommit ? 1 : std::max(spec.ntasks_per_node, 1U);
  return std::max(spec.min_cpus_per_node, bounded_product(std::max(spec.cpus_per_task, 1U), tasks));
}

JobMemory job_memory(const JobView& view) {
  const JobSpec& spec = view.spec();
  switch (spec.memory_kind) {
    case MemoryKind::kPerNode: return {spec.memory_mib, false};
    case MemoryKind::kPerCpu: return {spec.memory_mib, true};
    default: break;
  }
  return {view.record->default_memory_mib, view.record->default_memory_kind == MemoryKind::kPerCpu};
}

Time job_eligible(const JobView& view) {
  const Job& job = view.job();
  const bool waits = job.state == JobState::kPending && job.eligible == kNoTime;
  return waits && view.spec().begin > job.submit ? view.spec().begin : job.eligible;
}

Time job_accrue(const JobView& view) {
  const Job& job = view.job();
  const bool again = job.state == JobState::kPending && job.restart_count > 0;
  return again && comes_later(job) ? job.eligible : job.accrue;
}

Time job_start(const JobView& view) {
  const Job& job = view.job();
  if (job.state != JobState::kPending || job.start != kNoTime) return job.start;
  if (view.record->soft.expected_start != kNoTime) return view.record->soft.expected_start;
  // one that was queued again has a delay of its own
  const Time begin =
      comes_later(job) ? std::max(view.spec().begin, job.eligible) : view.spec().begin;
  return begin > job.submit ? begin : kNoTime;
}

Time job_end(const JobView& view) {
  const Job& job = view.job();
  if (job.state != JobState::kPending) return job.end;
  const Time start = job_start(view);
  if (start == kNoTime || job.time_limit == 0 || job.time_limit == kInfiniteMinutes) return kNoTime;
  return start + std::chrono::minutes(job.time_limit);
}

Duration run_time(const JobView& view, Time now) {
  const Job& job = view.job();
  if (job.state == JobState::kPending || job.start == kNoTime) return Duration(0);
  if (job.state == JobState::kSuspended) return job.before_suspend;
  const bool over = is_terminal(job.state);
  const Time from = job.suspended_at != kNoTime ? job.suspended_at : job.start;
  const Time to = over && job.end != kNoTime ? job.end : now;
  return std::max(Duration(0), to - from + job.before_suspend);
}

uint32_t job_priority(const JobView& view) {
  const Job& job = view.job();
  const bool by_admin =
      job.state == JobState::kSuspended && !job.suspended_for_others && !job.time_sliced;
  if (job.hold != HoldKind::kNone || by_admin) return 0;
  if (view.record->soft.priority == 0 && view.spec().priority != UINT32_MAX) {
    return view.spec().priority;
  }
  return view.record->soft.priority;
}

std::string exit_code_text(int32_t status) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return std::to_string(code) + ":" + std::to_string(signal);
}

std::string standard_path(const JobView& view, StandardFile file) {
  const JobSpec& spec = view.spec();
  if (!spec.batch) return {};
  std::string_view pattern;
  switch (file) {
    case StandardFile::kIn: pattern = or_else(spec.std_in, "/dev/null"); break;
    case StandardFile::kErr: pattern = spec.std_err; break;
    case StandardFile::kOut:
      pattern = or_else(spec.std_out, default_output_pattern(view.job().array != nullptr));
  }
  if (pattern.empty()) return {};
  PatternFields fields;
  fields.step = {view.job().id, kBatchStep};
  fields.array = view.job().array;
  if (view.task != kNoTask) {  // one that still waits in its array's record
    auto of_task = std::make_shared<ArrayInfo>(*fields.array);
    of_task->task = view.task;
    fields.array = std::move(of_task);
  }
  fields.job_name = spec.name;
  fields.user_name = spec.user_name;
  fields.host = view.record->batch_host;
  return absolute_path(expand_file_pattern(pattern, fields), spec.work_dir);
}

std::string_view or_else(std::string_view text, std::string_view nothing) {
  return text.empty() ? nothing : text;
}

std::string_view oversubscribe_text(Sharing sharing) {
  switch (sharing) {
    case Sharing::kOversubscribe: return "YES";
    case Sharing::kUser: return "USER";
    case Sharing::kMcs: return "MCS";
    case Sharing::kTopo: return "TOPO";
    default: return "NO";
  }
}

std::string_view oversubscribe_text(const JobView& view) {
  if (view.record->alone_by_force) return "NO";
  return view.record->shares_by_force ? "YES" : oversubscribe_text(view.spec().sharing);
}

std::string_view exclusive_text(Sharing sharing) {
  switch (sharing) {
    case Sharing::kExclusive: return "NODE";
    case Sharing::kUser: return "USER";
    case Sharing::kMcs: return "MCS";
    case Sharing::kTopo: return "TOPO";
    default: return "NO";
  }
}

}  // namespace sluice
