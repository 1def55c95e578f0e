#include "cli/format/usage_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/syntax/cpu_frequency.hpp"
#include "cli/format/step_fields.hpp"
#include "common/names/step_names.hpp"

namespace sluice {
namespace {

using Record = protocol::StepUsageRecord;
using Task = protocol::TaskUsage;

// What is measured of a task: its value now, and the most it has been.
struct Measure {
  std::string_view tres;
  uint64_t (*now)(const Task& task);
  uint64_t (*most)(const Task& task);
  std::string (*show)(uint64_t value, bool convert);
};

std::string show_size(uint64_t value, bool convert) { return exact_size(value, convert); }
std::string show_seconds(uint64_t value, bool /*convert*/) {
  return format_span(std::chrono::seconds(value));
}

constexpr uint64_t kKib = 1024;
uint64_t cpu_of(const Task& t) {
  return static_cast<uint64_t>(to_seconds(t.user_cpu + t.system_cpu));
}
uint64_t pages_of(const Task& t) { return t.pages; }
uint64_t read_of(const Task& t) { return t.read_bytes; }
uint64_t written_by(const Task& t) { return t.write_bytes; }

constexpr Measure kCpu{"cpu", cpu_of, cpu_of, show_seconds};
constexpr Measure kRead{"fs/disk", read_of, read_of, show_size};
constexpr Measure kWrite{"fs/disk", written_by, written_by, show_size};
constexpr Measure kMemory{"mem", [](const Task& t) { return t.rss_kib * kKib; },
                          [](const Task& t) { return t.max_rss_kib * kKib; }, show_size};
constexpr Measure kPages{"pages", pages_of, pages_of, show_size};
constexpr Measure kVirtual{"vmem", [](const Task& t) { return t.vsize_kib * kKib; },
                           [](const Task& t) { return t.max_vsize_kib * kKib; }, show_size};
// of what goes in, with energy (which nothing here measures) between the first and the others
constexpr const Measure* kIn[] = {&kCpu, &kRead, &kMemory, &kPages, &kVirtual};
constexpr const Measure* kOut[] = {&kWrite};

// Over the tasks of all nodes.
struct Extreme {
  bool any = false;
  uint64_t value = 0;
  std::string_view node;
  uint32_t task = 0;
};
struct Totals {
  Extreme max;
  Extreme min;
  uint64_t sum = 0;
  uint64_t tasks = 0;
  [[nodiscard]] uint64_t average() const { return tasks == 0 ? 0 : sum / tasks; }
};

Totals totals(const Record& record, const Measure& measure) {
  Totals all;
  for (const protocol::NodeUsage& node : record.nodes) {
    for (const Task& task : node.stats.tasks) {
      const uint64_t most = measure.most(task);
      if (!all.max.any || most > all.max.value) all.max = {true, most, node.node, task.task};
      if (!all.min.any || most < all.min.value) all.min = {true, most, node.node, task.task};
      all.sum += measure.now(task);
      ++all.tasks;
    }
  }
  return all;
}

enum class Part { kAve, kMax, kMaxNode, kMaxTask, kMin, kMinNode, kMinTask, kTot };

std::string part_of(const Record& record, const Measure& measure, Part part, bool convert) {
  const Totals all = totals(record, measure);
  switch (part) {
    case Part::kAve: return measure.show(all.average(), convert);
    case Part::kMax: return measure.show(all.max.value, convert);
    case Part::kMaxNode: return std::string(all.max.node);
    case Part::kMaxTask: return std::to_string(all.max.task);
    case Part::kMin: return measure.show(all.min.value, convert);
    case Part::kMinNode: return std::string(all.min.node);
    case Part::kMinTask: return std::to_string(all.min.task);
    default: return measure.show(all.sum, convert);
  }
}

template <const Measure& kMeasure, Part kPart>
std::string show(const Record& record, bool convert) {
  return part_of(record, kMeasure, kPart, convert);
}

// "cpu=00:00:01,fs/disk=44539,mem=9208K,pages=1,vmem=145236K"
std::string tres_list(const Record& record, std::span<const Measure* const> measures, Part part,
                      bool convert) {
  std::string text;
  for (const Measure* measure : measures) {
    text.append(text.empty() ? "" : ",").append(measure->tres).append("=");
    text += part_of(record, *measure, part, convert);
  }
  return text;
}
template <Part kPart>
std::string tres_in(const Record& record, bool convert) {
  return tres_list(record, kIn, kPart, convert);
}
template <Part kPart>
std::string tres_out(const Record& record, bool convert) {
  return tres_list(record, kOut, kPart, convert);
}

bool is_named(const Record& record) { return record.step.id.step > kMaxNormalStep; }
std::string show_allocation(const Record& record, bool /*convert*/) {
  return is_named(record) ? "" : step_tres(StepView{nullptr, &record.step});
}
std::string show_id(const Record& record, bool /*convert*/) { return step_id_text(record.step.id); }
std::string show_nodes(const Record& record, bool /*convert*/) {
  return record.step.layout != nullptr ? record.step.layout->node_list : std::string();
}
std::string show_tasks(const Record& record, bool /*convert*/) {
  return std::to_string(totals(record, kCpu).tasks);
}
std::string show_pids(const Record& record, bool /*convert*/) {
  std::string text;
  for (const protocol::NodeUsage& node : record.nodes) {
    for (const uint32_t pid : node.stats.pids)
      text.append(text.empty() ? "" : ",").append(std::to_string(pid));
  }
  return text;
}
// Nothing here measures energy or frequencies.
std::string show_nought(const Record& /*record*/, bool /*convert*/) { return "0"; }
template <uint32_t CpuFrequency::*Part>
std::string show_frequency(const Record& record, bool /*convert*/) {
  if (is_named(record)) return "0";
  const std::string_view asked =
      record.step.spec == nullptr ? "" : record.step.spec->cpu_freq.view();
  return short_frequency_name(parse_cpu_frequency(asked).value_or(CpuFrequency{}).*Part);
}

using enum Part;
constexpr UsageField kFields[] = {
    {"AllocTRES", 10, show_allocation},
    {"AveCPU", 10, show<kCpu, kAve>},
    {"AveCPUFreq", 10, show_nought},
    {"AveDiskRead", 12, show<kRead, kAve>},
    {"AveDiskWrite", 12, show<kWrite, kAve>},
    {"AvePages", 10, show<kPages, kAve>},
    {"AveRSS", 10, show<kMemory, kAve>},
    {"AveVMSize", 10, show<kVirtual, kAve>},
    {"ConsumedEnergy", 14, show_nought},
    {"ConsumedEnergyRaw", 17, show_nought},
    {"JobID", -12, show_id},
    {"MaxDiskRead", 12, show<kRead, kMax>},
    {"MaxDiskReadNode", 15, show<kRead, kMaxNode>},
    {"MaxDiskReadTask", 15, show<kRead, kMaxTask>},
    {"MaxDiskWrite", 12, show<kWrite, kMax>},
    {"MaxDiskWriteNode", 16, show<kWrite, kMaxNode>},
    {"MaxDiskWriteTask", 16, show<kWrite, kMaxTask>},
    {"MaxPages", 8, show<kPages, kMax>},
    {"MaxPagesNode", 12, show<kPages, kMaxNode>},
    {"MaxPagesTask", 14, show<kPages, kMaxTask>},
    {"MaxRSS", 10, show<kMemory, kMax>},
    {"MaxRSSNode", 10, show<kMemory, kMaxNode>},
    {"MaxRSSTask", 10, show<kMemory, kMaxTask>},
    {"MaxVMSize", 10, show<kVirtual, kMax>},
    {"MaxVMSizeNode", 14, show<kVirtual, kMaxNode>},
    {"MaxVMSizeTask", 14, show<kVirtual, kMaxTask>},
    {"MinCPU", 10, show<kCpu, kMin>},
    {"MinCPUNode", 10, show<kCpu, kMinNode>},
    {"MinCPUTask", 10, show<kCpu, kMinTask>},
    {"Nodelist", 20, show_nodes},
    {"NTasks", 8, show_tasks},
    {"Pids", 20, show_pids},
    {"ReqCPUFreq", 10, show_frequency<&CpuFrequency::min>},
    {"ReqCPUFreqMin", 13, show_frequency<&CpuFrequency::min>},
    {"ReqCPUFreqMax", 13, show_frequency<&CpuFrequency::max>},
    {"ReqCPUFreqGov", 13, show_frequency<&CpuFrequency::governor>},
    {"TRESUsageInAve", 14, tres_in<kAve>},
    {"TRESUsageInMax", 14, tres_in<kMax>},
    {"TRESUsageInMaxNode", 18, tres_in<kMaxNode>},
    {"TRESUsageInMaxTask", 18, tres_in<kMaxTask>},
    {"TRESUsageInMin", 14, tres_in<kMin>},
    {"TRESUsageInMinNode", 18, tres_in<kMinNode>},
    {"TRESUsageInMinTask", 18, tres_in<kMinTask>},
    {"TRESUsageInTot", 14, tres_in<kTot>},
    {"TRESUsageOutAve", 15, tres_out<kAve>},
    {"TRESUsageOutMax", 15, tres_out<kMax>},
    {"TRESUsageOutMaxNode", 19, tres_out<kMaxNode>},
    {"TRESUsageOutMaxTask", 19, tres_out<kMaxTask>},
    {"TRESUsageOutMin", 15, tres_out<kMin>},
    {"TRESUsageOutMinNode", 19, tres_out<kMinNode>},
    {"TRESUsageOutMinTask", 19, tres_out<kMinTask>},
    {"TRESUsageOutTot", 15, tres_out<kTot>},
};

}  // namespace

std::string exact_size(uint64_t bytes, bool convert) {
  constexpr std::string_view kUnits = "KMGTPE";
  if (!convert || bytes == 0) return std::to_string(bytes);
  size_t unit = 0;
  for (; bytes % kKib == 0 && unit < kUnits.size(); bytes /= kKib) ++unit;
  return unit == 0 ? std::to_string(bytes) : fmt::format("{}{}", bytes, kUnits[unit - 1]);
}

std::span<const UsageField> usage_fields() { return kFields; }

const UsageField* find_usage_field(std::string_view name) {
  for (const UsageField& field : kFields) {
    if (iequals(field.name, name)) return &field;
  }
  for (const UsageField& field : kFields) {
    if (iequals(field.name.substr(0, name.size()), name)) return &field;
  }
  return nullptr;
}

}  // namespace sluice
