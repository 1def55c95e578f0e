#include "cli/sacct/fields.hpp"

#include <fmt/format.h>
#include <grp.h>

#include "cli/format/usage_fields.hpp"
#include "cli/sacct/values.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/format/job_values.hpp"
#include "common/names/step_names.hpp"
#include "common/syntax/cpu_frequency.hpp"

namespace sluice::cli {
namespace {

using Row = SacctRow;
using Context = SacctContext;
using enum SacctCut;

std::string number(uint64_t value) { return fmt::format("{}", value); }

// --- of the job alone: nothing in the lines of steps ---------------------------------------------

template <std::string JobHistory::*Text>
std::string job_text(const Row& row, const Context&) {
  return row.step != nullptr ? "" : row.record.job.*Text;
}
template <uint32_t JobHistory::*Number>
std::string job_number(const Row& row, const Context&) {
  return row.step != nullptr ? "" : number(row.record.job.*Number);
}
// of both
template <std::string JobHistory::*OfJob, std::string StepHistory::*OfStep>
std::string either_text(const Row& row, const Context&) {
  return row.step != nullptr ? row.step->*OfStep : row.record.job.*OfJob;
}
template <uint32_t JobHistory::*OfJob, uint32_t StepHistory::*OfStep>
std::string either_number(const Row& row, const Context&) {
  return number(row.step != nullptr ? row.step->*OfStep : row.record.job.*OfJob);
}
// What it has, else what it asks for.
std::string show_cpus(const Row& row, const Context&) {
  if (row.step != nullptr) return number(row.step->cpus);
  const JobHistory& job = row.record.job;
  return number(job.cpus != 0 ? job.cpus : job.requested_cpus);
}
std::string nothing(const Row&, const Context&) { return ""; }

// Nothing where it is 0.
template <uint32_t protocol::HistoryJob::*Number>
std::string record_number(const Row& row, const Context&) {
  const uint32_t value = row.record.*Number;
  return value == 0 ? "" : number(value);
}
template <uint32_t protocol::HistoryJob::*Number>
std::string job_record_number(const Row& row, const Context& context) {
  return row.step != nullptr ? "" : record_number<Number>(row, context);
}

std::string show_wckey_id(const Row& row, const Context&) {
  return row.step != nullptr ? "" : number(row.record.wckey);
}
std::string show_account(const Row& row, const Context&) { return row.record.job.account; }
std::string show_cluster(const Row& row, const Context&) { return row.record.cluster; }
std::string show_index(const Row& row, const Context&) { return number(row.record.index); }
std::string show_job_id(const Row& row, const Context&) {
  const std::string job = sacct_job_id(row.record.job);
  return row.step == nullptr ? job : job + "." + step_number_text(row.step->id.step);
}
std::string show_raw_id(const Row& row, const Context&) {
  return row.step != nullptr ? step_id_text(row.step->id) : number(row.record.job.id);
}
std::string show_tres(const Row& row, const Context& context) {
  return sacct_tres(row.step != nullptr ? row.step->allocated_tres : row.record.job.allocated_tres,
                    context);
}
std::string show_requested_tres(const Row& row, const Context& context) {
  return row.step != nullptr ? "" : sacct_tres(row.record.job.requested_tres, context);
}
std::string show_requested_memory(const Row& row, const Context& context) {
  return row.step != nullptr ? "" : sacct_memory(row.record.job.requested_memory_mib, context);
}
std::string show_exclusive(const Row& row, const Context&) {
  return row.step != nullptr ? "" : std::string(exclusive_text(row.record.job.sharing));
}
std::string show_oversubscribe(const Row& row, const Context&) {
  return row.step != nullptr ? "" : std::string(oversubscribe_text(row.record.job.sharing));
}
std::string show_reservation_id(const Row& row, const Context&) {
  const uint32_t id = row.record.job.reservation_id;
  return row.step != nullptr || id == 0 ? "" : number(id);
}
// No job has segments here.
std::string show_segment_size(const Row& row, const Context&) {
  return row.step != nullptr ? "" : "0";
}
// What it has, else what it asks for.
std::string show_node_count(const Row& row, const Context&) {
  if (row.step != nullptr) return number(row.step->node_count);
  const JobHistory& job = row.record.job;
  return number(job.node_count != 0 ? job.node_count : job.requested_nodes);
}
std::string show_nodes(const Row& row, const Context&) {
  if (row.step != nullptr) return row.step->nodes;
  return row.record.job.nodes.empty() ? "None assigned" : row.record.job.nodes;
}
std::string show_state(const Row& row, const Context&) {
  return row.step != nullptr ? sacct_step_state(*row.step) : sacct_job_state(row.record.job);
}
std::string show_exit(const Row& row, const Context&) {
  return exit_code_text(row.step != nullptr ? row.step->exit_status : row.record.job.exit_status);
}
std::string show_derived_exit(const Row& row, const Context&) {
  return row.step != nullptr ? "" : exit_code_text(row.record.job.derived_exit_status);
}
std::string show_flags(const Row& row, const Context&) {
  if (row.step != nullptr || row.record.job.start == kNoTime) return "";
  return row.record.job.backfilled ? "SchedBackfill,StartReceived" : "SchedMain,StartReceived";
}
std::string show_layout(const Row& row, const Context&) {
  if (row.step == nullptr) return "";
  return row.step->layout.empty() ? "Unknown" : row.step->layout;
}
std::string show_qos(const Row& row, const Context&) {
  if (row.step != nullptr) return "";
  return row.record.job.qos.empty() ? "normal" : row.record.job.qos;
}
std::string show_tasks(const Row& row, const Context&) {
  return row.step != nullptr ? number(row.step->tasks) : "";
}
std::string show_user(const Row& row, const Context& context) {
  if (row.step != nullptr) return "";
  const JobHistory& job = row.record.job;
  if (!job.user.empty() || context.user_name == nullptr) return job.user;
  return context.user_name(job.uid);
}

// What was taken over from another database has no more than its number.
std::string show_group(const Row& row, const Context&) {
  if (row.step != nullptr) return "";
  const JobHistory& job = row.record.job;
  if (!job.group.empty()) return job.group;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  const group* entry = ::getgrgid(job.gid);
  return entry == nullptr ? "" : entry->gr_name;
}

// --- times
// -----------------------------------------------------------------------------------------

std::string shown_time(Time time, const Context& context) {
  if (context.truncate && time != kNoTime) time = std::clamp(time, context.from, context.until);
  return format_time(time, context.time_form, context.now);
}
std::string show_start(const Row& row, const Context& context) {
  if (row.step != nullptr) return shown_time(row.step->start, context);
  const JobHistory& job = row.record.job;
  return job.start == kNoTime && job.end != kNoTime ? "None" : shown_time(job.start, context);
}
std::string show_end(const Row& row, const Context& context) {
  return shown_time(row.step != nullptr ? row.step->end : row.record.job.end, context);
}
std::string show_submit(const Row& row, const Context& context) {
  return format_time(row.step != nullptr ? row.step->start : row.record.job.submit,
                     context.time_form, context.now);
}
std::string show_eligible(const Row& row, const Context& context) {
  return format_time(row.step != nullptr ? row.step->start : row.record.job.eligible,
                     context.time_form, context.now);
}
std::string show_elapsed(const Row& row, const Context& context) {
  return format_span(sacct_elapsed(row, context));
}
std::string show_raw_elapsed(const Row& row, const Context& context) {
  return number(static_cast<uint64_t>(to_seconds(sacct_elapsed(row, context))));
}
int64_t cpu_seconds(const Row& row, const Context& context) {
  const uint32_t cpus = row.step != nullptr ? row.step->cpus : row.record.job.cpus;
  return to_seconds(sacct_elapsed(row, context)) * cpus;
}
std::string show_cpu_time(const Row& row, const Context& context) {
  return format_span(std::chrono::seconds(cpu_seconds(row, context)));
}
std::string show_raw_cpu_time(const Row& row, const Context& context) {
  return number(static_cast<uint64_t>(cpu_seconds(row, context)));
}
std::string show_planned(const Row& row, const Context& context) {
  return row.step != nullptr ? "" : format_span(sacct_planned(row.record.job, context.now));
}
int64_t planned_cpu_seconds(const Row& row, const Context& context) {
  const JobHistory& job = row.record.job;
  return to_seconds(sacct_planned(job, context.now)) *
         (job.cpus != 0 ? job.cpus : job.requested_cpus);
}
std::string show_planned_cpu(const Row& row, const Context& context) {
  if (row.step != nullptr) return "";
  return format_span(std::chrono::seconds(planned_cpu_seconds(row, context)));
}
std::string show_raw_planned_cpu(const Row& row, const Context& context) {
  if (row.step != nullptr) return "";
  return number(static_cast<uint64_t>(planned_cpu_seconds(row, context)));
}
std::string show_suspended(const Row& row, const Context& context) {
  return format_span(row.step != nullptr ? row.step->suspended
                                         : sacct_suspended(row.record.job, context.now));
}
std::string show_limit(const Row& row, const Context&) {
  if (row.step != nullptr) return "";
  const Minutes limit = row.record.job.time_limit;
  return limit == 0 ? "Partition_Limit" : format_minutes(limit);
}
std::string show_raw_limit(const Row& row, const Context&) {
  if (row.step != nullptr) return "";
  const Minutes limit = row.record.job.time_limit;
  if (limit == 0) return "Partition_Limit";
  return limit == kInfiniteMinutes ? "UNLIMITED" : number(limit);
}

// --- usage
// -----------------------------------------------------------------------------------------

template <Duration UsageHistory::*Part>
std::string show_cpu(const Row& row, const Context&) {
  return sacct_cpu_time(row.step != nullptr ? row.step->usage.*Part
                                            : sacct_usage(row.record).*Part);
}
std::string show_total_cpu(const Row& row, const Context&) {
  const UsageHistory usage = row.step != nullptr ? row.step->usage : sacct_usage(row.record);
  return sacct_cpu_time(usage.user_cpu + usage.system_cpu);
}

enum class Part { kAve, kMax, kMaxNode, kMaxTask, kMin, kMinNode, kMinTask, kTot };
using enum Part;
using Show = std::string (*)(uint64_t value, const Context& context);

std::string cpu_text(uint64_t micros, const Context&) {
  return format_span(std::chrono::seconds(micros / 1'000'000));
}
std::string plain_text(uint64_t value, const Context&) { return number(value); }
std::string disk_text(uint64_t bytes, const Context& context) {
  return sacct_disk(static_cast<double>(bytes), context);
}

std::string part_text(const UsageExtent& extent, uint32_t tasks, Part part, Show show,
                      const Context& context) {
  switch (part) {
    case kAve: return show(tasks == 0 ? 0 : extent.total / tasks, context);
    case kMax: return show(extent.max, context);
    case kMaxNode: return extent.max_node;
    case kMaxTask: return number(extent.max_task);
    case kMin: return show(extent.min, context);
    case kMinNode: return extent.min_node;
    case kMinTask: return number(extent.min_task);
    default: return show(extent.total, context);
  }
}
template <UsageExtent UsageHistory::*Kind, Part kPart, Show kShow = plain_text>
std::string usage(const Row& row, const Context& context) {
  if (row.step == nullptr || row.step->usage.tasks == 0) return "";
  return part_text(row.step->usage.*Kind, row.step->usage.tasks, kPart, kShow, context);
}

struct Kind {
  std::string_view tres;
  UsageExtent UsageHistory::*extent;  // null: nothing here measures it
  Show show;
};
constexpr Kind kIn[] = {{"cpu", &UsageHistory::cpu, cpu_text},
                        {"energy", nullptr, plain_text},
                        {"fs/disk", &UsageHistory::read, plain_text},
                        {"mem", &UsageHistory::memory, sacct_bytes},
                        {"pages", &UsageHistory::pages, plain_text},
                        {"vmem", &UsageHistory::virtual_memory, sacct_bytes}};
constexpr Kind kOut[] = {{"energy", nullptr, plain_text},
                         {"fs/disk", &UsageHistory::written, plain_text}};

std::string usage_list(std::span<const Kind> kinds, const Row& row, Part part,
                       const Context& context) {
  if (row.step == nullptr || row.step->usage.tasks == 0) return "";
  UsageExtent none = row.step->usage.cpu;  // where nothing is measured, the places of another
  none.max = none.min = none.total = 0;
  std::string out;
  for (const Kind& kind : kinds) {
    // energy is of nodes
    if (kind.tres == "energy" && (part == kMaxTask || part == kMinTask)) continue;
    const UsageExtent& extent = kind.extent != nullptr ? row.step->usage.*kind.extent : none;
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", kind.tres,
                       part_text(extent, row.step->usage.tasks, part, kind.show, context));
  }
  return out;
}
template <Part kPart>
std::string tres_in(const Row& row, const Context& context) {
  return usage_list(kIn, row, kPart, context);
}
template <Part kPart>
std::string tres_out(const Row& row, const Context& context) {
  return usage_list(kOut, row, kPart, context);
}
// Nothing here measures energy or frequencies.
std::string show_energy(const Row& row, const Context&) {
  return row.step == nullptr || row.step->usage.tasks > 0 ? "0" : "";
}
std::string show_frequency(const Row& row, const Context&) {
  return row.step != nullptr && row.step->usage.tasks > 0 ? "0" : "";
}
// Of steps alone: what a batch job asks for is what its steps do.
template <uint32_t CpuFrequency::*Of>
std::string show_asked_frequency(const Row& row, const Context&) {
  if (row.step == nullptr) return "Unknown";
  if (row.step->id.step > kMaxNormalStep) return "0";
  const std::string& asked = row.step->cpu_freq;
  const uint32_t value = parse_cpu_frequency(asked).value_or(CpuFrequency{}).*Of;
  const std::string text = short_frequency_name(value);
  return asked.empty() || text == "0" ? "Unknown" : text;
}

// --- files
// -----------------------------------------------------------------------------------------

template <std::string JobHistory::*OfJob, std::string StepHistory::*OfStep>
std::string show_file(const Row& row, const Context& context) {
  return sacct_file(row, row.step != nullptr ? row.step->*OfStep : row.record.job.*OfJob,
                    context.expand_patterns);
}

using J = JobHistory;
using S = StepHistory;
using U = UsageHistory;
constexpr SacctField kFields[] = {
    {"Account", 10, kMark, show_account},
    {"AdminComment", 15, kMark, job_text<&J::admin_comment>},
    {"AllocCPUS", 10, kNone, show_cpus},
    {"AllocNodes", 10, kMark, either_number<&J::node_count, &S::node_count>},
    {"AllocTRES", 10, kMark, show_tres},
    {"AssocID", 7, kNone, record_number<&protocol::HistoryJob::association>},
    {"AveCPU", 10, kMark, usage<&U::cpu, kAve, cpu_text>},
    {"AveCPUFreq", 10, kMark, show_frequency},
    {"AveDiskRead", 14, kMark, usage<&U::read, kAve, disk_text>},
    {"AveDiskWrite", 14, kMark, usage<&U::written, kAve, disk_text>},
    {"AvePages", 10, kMark, usage<&U::pages, kAve>},
    {"AveRSS", 10, kMark, usage<&U::memory, kAve, sacct_bytes>},
    {"AveVMSize", 10, kMark, usage<&U::virtual_memory, kAve, sacct_bytes>},
    {"BlockID", 16, kMark, nothing},
    {"Cluster", 10, kMark, show_cluster},
    {"Comment", 14, kMark, job_text<&J::comment>},
    {"Constraints", 19, kMark, job_text<&J::constraint>},
    {"ConsumedEnergy", 14, kMark, show_energy},
    {"ConsumedEnergyRaw", 17, kNone, show_energy},
    {"Container", 19, kMark, either_text<&J::container, &S::container>},
    {"CPUTime", 10, kMark, show_cpu_time},
    {"CPUTimeRAW", 10, kNone, show_raw_cpu_time},
    {"DBIndex", -21, kNone, show_index},
    {"DerivedExitCode", 15, kMark, show_derived_exit},
    {"Elapsed", 10, kMark, show_elapsed},
    {"ElapsedRaw", 10, kNone, show_raw_elapsed},
    {"Eligible", 19, kEnd, show_eligible},
    {"End", 19, kEnd, show_end},
    {"Exclusive", 14, kMark, show_exclusive},
    {"ExitCode", 8, kMark, show_exit},
    {"Extra", 14, kMark, job_text<&J::extra>},
    {"FailedNode", 8, kMark, job_text<&J::failed_node>},
    {"Flags", 19, kMark, show_flags},
    {"GID", 6, kNone, job_number<&J::gid>},
    {"Group", 9, kMark, show_group},
    {"JobID", -12, kMark, show_job_id},
    {"JobIDRaw", -12, kMark, show_raw_id},
    {"JobName", 10, kMark, either_text<&J::name, &S::name>},
    {"Layout", 9, kMark, show_layout},
    {"Licenses", 10, kMark, job_text<&J::licenses>},
    {"MaxDiskRead", 12, kMark, usage<&U::read, kMax, disk_text>},
    {"MaxDiskReadNode", 15, kMark, usage<&U::read, kMaxNode>},
    {"MaxDiskReadTask", 15, kNone, usage<&U::read, kMaxTask>},
    {"MaxDiskWrite", 12, kMark, usage<&U::written, kMax, disk_text>},
    {"MaxDiskWriteNode", 16, kMark, usage<&U::written, kMaxNode>},
    {"MaxDiskWriteTask", 16, kNone, usage<&U::written, kMaxTask>},
    {"MaxPages", 8, kMark, usage<&U::pages, kMax>},
    {"MaxPagesNode", 12, kMark, usage<&U::pages, kMaxNode>},
    {"MaxPagesTask", 14, kNone, usage<&U::pages, kMaxTask>},
    {"MaxRSS", 10, kMark, usage<&U::memory, kMax, sacct_bytes>},
    {"MaxRSSNode", 10, kMark, usage<&U::memory, kMaxNode>},
    {"MaxRSSTask", 10, kNone, usage<&U::memory, kMaxTask>},
    {"MaxVMSize", 10, kMark, usage<&U::virtual_memory, kMax, sacct_bytes>},
    {"MaxVMSizeNode", 14, kMark, usage<&U::virtual_memory, kMaxNode>},
    {"MaxVMSizeTask", 14, kNone, usage<&U::virtual_memory, kMaxTask>},
    {"McsLabel", 12, kMark, job_text<&J::mcs_label>},
    {"MinCPU", 10, kMark, usage<&U::cpu, kMin, cpu_text>},
    {"MinCPUNode", 10, kMark, usage<&U::cpu, kMinNode>},
    {"MinCPUTask", 10, kNone, usage<&U::cpu, kMinTask>},
    {"NCPUS", 10, kNone, show_cpus},
    {"NNodes", 8, kNone, show_node_count},
    {"NodeList", 15, kMark, show_nodes},
    {"NTasks", 8, kNone, show_tasks},
    {"OriginalSLUID", 14, kMark, nothing},
    {"OverSubscribe", 14, kMark, show_oversubscribe},
    {"Partition", 10, kMark, job_text<&J::partition>},
    {"Planned", 10, kMark, show_planned},
    {"PlannedCPU", 10, kMark, show_planned_cpu},
    {"PlannedCPURAW", 13, kNone, show_raw_planned_cpu},
    {"Priority", 10, kNone, job_number<&J::priority>},
    {"QOS", 10, kMark, show_qos},
    {"QOSRAW", 6, kNone, job_record_number<&protocol::HistoryJob::qos>},
    {"QOSREQ", 10, kMark, job_text<&J::qos_asked>},
    {"Reason", 22, kMark, job_text<&J::reason>},
    {"ReqCPUFreq", 10, kMark, show_asked_frequency<&CpuFrequency::max>},
    {"ReqCPUFreqGov", 13, kMark, show_asked_frequency<&CpuFrequency::governor>},
    {"ReqCPUFreqMax", 13, kMark, show_asked_frequency<&CpuFrequency::max>},
    {"ReqCPUFreqMin", 13, kMark, show_asked_frequency<&CpuFrequency::min>},
    {"ReqCPUS", 8, kNone, either_number<&J::requested_cpus, &S::cpus>},
    {"ReqMem", 10, kMark, show_requested_memory},
    {"ReqNodes", 8, kMark, either_number<&J::requested_nodes, &S::node_count>},
    {"ReqTRES", 10, kMark, show_requested_tres},
    {"Reservation", 20, kMark, job_text<&J::reservation>},
    {"ReservationId", 8, kNone, show_reservation_id},
    {"ReqReservation", 20, kMark, job_text<&J::requested_reservations>},
    {"Restarts", 8, kNone, job_number<&J::restarts>},
    {"SegmentSize", 11, kNone, show_segment_size},
    {"SLUID", 14, kMark, nothing},
    {"Start", 19, kEnd, show_start},
    {"State", 10, kMark, show_state},
    {"StdErr", 20, kMark, show_file<&J::std_err, &S::std_err>},
    {"StdIn", 20, kMark, show_file<&J::std_in, &S::std_in>},
    {"StdOut", 20, kMark, show_file<&J::std_out, &S::std_out>},
    {"Submit", 19, kEnd, show_submit},
    {"SubmitLine", 20, kMark, either_text<&J::submit_line, &S::submit_line>},
    {"Suspended", 10, kMark, show_suspended},
    {"SystemComment", 15, kMark, job_text<&J::system_comment>},
    {"SystemCPU", 10, kMark, show_cpu<&U::system_cpu>},
    {"Timelimit", 10, kMark, show_limit},
    {"TimelimitRaw", 10, kMark, show_raw_limit},
    {"TotalCPU", 10, kMark, show_total_cpu},
    {"TRESUsageInAve", 14, kMark, tres_in<kAve>},
    {"TRESUsageInMax", 14, kMark, tres_in<kMax>},
    {"TRESUsageInMaxNode", 18, kMark, tres_in<kMaxNode>},
    {"TRESUsageInMaxTask", 18, kMark, tres_in<kMaxTask>},
    {"TRESUsageInMin", 14, kMark, tres_in<kMin>},
    {"TRESUsageInMinNode", 18, kMark, tres_in<kMinNode>},
    {"TRESUsageInMinTask", 18, kMark, tres_in<kMinTask>},
    {"TRESUsageInTot", 14, kMark, tres_in<kTot>},
    {"TRESUsageOutAve", 15, kMark, tres_out<kAve>},
    {"TRESUsageOutMax", 15, kMark, tres_out<kMax>},
    {"TRESUsageOutMaxNode", 19, kMark, tres_out<kMaxNode>},
    {"TRESUsageOutMaxTask", 19, kMark, tres_out<kMaxTask>},
    {"TRESUsageOutMin", 15, kMark, tres_out<kMin>},
    {"TRESUsageOutMinNode", 19, kMark, tres_out<kMinNode>},
    {"TRESUsageOutMinTask", 19, kMark, tres_out<kMinTask>},
    {"TRESUsageOutTot", 15, kMark, tres_out<kTot>},
    {"UID", 6, kNone, job_number<&J::uid>},
    {"User", 9, kMark, show_user},
    {"UserCPU", 10, kMark, show_cpu<&U::user_cpu>},
    {"WCKey", 10, kMark, job_text<&J::wckey>},
    {"WCKeyID", 10, kNone, show_wckey_id},
    {"WorkDir", 20, kMark, job_text<&J::work_dir>},
};

// Names of Slurm 22.05, which its successors no longer list.
constexpr SacctField kOldFields[] = {
    {"Reserved", 10, kMark, show_planned},
    {"ResvCPU", 10, kMark, show_planned_cpu},
    {"ResvCPURAW", 10, kNone, show_raw_planned_cpu},
};

}  // namespace

std::span<const SacctField> sacct_fields() { return kFields; }

const SacctField* find_sacct_field(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const SacctField& field : kOldFields) {
    if (iequals(field.name, name)) return &field;
  }
  for (const SacctField& field : kFields) {
    if (iequals(field.name, name)) return &field;
  }
  for (const SacctField& field : kFields) {
    if (starts_with_i(field.name, name)) return &field;
  }
  return nullptr;
}

}  // namespace sluice::cli
