#include "sim/trace/sacct.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "sim/trace/lines.hpp"

namespace sluice::sim {
namespace {

// One record's cells by the names of the header.
class Record {
 public:
  Record(const std::vector<std::string>& names, std::vector<std::string> cells)
      : names_(names), cells_(std::move(cells)) {}
  [[nodiscard]] bool has(std::string_view name) const { return !cell(name).empty(); }
  // Empty where there is none, or nothing in it.
  [[nodiscard]] std::string_view cell(std::string_view name) const {
    for (size_t i = 0; i < names_.size() && i < cells_.size(); ++i) {
      if (iequals(names_[i], name)) return trim(cells_[i]);
    }
    return {};
  }
  // The first of them that has something in it.
  [[nodiscard]] std::string_view any_of(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (has(name)) return cell(name);
    }
    return {};
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<std::string> cells_;
};

// 2026-11-21T02:38:22, as if it were UTC: a machine's time zone must not change a result. nullopt:
// Unknown, None.
std::optional<int64_t> seconds_of(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t size) {
    return to_number<unsigned>(text.substr(at, size)).value_or(0);
  };
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2)));
  if (!day.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(day).time_since_epoch();
  return int64_t{86'400} * days.count() + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2);
}

std::optional<int64_t> run_of(const Record& record) {
  if (const auto raw = to_number<int64_t>(record.cell("ElapsedRaw"))) return raw;
  if (const auto span = parse_span(record.cell("Elapsed"), std::chrono::seconds(1)))
    return to_seconds(*span);
  const auto start = seconds_of(record.cell("Start")), end = seconds_of(record.cell("End"));
  if (start && end) return *end - *start;
  return std::nullopt;
}

// "cpu=4,mem=8G,node=2,gres/gpu=2".
struct Tres {
  uint32_t cpus = 0, nodes = 0;
  uint64_t memory_mib = 0;
  std::string gres;
};
Tres tres_of(std::string_view text) {
  Tres tres;
  for (const std::string& item : split_list(text)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(item).substr(0, equals);
    const std::string_view value = std::string_view(item).substr(equals + 1);
    if (name == "cpu") tres.cpus = parse_count(value).value_or(0);
    if (name == "node") tres.nodes = parse_count(value).value_or(0);
    if (name == "mem") tres.memory_mib = parse_memory(value).value_or(0);
    constexpr std::string_view kGres = "gres/";
    // one with a type is told once more without it
    if (!name.starts_with(kGres) || name.find(':') != std::string_view::npos) continue;
    tres.gres +=
        (tres.gres.empty() ? "" : ",") + fmt::format("{}:{}", name.substr(kGres.size()), value);
  }
  return tres;
}

// "4G"; "4Gc" is of a CPU and "4Gn" of a node, as sacct said before 21.08.
void set_memory(std::string_view text, const Tres& tres, TraceJob& job) {
  const bool per_cpu = text.ends_with('c'), per_node = text.ends_with('n');
  if (per_cpu || per_node) text.remove_suffix(1);
  const uint64_t mib = text.empty() ? tres.memory_mib : parse_memory(text).value_or(0);
  if (mib == 0) return;
  const uint64_t nodes = std::max<uint64_t>(1, job.nodes);
  if (per_cpu || (job.nodes <= 1 && job.cpus > 1 && !per_node)) {
    job.memory_kind = MemoryKind::kPerCpu;
    job.memory_mib = per_cpu ? mib : (mib + job.cpus - 1) / job.cpus;
  } else {
    job.memory_kind = MemoryKind::kPerNode;
    job.memory_mib = per_node ? mib : (mib + nodes - 1) / nodes;
  }
}

void set_limit(const Record& record, TraceJob& job) {
  const auto raw = to_number<int64_t>(record.cell("TimelimitRaw"));
  const auto minutes = parse_minutes(record.cell("Timelimit"));
  if (raw && *raw > 0) job.limit_s = *raw * 60;
  else if (minutes && *minutes == kInfiniteMinutes) job.limit_s = int64_t{365} * 86'400;
  else if (minutes) job.limit_s = int64_t{*minutes} * 60;
}

Status check_header(const std::vector<std::string>& names, const Place& place) {
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return iequals(name, wanted); });
  };
  const bool run = has("ElapsedRaw") || has("Elapsed") || (has("Start") && has("End"));
  const bool size = has("ReqCPUS") || has("NCPUS") || has("AllocCPUS") || has("ReqTRES");
  if (has("Submit") && run && size) return {};
  return place.error(
      "the first line of an export by sacct --parsable2 names its columns, among them Submit, "
      "ElapsedRaw (or Elapsed, or Start and End) and ReqCPUS (or NCPUS, AllocCPUS, ReqTRES)");
}

