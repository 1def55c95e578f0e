// The rows of squeue's job fields, in the order of their letters, then those without one.
#include "cli/format/job_fields.hpp"

#include <charconv>

#include <fmt/format.h>

#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"

namespace sluice {
namespace {

using Context = RenderContext;

void put(std::string& out, std::string_view text) { out += text; }
void put(std::string& out, uint64_t number) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  static_cast<void>(error);
  out.append(digits, end);
}

void put_time(std::string& out, Time at, const Context& context, std::string_view nothing) {
  if (at == kNoTime) out += nothing;
  else out += format_time(at, context.time_form, context.now);
}
void put_limit(std::string& out, Minutes limit) { out += format_minutes_short(limit); }
void put_memory(std::string& out, uint64_t mib, const Context& context) {
  if (mib == 0) out += '0';
  else out += format_memory(mib, context.convert);
}

// The time limit in force, or asked for while none is worked out.
Minutes limit_of(const JobView& v) {
  if (v.job().time_limit != 0) return v.job().time_limit;
  return v.spec().time_limit;
}
void render_time_left(const JobView& v, const Context& c, std::string& out) {
  const Minutes limit = limit_of(v);
  if (limit == kInfiniteMinutes) return put(out, "UNLIMITED");
  if (limit == 0) return put(out, "NOT_SET");
  const Duration left = std::chrono::minutes(limit) - run_time(v, c.now);
  out += format_span_short(std::max(left, Duration(0)));
}
void render_end(const JobView& v, const Context& c, std::string& out) {
  const Time end = job_end(v);
  if (end == kNever) put(out, "NONE");
  else put_time(out, end, c, "N/A");
}
void render_licenses(const JobView& v, const Context&, std::string& out) {
  put(out, or_else(v.spec().licenses, "(null)"));
}
void render_het_id(const JobView& v, const Context&, std::string& out) {
  if (v.job().het == nullptr) put(out, "N/A");
  else put(out, static_cast<uint64_t>(v.job().het->leader));
}
void render_het_id_set(const JobView& v, const Context&, std::string& out) {
  if (v.job().het == nullptr) put(out, "N/A");
  else put(out, het_id_set(*v.job().het));
}
void render_het_offset(const JobView& v, const Context&, std::string& out) {
  if (v.job().het == nullptr) put(out, "N/A");
  else put(out, static_cast<uint64_t>(v.job().het->offset));
}
void render_file(const JobView& v, StandardFile file, std::string& out) {
  const std::string path = standard_path(v, file);
  if (path.empty() && file == StandardFile::kErr) out += standard_path(v, StandardFile::kOut);
  else out += path;
}
void put_count(std::string& out, uint32_t count, std::string_view nothing) {
  if (count == 0) put(out, nothing);
  else put(out, static_cast<uint64_t>(count));
}
void render_wait_for_switches(const JobView& v, const Context&, std::string& out) {
  out += format_span_short(switch_wait(v.spec()));
}
int64_t seconds(Time t) { return t.time_since_epoch().count(); }

// clang-format off
#define FIELD [](const JobView& v, const Context& c, std::string& out)
#define KEY [](const JobView& v, const Context& c) -> int64_t
#define UNUSED static_cast<void>(v), static_cast<void>(c)

constexpr JobField kFields[] = {
    {"Account", 'a', "ACCOUNT", FIELD { UNUSED; put(out, or_else(v.spec().account, "(null)")); }},
    {"Gres", 'b', "TRES_PER_NODE", FIELD { UNUSED; put(out, or_else(v.spec().gres, "N/A")); }},
    {"MinCPUs", 'c', "MIN_CPUS",
     FIELD { UNUSED; put(out, static_cast<uint64_t>(min_cpus_per_node(v))); },
     KEY { UNUSED; return min_cpus_per_node(v); }},
    {"MinTmpDisk", 'd', "MIN_TMP_DISK", FIELD { put_memory(out, v.spec().tmp_disk_mib, c); },
     KEY { UNUSED; return static_cast<int64_t>(v.spec().tmp_disk_mib); }},
    {"EndTime", 'e', "END_TIME", render_end, KEY { UNUSED; return seconds(job_end(v)); }},
    {"Feature", 'f', "FEATURES",
     FIELD { UNUSED; put(out, or_else(v.spec().constraint, "(null)")); }},
    {"GroupName", 'g', "GROUP", FIELD { UNUSED; put(out, v.spec().group_name); }},
    {"OverSubscribe", 'h', "OVER_SUBSCRIBE",
     FIELD { UNUSED; put(out, oversubscribe_text(v)); }},
    {"JobArrayId", 'i', "JOBID", FIELD { append_job_id(v, c, out); },
     KEY {
       UNUSED;
       const auto& array = v.job().array;
       const uint32_t task = v.task != kNoTask      ? v.task
                             : array == nullptr     ? 0
                             : array->task == kNoTask ? (array->pending.empty()
                                                             ? 0
                                                             : array->pending.front())
                                                      : array->task;
       return static_cast<int64_t>(array_job_id(v)) << 32 | task;
     }},
    {"Name", 'j', "NAME", FIELD { UNUSED; put(out, v.spec().name); }},
    {"Comment", 'k', "COMMENT", FIELD { UNUSED; put(out, or_else(v.spec().comment, "(null)")); }},
    {"TimeLimit", 'l', "TIME_LIMIT",
     FIELD {
       UNUSED;
       if (limit_of(v) == 0) put(out, "NOT_SET");
       else put_limit(out, limit_of(v));
     },
     KEY { UNUSED; return limit_of(v); }, Grouping::kNone, Cut::kNoSpanOnTheRight},
    {"MinMemory", 'm', "MIN_MEMORY", FIELD { put_memory(out, job_memory(v).mib, c); },
     KEY { UNUSED; return static_cast<int64_t>(job_memory(v).mib); }},
    {"ReqNodes", 'n', "REQ_NODES", FIELD { UNUSED; put(out, v.spec().required_nodes); }},
    {"Command", 'o', "COMMAND",
     FIELD {
       UNUSED;
       put(out, or_else(v.spec().command, "(null)"));
       for (const SharedText& argument : v.spec().arguments) out.append(" ").append(argument.view());
     }},
    {"Priority", 'p', "PRIORITY",
     FIELD { UNUSED; fmt::format_to(std::back_inserter(out), "{:.14f}",
                                    job_priority(v) / 4294967295.0); },
     KEY { UNUSED; return job_priority(v); }},
    {"QOS", 'q', "QOS", FIELD { UNUSED; put(out, or_else(v.spec().qos, "(null)")); }},
    {"Reason", 'r', "REASON", FIELD { UNUSED; out += reason_with_detail(v); }},
    {"SLUID", 's', "SLUID", FIELD { UNUSED; put(out, "(null)"); }},
    {"StateCompact", 't', "ST",
     FIELD { UNUSED; put(out, job_state_short(v.job().state, v.job().flags)); },
     KEY { UNUSED; return static_cast<int64_t>(v.job().state); }},
    {"UserName", 'u', "USER",
     FIELD {
       UNUSED;
       if (v.spec().user_name.empty()) put(out, static_cast<uint64_t>(v.spec().uid));
       else put(out, v.spec().user_name);
     }},
    {"Reservation", 'v', "RESERVATION",
     FIELD { UNUSED; put(out, or_else(reservation_of(v.job()), "(null)")); }},
    {"WCKey", 'w', "WCKEY", FIELD { UNUSED; put(out, or_else(v.spec().wckey, "(null)")); }},
    {"ExcNodes", 'x', "EXC_NODES", FIELD { UNUSED; put(out, v.spec().excluded_nodes); }},
    {"Nice", 'y', "NICE", FIELD { UNUSED; out += std::to_string(v.spec().nice); },
     KEY { UNUSED; return v.spec().nice; }},
    {"SCT", 'z', "S:C:T",
     FIELD {
       UNUSED;
       put_count(out, v.spec().sockets_per_node, "*");
       out += ':';
       put_count(out, v.spec().cores_per_socket, "*");
       out += ':';
       put_count(out, v.spec().threads_per_core, "*");
     }},
    {"JobId", 'A', "JOBID", FIELD { UNUSED; put(out, static_cast<uint64_t>(v.job().id)); },
     KEY { UNUSED; return v.job().id; }},
    {"BatchHost", 'B', "EXEC_HOST",
     FIELD { UNUSED; put(out, or_else(v.record->batch_host, "n/a")); }},
    {"NumCPUs", 'C', "CPUS", FIELD { UNUSED; put(out, static_cast<uint64_t>(num_cpus(v))); },
     KEY { UNUSED; return num_cpus(v); }},
    {"NumNodes", 'D', "NODES", FIELD { UNUSED; put(out, static_cast<uint64_t>(num_nodes(v))); },
     KEY { UNUSED; return num_nodes(v); }},
    {"Dependency", 'E', "DEPENDENCY",
     FIELD { UNUSED; put(out, or_else(v.record->dependency, "(null)")); }},
    {"ArrayJobId", 'F', "ARRAY_JOB_ID",
     FIELD { UNUSED; put(out, static_cast<uint64_t>(array_job_id(v))); },
     KEY { UNUSED; return array_job_id(v); }},
    {"GroupId", 'G', "GROUP", FIELD { UNUSED; put(out, static_cast<uint64_t>(v.spec().gid)); },
     KEY { UNUSED; return v.spec().gid; }},
    {"Sockets", 'H', "SOCKETS_PER_NODE",
     FIELD { UNUSED; put_count(out, v.spec().sockets_per_node, "*"); }},
    {"Cores", 'I', "CORES_PER_SOCKET",
     FIELD { UNUSED; put_count(out, v.spec().cores_per_socket, "*"); }},
    {"Threads", 'J', "THREADS_PER_CORE",
     FIELD { UNUSED; put_count(out, v.spec().threads_per_core, "*"); }},
    {"ArrayTaskId", 'K', "ARRAY_TASK_ID", FIELD { append_task_id(v, c, out); },
     KEY {
       UNUSED;
       if (v.task != kNoTask) return v.task;
       const auto& array = v.job().array;
       return array == nullptr ? -1 : static_cast<int64_t>(array->task);
     }},
    {"TimeLeft", 'L', "TIME_LEFT", render_time_left,
     KEY { return int64_t{limit_of(v)} * 60 - to_seconds(run_time(v, c.now)); }, Grouping::kNone,
     Cut::kNoSpanOnTheRight},
    {"TimeUsed", 'M', "TIME", FIELD { out += format_span_short(run_time(v, c.now)); },
     KEY { return run_time(v, c.now).count(); }, Grouping::kNone, Cut::kNoSpanOnTheRight},
    {"NodeList", 'N', "NODELIST", FIELD { UNUSED; put(out, allocated_nodes(v)); }},
    {"Contiguous", 'O', "CONTIGUOUS", FIELD { UNUSED; put(out, v.spec().contiguous ? "1" : "0"); }},
    {"Partition", 'P', "PARTITION", FIELD { UNUSED; put(out, shown_partition(v)); }},
    {"PriorityLong", 'Q', "PRIORITY",
     FIELD { UNUSED; put(out, static_cast<uint64_t>(job_priority(v))); },
     KEY { UNUSED; return job_priority(v); }},
    {"ReasonList", 'R', "NODELIST(REASON)", FIELD { UNUSED; append_reason_or_nodes(v, out); }},
    {"StartTime", 'S', "START_TIME", FIELD { put_time(out, job_start(v), c, "N/A"); },
     KEY { UNUSED;
           const Time start = job_start(v);
           return seconds(start == kNoTime ? kNever : start); }},
    {"State", 'T', "STATE",
     FIELD { UNUSED; put(out, job_state_text(v.job().state, v.job().flags)); },
     KEY { UNUSED; return static_cast<int64_t>(v.job().state); }},
    {"UserId", 'U', "UID", FIELD { UNUSED; put(out, static_cast<uint64_t>(v.spec().uid)); },
     KEY { UNUSED; return v.spec().uid; }},
    {"SubmitTime", 'V', "SUBMIT_TIME", FIELD { put_time(out, v.job().submit, c, "N/A"); },
     KEY { UNUSED; return seconds(v.job().submit); }},
    {"Licenses", 'W', "LICENSES", render_licenses},
    {"CoreSpec", 'X', "CORE_SPEC",
     FIELD {
       UNUSED;
       if (v.spec().core_spec == UINT32_MAX) put(out, "N/A");
       else put(out, static_cast<uint64_t>(v.spec().core_spec));
     }},
    {"SchedNodes", 'Y', "SCHEDNODES",
     FIELD { UNUSED; put(out, or_else(v.record->soft.planned_nodes.view(), "(null)")); }},
    {"WorkDir", 'Z', "WORK_DIR", FIELD { UNUSED; put(out, v.spec().work_dir); }},

    // by name only
    {"AccrueTime", '\0', "ACCRUE_TIME", FIELD { put_time(out, job_accrue(v), c, "N/A"); }},
    {"admin_comment", '\0', "ADMIN_COMMENT",
     FIELD { UNUSED; put(out, or_else(v.spec().admin_comment, "(null)")); }},
    {"AllocNodes", '\0', "ALLOC_NODES",
     FIELD { UNUSED; put(out, or_else(v.spec().submit_host, "N/A")); }},
    {"AllocSID", '\0', "ALLOC_SID",
     FIELD { UNUSED; put(out, static_cast<uint64_t>(v.spec().submit_sid)); }},
    {"AssocId", '\0', "ASSOC_ID", FIELD { UNUSED; put(out, "0"); }},
    {"BatchFlag", '\0', "BATCH_FLAG", FIELD { UNUSED; put(out, v.spec().batch ? "1" : "0"); }},
    {"BoardsPerNode", '\0', "BOARDS_PER_NODE", FIELD { UNUSED; put(out, "0"); }},
    {"BurstBuffer", '\0', "BURST_BUFFER",
     FIELD { UNUSED; put(out, or_else(v.spec().burst_buffer, "(null)")); }},
    {"BurstBufferState", '\0', "BURST_BUFFER_STATE", FIELD { UNUSED; put(out, "(null)"); }},
    {"Cluster", '\0', "CLUSTER", FIELD { UNUSED; put(out, or_else(c.cluster, "(null)")); }},
    {"ClusterFeature", '\0', "CLUSTER_FEATURES",
     FIELD { UNUSED; put(out, or_else(v.spec().cluster_constraint, "(null)")); }},
    {"Container", '\0', "CONTAINER",
     FIELD { UNUSED; put(out, or_else(v.spec().container, "(null)")); }},
    {"ContainerId", '\0', "CONTAINERID", FIELD { UNUSED; put(out, "(null)"); }},
    {"cpus-per-task", '\0', "CPUS_PER_TASK",
     FIELD { UNUSED; put_count(out, v.spec().cpus_per_task, "1"); }},
    {"cpus-per-tres", '\0', "CPUS_PER_TRES",
     FIELD {
       UNUSED;
       if (v.spec().cpus_per_gpu.empty()) return put(out, "N/A");
       out.append("gres/gpu:").append(v.spec().cpus_per_gpu.view());
     }},
    {"CPUsPerTask", '\0', "CPUS_PER_TASK",
     FIELD { UNUSED; put_count(out, v.spec().cpus_per_task, "1"); }},
    {"CronJob", '\0', "CRON_JOB", FIELD { UNUSED; put(out, v.spec().cron.empty() ? "No" : "Yes"); }},
    {"Deadline", '\0', "DEADLINE", FIELD { put_time(out, v.spec().deadline, c, "N/A"); }},
    {"DelayBoot", '\0', "DELAY_BOOT",
     FIELD { UNUSED;
             out += format_span_short(std::chrono::seconds(v.spec().delay_boot_seconds)); }},
    {"DerivedEC", '\0', "DERIVED_EC",
     FIELD { UNUSED; put(out, exit_code_text(v.job().derived_exit_status)); }},
    {"EligibleTime", '\0', "ELIGIBLE_TIME", FIELD { put_time(out, job_eligible(v), c, "N/A"); }},
    {"Exclusive", '\0', "EXCLUSIVE", FIELD { UNUSED; put(out, exclusive_text(v.spec().sharing)); }},
    {"exit_code", '\0', "EXIT_CODE",
     FIELD { UNUSED; put(out, exit_code_text(v.job().exit_status)); }},
    {"HetJobId", '\0', "HET_JOB_ID", render_het_id},
    {"HetJobIdSet", '\0', "HET_JOB_ID_SET", render_het_id_set},
    {"HetJobOffset", '\0', "HET_JOB_OFFSET", render_het_offset},
    {"LastSchedEval", '\0', "LAST_SCHED_EVAL",
     FIELD { put_time(out, v.record->soft.last_evaluated, c, "N/A"); }},
    {"LicensesAlloc", '\0', "LICENSES_ALLOC",
     FIELD { if (v.job().allocation != nullptr) render_licenses(v, c, out);
             else put(out, "(null)"); }},
    {"MaxCPUs", '\0', "MAX_CPUS", FIELD { UNUSED; put_count(out, v.spec().max_cpus, "0"); }},
    {"MaxNodes", '\0', "MAX_NODES", FIELD { UNUSED; put_count(out, v.spec().max_nodes, "0"); }},
    {"MCSLabel", '\0', "MCSLABEL",
     FIELD { UNUSED; put(out, or_else(v.spec().mcs_label, "(null)")); }},
    {"mem-per-tres", '\0', "MEM_PER_TRES",
     FIELD {
       UNUSED;
       if (v.spec().memory_kind != MemoryKind::kPerGpu) return put(out, "N/A");
       out.append("gres/gpu:").append(std::to_string(v.spec().memory_mib));
     }},
    {"MinTime", '\0', "TIME_MIN",
     FIELD { UNUSED; out += format_span_short(std::chrono::minutes(v.spec().time_min)); }},
    {"Network", '\0', "NETWORK", FIELD { UNUSED; put(out, or_else(v.spec().network, "(null)")); }},
    {"NTPerBoard", '\0', "NTASKS_PER_BOARD", FIELD { UNUSED; put(out, "0"); }},
    {"NTPerCore", '\0', "NTASKS_PER_CORE",
     FIELD { UNUSED; put_count(out, v.spec().ntasks_per_core, "N/A"); }},
    {"NTPerNode", '\0', "NTASKS_PER_NODE",
     FIELD { UNUSED; put_count(out, v.spec().ntasks_per_node, "0"); }},
    {"NTPerSocket", '\0', "NTASKS_PER_SOCKET",
     FIELD { UNUSED; put_count(out, v.spec().ntasks_per_socket, "N/A"); }},
    {"NumTasks", '\0', "TASKS", FIELD { UNUSED; put(out, static_cast<uint64_t>(num_tasks(v))); }},
    {"Origin", '\0', "ORIGIN", FIELD { UNUSED; put(out, "NA"); }},
    {"OriginRaw", '\0', "ORIGIN_RAW", FIELD { UNUSED; put(out, "NA"); }},
    {"PackJobId", '\0', "HET_JOB_ID", render_het_id},
    {"PackJobIdSet", '\0', "HET_JOB_ID_SET", render_het_id_set},
    {"PackJobOffset", '\0', "HET_JOB_OFFSET", render_het_offset},
    {"PendingTime", '\0', "PENDING_TIME",
     FIELD {
       const Time until = v.job().state == JobState::kPending ? c.now : v.job().start;
       put(out, static_cast<uint64_t>(std::max<int64_t>(0, to_seconds(until - v.job().submit))));
     }},
    {"PreemptTime", '\0', "PREEMPT_TIME", FIELD { put_time(out, v.job().preempted_at, c, "N/A"); }},
    {"Prefer", '\0', "PREFER", FIELD { UNUSED; put(out, or_else(v.spec().prefer, "(null)")); }},
    {"Profile", '\0', "PROFILE", FIELD { UNUSED; put(out, or_else(v.spec().profile, "NotSet")); }},
    {"Reboot", '\0', "REBOOT", FIELD { UNUSED; put(out, v.spec().reboot ? "1" : "0"); }},
    {"ReqSwitch", '\0', "REQ_SWITCH",
     FIELD {
       UNUSED;
       const std::string_view text = v.spec().switches;
       put(out, or_else(text.substr(0, text.find('@')), "0"));
     }},
    {"Requeue", '\0', "REQUEUE",
     FIELD { UNUSED; put(out, v.spec().requeue == Toggle::kNo ? "0" : "1"); }},
    {"ResizeTime", '\0', "RESIZE_TIME", FIELD { UNUSED; put(out, "N/A"); }},
    {"RestartCnt", '\0', "RESTART_COUNT",
     FIELD { UNUSED; put(out, static_cast<uint64_t>(v.job().restart_count)); }},
    {"Runtime", '\0', "RUNTIME", FIELD { UNUSED; put(out, "(null)"); }},
    {"SegmentSize", '\0', "SEGMENT_SIZE", FIELD { UNUSED; put(out, "0"); }},
    {"Shared", '\0', "OVER_SUBSCRIBE",
     FIELD { UNUSED; put(out, oversubscribe_text(v)); }},
    {"SiblingsActive", '\0', "ACTIVE_SIBLINGS", FIELD { UNUSED; put(out, "NA"); }},
    {"SiblingsActiveRaw", '\0', "ACTIVE_SIBLINGS_RAW", FIELD { UNUSED; put(out, "NA"); }},
    {"SiblingsViable", '\0', "VIABLE_SIBLINGS", FIELD { UNUSED; put(out, "NA"); }},
    {"SiblingsViableRaw", '\0', "VIALBLE_SIBLINGS_RAW", FIELD { UNUSED; put(out, "NA"); }},
    {"SPerBoard", '\0', "SOCKETS_PER_BOARD", FIELD { UNUSED; put(out, "0"); }},
    {"StdErr", '\0', "STDERR", FIELD { UNUSED; render_file(v, StandardFile::kErr, out); }},
    {"StdIn", '\0', "STDIN", FIELD { UNUSED; render_file(v, StandardFile::kIn, out); }},
    {"StdOut", '\0', "STDOUT", FIELD { UNUSED; render_file(v, StandardFile::kOut, out); }},
    {"system_comment", '\0', "SYSTEM_COMMENT", FIELD { UNUSED; put(out, "(null)"); }},
    {"Tres", '\0', "TRES_ALLOC",
     FIELD { UNUSED; put(out, or_else(v.record->allocated_tres, v.record->required_tres)); }},
    {"tres-alloc", '\0', "TRES_ALLOC",
     FIELD { UNUSED; put(out, or_else(v.record->allocated_tres, v.record->required_tres)); }},
    {"tres-bind", '\0', "TRES_BIND", FIELD { UNUSED; put(out, or_else(v.spec().tres_bind, "N/A")); }},
    {"tres-freq", '\0', "TRES_FREQ", FIELD { UNUSED; put(out, or_else(v.spec().tres_freq, "N/A")); }},
    {"tres-per-job", '\0', "TRES_PER_JOB",
     FIELD { UNUSED; put(out, or_else(v.spec().tres_per_job, "N/A")); }},
    {"tres-per-node", '\0', "TRES_PER_NODE",
     FIELD { UNUSED; put(out, or_else(v.spec().gres, "N/A")); }},
    {"tres-per-socket", '\0', "TRES_PER_SOCKET",
     FIELD { UNUSED; put(out, or_else(v.spec().tres_per_socket, "N/A")); }},
    {"tres-per-task", '\0', "TRES_PER_TASK",
     FIELD { UNUSED; put(out, or_else(each_task_has(v.spec()), "N/A")); }},
    {"Wait4Switch", '\0', "WAIT4SWITCH", render_wait_for_switches},
};

#undef FIELD
#undef KEY
#undef UNUSED
// clang-format on

}  // namespace

std::span<const JobField> job_fields() { return kFields; }

}  // namespace sluice
