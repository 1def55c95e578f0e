// See job_show.hpp. Keys and their order are Slurm's.
#include "cli/format/job_show.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"
#include "common/format/show_lines.hpp"

namespace sluice {
namespace {

using Context = RenderContext;

std::string time_text(Time at, const Context& c) { return format_time(at, c.time_form, c.now); }
std::string time_or(Time at, std::string_view nothing, const Context& c) {
  return at == kNoTime ? std::string(nothing) : time_text(at, c);
}
std::string count_or_star(uint32_t count) { return count == 0 ? "*" : std::to_string(count); }
std::string named_id(std::string_view name, uint32_t id) {
  return std::string(name) + "(" + std::to_string(id) + ")";
}

void put_identity(const JobView& v, const Context& c, ShowLines& out) {
  const JobSpec& spec = v.spec();
  const auto& array = v.job().array;
  out.word("JobId", v.job().id);
  if (array != nullptr) {
    std::string tasks;
    append_task_id(v, c, tasks);
    out.word("ArrayJobId", array->array_job).word("ArrayTaskId", tasks);
    if (array->max_running != 0) out.word("ArrayTaskThrottle", array->max_running);
  }
  const auto& het = v.job().het;
  if (het != nullptr) out.word("HetJobId", het->leader).word("HetJobOffset", het->offset);
  out.word("JobName", spec.name);
  if (het != nullptr) out.line().word("HetJobIdSet", het_id_set(*het));
  out.line().word("UserId", named_id(spec.user_name, spec.uid));
  out.word("GroupId", named_id(spec.group_name, spec.gid));
  out.word("MCS_label", or_else(spec.mcs_label, "N/A"));
  out.line().word("Priority", job_priority(v)).word("Nice", std::to_string(spec.nice));
  out.word("Account", or_else(spec.account, "(null)")).word("QOS", or_else(spec.qos, "(null)"));
  if (!spec.wckey.empty()) out.word("WCKey", spec.wckey);
}

void put_state(const JobView& v, bool details, ShowLines& out) {
  std::string reason = reason_with_detail(v);
  std::replace(reason.begin(), reason.end(), ' ', '_');
  const Job& job = v.job();
  out.line().word("JobState", job_state_text(job.state, job.flags)).word("Reason", reason);
  out.word("Dependency", or_else(v.record->dependency, "(null)"));
  out.line().word("Requeue", v.spec().requeue == Toggle::kNo ? "0" : "1");
  out.word("Restarts", job.restart_count).word("BatchFlag", v.spec().batch ? "1" : "0");
  out.word("Reboot", v.spec().reboot ? "1" : "0");
  out.word("ExitCode", exit_code_text(job.exit_status));
  if (details) out.line().word("DerivedExitCode", exit_code_text(job.derived_exit_status));
}

void put_times(const JobView& v, const Context& c, ShowLines& out) {
  const Job& job = v.job();
  const JobSpec& spec = v.spec();
  const Minutes limit = job.time_limit != 0 ? job.time_limit : spec.time_limit;
  out.line().word("RunTime", format_span(run_time(v, c.now)));
  out.word("TimeLimit", limit == 0 ? "Partition_Limit" : format_minutes(limit));
  out.word("TimeMin", spec.time_min == 0 ? "N/A" : format_minutes(spec.time_min));
  out.line().word("SubmitTime", time_text(job.submit, c));
  out.word("EligibleTime", time_text(job_eligible(v), c));
  out.line().word("AccrueTime", time_text(job_accrue(v), c));
  out.line().word("StartTime", time_text(job_start(v), c));
  out.word("EndTime", time_text(job_end(v), c));
  out.word("Deadline", time_or(spec.deadline, "N/A", c));
  if (preemptable_from(job) != kNoTime) {
    out.line().word("PreemptEligibleTime", time_text(preemptable_from(job), c));
    out.word("PreemptTime", time_or(job.preempted_at, "None", c));
  }
  out.line().word("SuspendTime", time_or(job.suspended_at, "None", c));
  out.word("SecsPreSuspend", static_cast<uint64_t>(to_seconds(job.before_suspend)));
  out.word("LastSchedEval", time_text(v.record->soft.last_evaluated, c)).word("Scheduler", "Main");
}

void put_place(const JobView& v, ShowLines& out) {
  const JobSpec& spec = v.spec();
  const Job& job = v.job();
  out.line().word("Partition", shown_partition(v));
  out.word("AllocNode:Sid", spec.submit_host.str() + ":" + std::to_string(spec.submit_sid));
  out.line().word("ReqNodeList", or_else(spec.required_nodes, "(null)"));
  out.word("ExcNodeList", or_else(spec.excluded_nodes, "(null)"));
  out.line().word("NodeList", allocated_nodes(v));
  const std::string_view planned = v.record->soft.planned_nodes;
  if (job.state == JobState::kPending && !planned.empty()) out.word("SchedNodeList", planned);
  const bool has_host = !v.record->batch_host.empty();
  if (has_host || !spec.batch_features.empty()) out.line();
  if (!spec.batch_features.empty()) out.word("BatchFeatures", spec.batch_features);
  if (has_host) out.word("BatchHost", v.record->batch_host);
  if (!job.failed_node.empty()) out.line().word("FailedNode", job.failed_node);
}

void put_size(const JobView& v, ShowLines& out) {
  const JobSpec& spec = v.spec();
  const Job& job = v.job();
  std::string nodes = std::to_string(num_nodes(v));
  const bool waits = job.state == JobState::kPending;
  if (waits && spec.max_nodes != 0) nodes.append("-").append(std::to_string(spec.max_nodes));
  std::string cpus = std::to_string(num_cpus(v));
  if (waits && spec.max_cpus >= num_cpus(v)) cpus.append("-").append(std::to_string(spec.max_cpus));
  out.line().word("NumNodes", nodes).word("NumCPUs", cpus);
  out.word("NumTasks", has_task_count(v) ? std::to_string(num_tasks(v)) : "N/A");
  out.word("CPUs/Task", std::max(spec.cpus_per_task, 1U));
  // sockets of a board, which no option asks for
  out.word("ReqB:S:C:T", "0:0:" + count_or_star(spec.cores_per_socket) + ":" +
                             count_or_star(spec.threads_per_core));
  out.line().word("ReqTRES", or_else(v.record->required_tres, "(null)"));
  out.line().word("AllocTRES", or_else(v.record->allocated_tres, "(null)"));
  out.line().word("Socks/Node", count_or_star(spec.sockets_per_node));
  out.word("NtasksPerN:B:S:C", std::to_string(spec.ntasks_per_node) +
                                   ":0:" + count_or_star(spec.ntasks_per_socket) + ":" +
                                   count_or_star(spec.ntasks_per_core));
  if (spec.thread_spec != UINT32_MAX) out.word("ThreadSpec", spec.thread_spec);
  else if (spec.core_spec != UINT32_MAX) out.word("CoreSpec", spec.core_spec);
  else out.word("CoreSpec", "*");
}

// CPU numbers of the allocation's cores on a node: with several threads a core, all of its threads.
std::string cpu_ids(const NodeAllocation& node) {
  const size_t threads = cpus_of_core(node);
  Bitmap cpus;
  node.cores.for_each([&](size_t core) { cpus.set_range(core * threads, (core + 1) * threads); });
  return cpus.to_text();
}

std::string held_text(const NodeAllocation& node) {
  return " CPU_IDs=" + cpu_ids(node) + " Mem=" + std::to_string(node.memory_mib) +
         " GRES=" + gres_text(node.gres, true);
}

void put_detail_of_nodes(const JobView& v, ShowLines& out) {
  const auto& allocation = v.job().allocation;
  if (allocation == nullptr) return;
  GresShares all;
  for (const NodeAllocation& node : allocation->nodes) {
    for (const GresShare& share : node.gres)
      add_shares(all, {{share.name, share.type, share.count, {}, {}}});
  }
  const std::string gres = gres_text(all, false);
  out.line().word("JOB_GRES", or_else(gres, "(null)"));
  const auto names = expand_hosts(allocation->node_list);
  if (!names || names->size() != allocation->nodes.size()) return;
  // neighbours with the same CPUs, memory and units share a line
  for (size_t i = 0; i < names->size();) {
    const std::string held = held_text(allocation->nodes[i]);
    std::vector<std::string> same{(*names)[i]};
    while (++i < names->size() && held_text(allocation->nodes[i]) == held)
      same.push_back((*names)[i]);
    out.line().raw("  ");
    out.raw("Nodes=" + fold_hosts(same) + held);
  }
}

void put_minimum(const JobView& v, ShowLines& out) {
  const JobSpec& spec = v.spec();
  const JobMemory memory = job_memory(v);
  const auto size = [](uint64_t mib) { return mib == 0 ? std::string("0") : format_memory(mib); };
  out.line().word("MinCPUsNode", min_cpus_per_node(v));
  out.word(memory.per_cpu ? "MinMemoryCPU" : "MinMemoryNode", size(memory.mib));
  out.word("MinTmpDiskNode", size(spec.tmp_disk_mib));
  out.line().word("Features", or_else(spec.constraint, "(null)"));
  const bool forever = spec.delay_boot_seconds == UINT32_MAX;
  out.word("DelayBoot", forever ? std::string("UNLIMITED")
                                : format_span(std::chrono::seconds(spec.delay_boot_seconds)));
  if (!spec.cluster_constraint.empty()) out.line().word("ClusterFeatures", spec.cluster_constraint);
  if (!spec.prefer.empty()) out.line().word("Prefer", spec.prefer);
  if (!reservation_of(v.job()).empty()) out.line().word("Reservation", reservation_of(v.job()));
  const std::string_view licenses = or_else(spec.licenses, "(null)");
  out.line().word("OverSubscribe", oversubscribe_text(v));
  out.word("Exclusive", exclusive_text(spec.sharing));
  out.word("Contiguous", spec.contiguous ? "1" : "0").word("Licenses", licenses);
  out.word("LicensesAlloc", v.job().allocation != nullptr ? licenses : "(null)");
  out.word("Network", or_else(spec.network, "(null)"));
}

void put_files(const JobView& v, ShowLines& out) {
  const JobSpec& spec = v.spec();
  std::string command(or_else(spec.command, "(null)"));
  for (const SharedText& argument : spec.arguments) command.append(" ").append(argument.view());
  out.line().word("Command", command);
  if (!spec.submit_line.empty()) out.line().word("SubmitLine", spec.submit_line);
  out.line().word("WorkDir", spec.work_dir);
  if (!spec.admin_comment.empty()) out.line().word("AdminComment", spec.admin_comment);
  if (!spec.comment.empty()) out.line().word("Comment", spec.comment);
  if (!spec.extra.empty()) out.line().word("Extra", spec.extra);
  if (spec.batch) {
    out.line().word("StdErr", standard_path(v, StandardFile::kErr));
    out.line().word("StdIn", standard_path(v, StandardFile::kIn));
    out.line().word("StdOut", standard_path(v, StandardFile::kOut));
  }
}

// "gres/gpu:2"; empty where nothing was asked for.
std::string per_gpu(std::string_view number) {
  return number.empty() ? std::string() : "gres/gpu:" + std::string(number);
}

void put_rest(const JobView& v, ShowLines& out) {
  const JobSpec& spec = v.spec();
  if (!spec.switches.empty()) {
    const std::string_view text = spec.switches;
    const size_t at = text.find('@');
    out.line().word("Switches",
                    std::string(text.substr(0, at)) + "@" + format_span(switch_wait(spec)));
  }
  if (spec.segment != 0) out.line().word("SegmentSize", std::to_string(spec.segment));
  if (!spec.burst_buffer.empty()) out.line().word("BurstBuffer", spec.burst_buffer);
  constexpr std::pair<std::string_view, std::string_view> kGresFlags[] = {
      {"enforce-binding", "GresEnforceBind"},
      {"allow-task-sharing", "GresAllowTaskSharing"},
      {"one-task-per-sharing", "GresOneTaskPerSharing"}};
  for (const auto& [flag, key] : kGresFlags) {
    if (spec.gres_flags.view().find(flag) != std::string_view::npos) out.line().word(key, "Yes");
  }
  if (spec.gres_flags.view().find("disable-binding") != std::string_view::npos)
    out.line().word("GresEnforceBind", "No");
  if (spec.kill_on_invalid_dependency != Toggle::kDefault) {
    const bool yes = spec.kill_on_invalid_dependency == Toggle::kYes;
    out.line().word("KillOnInvalidDependent", yes ? "Yes" : "No");
  }
  if (spec.spread) out.line().word("SpreadJob", "Yes");
  if (!spec.cron.empty())
    out.line().word("CronJob", "Yes").word("CrontabSpec", fmt::format("\"{}\"", spec.cron.view()));
  const std::string cpus_per_gpu = per_gpu(spec.cpus_per_gpu.view());
  const std::string memory_per_gpu = spec.memory_kind == MemoryKind::kPerGpu
                                         ? per_gpu(std::to_string(spec.memory_mib))
                                         : std::string();
  const std::string each_task = each_task_has(spec);
  const std::string tasks_per_gpu =
      spec.ntasks_per_gpu == 0 ? std::string() : std::to_string(spec.ntasks_per_gpu);
  const std::pair<std::string_view, std::string_view> words[] = {
      {"CpusPerTres", cpus_per_gpu},
      {"MemPerTres", memory_per_gpu},
      {"TresBind", spec.tres_bind},
      {"TresFreq", spec.tres_freq},
      {"TresPerJob", spec.tres_per_job},
      {"TresPerNode", spec.gres},
      {"TresPerSocket", spec.tres_per_socket},
      {"TresPerTask", each_task},
      {"NtasksPerTRES", tasks_per_gpu},
  };
  for (const auto& [key, value] : words) {
    if (!value.empty()) out.line().word(key, value);
  }
  if (!spec.mail_type.empty()) {
    out.line().word("MailUser", or_else(spec.mail_user, spec.user_name));
    out.word("MailType", to_upper(spec.mail_type));
  }
  if (!spec.container.empty()) out.line().word("Container", spec.container);
}

}  // namespace

std::string show_job(const JobView& view, const RenderContext& context, bool one_line,
                     bool details) {
  ShowLines out(one_line);
  put_identity(view, context, out);
  put_state(view, details, out);
  put_times(view, context, out);
  put_place(view, out);
  put_size(view, out);
  if (details) put_detail_of_nodes(view, out);
  put_minimum(view, out);
  put_files(view, out);
  put_rest(view, out);
  return out.take();
}

}  // namespace sluice