// Times that could be added to one another.
Status check_times(const Record& record, int64_t submit, const Place& place) {
  if (submit < 0 || submit > kMostSeconds)
    return place.error(
        fmt::format("Submit is {}, which is before 1970 or after 2096", record.cell("Submit")));
  if (const auto run = run_of(record); run && *run > kMostSeconds)
    return place.error(fmt::format("the job ran for {} s, more than {}", *run, kMostSeconds));
  const auto minutes = to_number<int64_t>(record.cell("TimelimitRaw"));
  if (minutes && *minutes > kMostSeconds / 60)
    return place.error(
        fmt::format("TimelimitRaw is {}, more than {}", *minutes, kMostSeconds / 60));
  return {};
}

// nullopt: the job never ran, or nothing tells how large it is.
std::optional<TraceJob> job_of(const Record& record, int64_t submit) {
  const auto run = run_of(record);
  const Tres tres = tres_of(record.cell("ReqTRES"));
  TraceJob job;
  job.cpus = tres.cpus;
  if (job.cpus == 0)
    job.cpus = parse_count(record.any_of({"ReqCPUS", "NCPUS", "AllocCPUS"})).value_or(0);
  const bool ran = seconds_of(record.cell("Start")).has_value() || !record.has("Start");
  if (!run || *run < 0 || job.cpus == 0 || !ran) return std::nullopt;
  job.id = record.any_of({"JobID", "JobIDRaw"});
  job.submit_s = submit;
  job.run_s = *run;
  job.nodes = tres.nodes;
  if (job.nodes == 0) job.nodes = parse_count(record.any_of({"ReqNodes", "NNodes"})).value_or(0);
  if (job.nodes <= 1) job.nodes = 0;
  set_memory(record.cell("ReqMem"), tres, job);
  set_limit(record, job);
  job.user = record.cell("User");
  job.account = record.cell("Account");
  job.partition = record.cell("Partition");
  job.constraint = record.cell("Constraints");
  job.gres = tres.gres;
  job.reservation = record.cell("Reservation");
  return job;
}

}  // namespace

Result<Trace> parse_sacct(std::string_view text, const std::string& file) {
  Trace trace;
  Lines lines(text, file);
  std::vector<std::string> names;
  while (lines.next()) {
    if (trim(lines.text()).empty()) continue;
    if (names.empty()) {
      names = split(trim(lines.text()), '|');
      if (Status ok = check_header(names, lines.place()); !ok) return tl::unexpected(ok.error());
      continue;
    }
    const Record record(names, split(lines.text(), '|'));
    if (record.any_of({"JobID", "JobIDRaw"}).find('.') != std::string_view::npos)
      continue;  // a step
    const auto submit = seconds_of(record.cell("Submit"));
    if (!submit)
      return lines.place().error(fmt::format(
          "Submit is \"{}\", which is no time like 2026-11-21T02:38:22", record.cell("Submit")));
    if (Status ok = check_times(record, *submit, lines.place()); !ok)
      return tl::unexpected(ok.error());
    if (auto job = job_of(record, *submit)) trace.jobs.push_back(std::move(*job));
    else ++trace.passed_over;
  }
  if (names.empty()) return failure(file + ": there is nothing in it");
  trace.begin = kNoTime;
  sort_by_submission(trace);
  join_components(trace);
  sort_by_submission(trace);  // the first may have been passed over
  return trace;
}

}  // namespace sluice::sim
