// See step_fields.hpp.
#include "cli/format/step_fields.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/syntax/cpu_frequency.hpp"
#include "common/syntax/distribution.hpp"
#include "common/environment/gres_env.hpp"
#include "common/names/job_states.hpp"
#include "common/format/job_values.hpp"
#include "common/format/show_lines.hpp"
#include "common/names/step_names.hpp"

namespace sluice {

std::string_view step_name(const StepView& v) {
  if (!v.spec().name.empty()) return v.spec().name;
  switch (v.step->id.step) {
    case kBatchStep: return "batch";
    case kExternStep: return "extern";
    case kInteractiveStep: return "interactive";
    default: return {};
  }
}

namespace {

using Context = RenderContext;

// what Slurm writes where a plain number cannot say "none"
constexpr uint32_t kNoNumber = 0xfffffffe;

uint32_t step_tasks(const StepView& v) {
  if (v.step->layout != nullptr) return v.step->layout->num_tasks;
  return std::max(v.spec().num_tasks, 1U);
}
std::string_view step_nodes(const StepView& v) {
  return v.step->layout != nullptr ? std::string_view(v.step->layout->node_list)
                                   : std::string_view();
}
// Where nothing was asked for: with no more tasks than nodes, blocks are the same as turns, and
// Slurm says the latter inside of a job. Of srun's own jobs it always says blocks.
std::string step_distribution(const StepView& v) {
  if (!v.spec().distribution.empty()) return shown_distribution(v.spec().distribution.view());
  const bool one_each = v.step->layout != nullptr && step_tasks(v) <= v.step->layout->nodes.size();
  return one_each && !v.spec().own_job ? "Cyclic" : "Block";
}
bool is_named(const StepView& v) { return v.step->id.step > kMaxNormalStep; }
uint32_t step_cpus(const StepView& v) {
  uint32_t sum = 0;
  if (is_named(v) || v.step->layout == nullptr) return sum;
  for (const StepNode& node : v.step->layout->nodes) sum += node.cpus;
  return sum;
}
Minutes step_limit(const StepView& v) {
  return v.spec().time_limit == 0 ? kInfiniteMinutes : v.spec().time_limit;
}
Duration step_run_time(const StepView& v, Time now) {
  if (v.step->start == kNoTime) return Duration(0);
  const Time to = v.step->end != kNoTime ? v.step->end : now;
  return std::max(Duration(0), to - v.step->start);
}
CpuFrequency frequency_of(const StepView& v) {
  return parse_cpu_frequency(v.spec().cpu_freq.view()).value_or(CpuFrequency{});
}
void show_frequency(const CpuFrequency& frequency, ShowLines& out) {
  if (frequency.min != kNoFrequency) out.word("CPU_min_freq", frequency_name(frequency.min));
  if (frequency.max != kNoFrequency) out.word("CPU_max_freq", frequency_name(frequency.max));
  if (frequency.governor != kNoFrequency) out.word("Governor", frequency_name(frequency.governor));
}
Json frequency_to_json(uint32_t number, bool named) {
  return number == kNoFrequency ? json_number(0, named) : json_number(number);
}
JobId array_job_of(const StepView& v) {
  const auto& array = v.job().job().array;
  return array == nullptr ? JobId{0} : array->array_job;
}
std::string_view user_name(const StepView& v) { return v.job().spec().user_name; }

// clang-format off
#define FIELD [](const StepView& v, const Context& c, std::string& out)
#define KEY [](const StepView& v, const Context& c) -> int64_t
#define UNUSED static_cast<void>(v), static_cast<void>(c)

constexpr StepField kFields[] = {
    {"CPUFreq", '\0', "CPU_FREQ",
     FIELD {
       UNUSED;
       if (is_named(v)) {
         out += "0-0:0";
         return;
       }
       const CpuFrequency frequency = frequency_of(v);
       out.append(short_frequency_name(frequency.min)).append("-").append(short_frequency_name(frequency.max));
       out.append(":").append(frequency_name(frequency.governor));
     }},
    {"tres-freq", '\0', "TRES_FREQ", FIELD { UNUSED; out += or_else(v.spec().tres_freq, "N/A"); }},
    {"tres-per-node", 'b', "TRES_PER_NODE",
     FIELD { UNUSED; out += or_else(v.spec().gres, "N/A"); }},
    {"StepId", 'i', "STEPID", FIELD { UNUSED; append_step_id(v, out); },
     KEY { UNUSED; return static_cast<int64_t>(v.step->id.job) << 32 | v.step->id.step; }},
    {"Name", 'j', "NAME", FIELD { UNUSED; out += step_name(v); }},
    {"StepName", '\0', "NAME", FIELD { UNUSED; out += step_name(v); }},
    {"TimeLimit", 'l', "TIME_LIMIT",
     FIELD { UNUSED; out += format_minutes_short(step_limit(v)); }, nullptr, Grouping::kNone,
     Cut::kNoSpanOnTheRight},
    {"UserName", 'u', "USER", FIELD { UNUSED; out += user_name(v); }},
    {"NumTasks", 'A', "TASKS", FIELD { UNUSED; out += std::to_string(step_tasks(v)); },
     KEY { UNUSED; return step_tasks(v); }},
    {"TimeUsed", 'M', "TIME",
     FIELD { out += format_span_short(step_run_time(v, c.now)); },
     KEY { return step_run_time(v, c.now).count(); }, Grouping::kNone, Cut::kNoSpanOnTheRight},
    {"NodeList", 'N', "NODELIST", FIELD { UNUSED; out += step_nodes(v); }},
    {"Partition", 'P', "PARTITION", FIELD { UNUSED; out += shown_partition(v.job()); }},
    {"StartTime", 'S', "START_TIME",
     FIELD { out += format_time(v.step->start, c.time_form, c.now); },
     KEY { UNUSED; return v.step->start.time_since_epoch().count(); }},
    {"StepState", '\0', "STATE", FIELD { UNUSED; out += step_state_text(v.step->state); }},
    {"UserId", 'U', "UID", FIELD { UNUSED; out += std::to_string(v.job().spec().uid); },
     KEY { UNUSED; return v.job().spec().uid; }},
    {"JobID", '\0', "JOB_ID", FIELD { UNUSED; out += std::to_string(v.step->id.job); },
     KEY { UNUSED; return v.step->id.job; }},
    {"ArrayJobID", '\0', "ARRAY_JOB_ID",
     FIELD { UNUSED; out += std::to_string(array_job_of(v)); }, KEY { UNUSED; return array_job_of(v); }},
    {"ArrayTaskID", '\0', "ARRAY_TASK_ID", FIELD { append_task_id(v.job(), c, out); }},
    {"Container", '\0', "CONTAINER", FIELD { UNUSED; out += "(null)"; }},
    {"Gres", '\0', "TRES_PER_NODE", FIELD { UNUSED; out += or_else(v.spec().gres, "N/A"); }},
    {"Network", '\0', "NETWORK", FIELD { UNUSED; out += or_else(v.spec().network, "(null)"); }},
    {"Nodes", '\0', "NODELIST", FIELD { UNUSED; out += step_nodes(v); }},
    // of MPI, which needs none here
    {"ResvPorts", '\0', "RESERVED_PORTS", FIELD { UNUSED; out += "(null)"; }},
};

#undef FIELD
#undef KEY
#undef UNUSED
// clang-format on

}  // namespace

std::string step_tres(const StepView& v, const std::vector<std::string>& accounting_tres) {
  if (is_named(v) || v.step->layout == nullptr) return "(null)";
  uint64_t memory = 0;
  for (const StepNode& node : v.step->layout->nodes) memory += node.memory_mib;
  std::string out = "cpu=" + std::to_string(step_cpus(v));
  GresShares gres;
  for (const StepNode& node : v.step->layout->nodes) {
    for (const GresShare& share : node.gres)
      add_shares(gres, {{share.name, share.type, share.count, {}, {}}});
  }
  out += gres_tres(gres, accounting_tres);
  if (memory != 0) out.append(",mem=").append(format_memory(memory));
  out.append(",node=").append(std::to_string(v.step->layout->nodes.size()));
  return out;
}

const StepSpec& StepView::spec() const {
  static const StepSpec nothing;
  return step->spec != nullptr ? *step->spec : nothing;
}

std::span<const StepField> step_fields() { return kFields; }

void append_step_id(const StepView& view, std::string& out) {
  // of a component, its own number: 6.0, not 5+1.0
  const Job& job = view.job().job();
  if (job.het != nullptr) out += std::to_string(job.id);
  else append_job_id(view.job(), {}, out);
  out.append(".").append(step_number_text(view.step->id.step));
}

std::string show_step(const StepView& v, const RenderContext& c, bool one_line) {
  std::string id;
  append_step_id(v, id);
  ShowLines out(one_line);
  out.word("StepId", id).word("UserId", v.job().spec().uid);
  out.word("StartTime", format_time(v.step->start, c.time_form, c.now));
  out.word("TimeLimit", format_minutes(step_limit(v)));
  out.line().word("State", step_state_text(v.step->state));
  out.word("Partition", shown_partition(v.job())).word("NodeList", step_nodes(v));
  const size_t nodes = v.step->layout != nullptr ? v.step->layout->nodes.size() : 0;
  out.line().word("Nodes", nodes).word("CPUs", step_cpus(v)).word("Tasks", step_tasks(v));
  out.word("Name", step_name(v)).word("Network", or_else(v.spec().network, "(null)"));
  out.line().word("TRES", step_tres(v, c.accounting_tres));
  out.line().word("ResvPorts", "(null)");
  const CpuFrequency frequency = frequency_of(v);
  if (frequency.min != kNoFrequency || frequency.max != kNoFrequency ||
      frequency.governor != kNoFrequency) {
    show_frequency(frequency, out.line());
  } else {
    out.line().word("CPUFreqReq", "Default");
  }
  if (!is_named(v)) out.word("Dist", step_distribution(v));
  const std::string_view host = is_named(v) ? "" : v.spec().srun_host;
  out.line().word("SrunHost:Pid", fmt::format("{}:{}", or_else(host, "(null)"),
                                              is_named(v) ? 0 : v.spec().srun_pid));
  if (!v.spec().tres_freq.empty()) out.line().word("TresFreq", v.spec().tres_freq);
  if (!v.spec().gres.empty()) out.line().word("TresPerNode", v.spec().gres);
  if (!v.spec().tres_per_step.empty()) out.line().word("TresPerStep", v.spec().tres_per_step);
  const std::string each_task = each_task_has(v.spec());
  if (!each_task.empty()) out.line().word("TresPerTask", each_task);
  return out.take();
}

Json step_to_json(const StepView& v, const RenderContext& c, std::vector<std::string>& warnings) {
  const auto& array = v.record->job.array;
  const bool in_array = array != nullptr && array->task != kNoTask;
  if (!in_array) warnings.emplace_back("Dumping (0xfffffffe) as place holder for null");
  std::string id = step_id_text(v.step->id);
  Json out = Json::object();
  out["array"] = {{"job_id", in_array ? array->array_job : 0},
                  {"task_id", in_array ? array->task : kNoNumber}};
  out["cluster"] = c.cluster;
  out["container"] = "";
  out["container_id"] = "";
  const bool named = is_named(v);
  const CpuFrequency frequency = frequency_of(v);
  out["cpu"] = {{"frequency",
                 {{"min", frequency_to_json(frequency.min, named)},
                  {"max", frequency_to_json(frequency.max, named)},
                  {"governor", frequency_to_json(frequency.governor, named)}}}};
  const std::string tres = step_tres(v, c.accounting_tres);
  out["tres"] = {{"per",
                  {{"cpu", ""},
                   {"memory", ""},
                   {"step", ""},
                   {"node", json_text(v.spec().gres)},
                   {"socket", ""},
                   {"task", each_task_has(v.spec())}}},
                 {"allocation", tres == "(null)" ? "" : tres},
                 {"binding", ""},
                 {"frequency", json_text(v.spec().tres_freq)}};
  out["name"] = json_text(step_name(v));
  out["network"] = json_text(v.spec().network);
  out["nodes"] = json_text(step_nodes(v));
  out["number_cpus"] = step_cpus(v);
  out["number_tasks"] = step_tasks(v);
  out["partition"] = json_text(shown_partition(v.job()));
  out["reserved_ports"] = "";
  out["time"] = {
      {"running", json_number(static_cast<uint64_t>(to_seconds(step_run_time(v, c.now))))},
      {"start", json_time(v.step->start)},
      {"limit", json_limit(step_limit(v))}};
  out["srun"] = {{"host", named ? "" : v.spec().srun_host.str()},
                 {"pid", named ? 0 : v.spec().srun_pid}};
  out["state"] = {json_text(step_state_text(v.step->state))};
  out["id"] = id;
  for (const char* key :
       {"stderr", "stdin", "stdout", "stdin_expanded", "stdout_expanded", "stderr_expanded"}) {
    out[key] = "";
  }
  out["submit_line"] = json_text(v.spec().submit_line);
  out["task"] = {{"distribution", json_text(named ? "Unknown" : step_distribution(v))}};
  out["user"] = json_text(user_name(v));
  return out;
}

}  // namespace sluice
