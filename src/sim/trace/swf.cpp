#include "sim/trace/swf.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "sim/trace/lines.hpp"

namespace sluice::sim {
namespace {

enum Field : uint8_t {
  kJob,
  kSubmit,
  kWait,
  kRun,
  kAllocated,
  kCpuUsed,
  kMemoryUsed,
  kRequested,
  kRequestedTime,
  kRequestedMemory,
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kPreceding,
  kThinkTime,
  kFields,
};
using Numbers = std::array<double, kFields>;
constexpr double kMostTime = kMostSeconds,
                 kMostCount = 1e9;  // seconds; CPUs, KiB of a processor: anything

// The value of a header line: "; UnixStartTime: 749458803".
void read_header(std::string_view line, Trace& trace) {
  const std::string_view text =
      trim(line.substr(std::min(line.find_first_not_of(';'), line.size())));
  constexpr std::string_view kStart = "UnixStartTime:";
  if (!text.starts_with(kStart)) return;
  const auto seconds = to_number<int64_t>(trim(text.substr(kStart.size())));
  if (seconds && *seconds > 0 && static_cast<double>(*seconds) < kMostTime)
    trace.begin = from_seconds(*seconds);
}

Result<Numbers> numbers_of(std::string_view line, const Place& place) {
  Numbers numbers{};
  size_t count = 0;
  while (true) {
    const size_t from = line.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) break;
    line.remove_prefix(from);
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    const auto number = to_number<double>(word);
    if (!number || !std::isfinite(*number))
      return place.error(fmt::format("field {} is \"{}\", which is no number", count + 1, word));
    if (count < kFields) numbers[count] = *number;
    ++count;
  }
  if (count != kFields)
    return place.error(fmt::format("a job has {} numbers, here are {}", int{kFields}, count));
  return numbers;
}

Status check(const Numbers& n, const Place& place) {
  const auto refuse = [&](int field, double most) -> Status {
    if (n[field] <= most) return {};
    return place.error(fmt::format("field {} is {}, more than {}", field + 1, n[field], most));
  };
  for (const int field : {kSubmit, kRun, kRequestedTime, kThinkTime}) {
    if (Status ok = refuse(field, kMostTime); !ok) return ok;
  }
  for (const int field : {kAllocated, kRequested, kRequestedMemory}) {
    if (Status ok = refuse(field, kMostCount); !ok) return ok;
  }
  if (n[kSubmit] < 0) return place.error("the submit time (field 2) is not known");
  return {};
}

std::string name_of(double number, std::string_view what) {
  return number < 0 ? std::string() : fmt::format("{}{:.0f}", what, number);
}

}  // namespace

Result<Trace> parse_swf(std::string_view text, const std::string& file) {
  constexpr uint64_t kKibOfMib = 1024;
  Trace trace;
  Lines lines(text, file);
  while (lines.next()) {
    const std::string_view line = trim(lines.text());
    if (line.empty()) continue;
    if (line.front() == ';') {
      read_header(line, trace);
      continue;
    }
    const auto numbers = numbers_of(line, lines.place());
    if (!numbers) return tl::unexpected(numbers.error());
    const Numbers& n = *numbers;
    if (Status ok = check(n, lines.place()); !ok) return tl::unexpected(ok.error());
    const double size = n[kRequested] > 0 ? n[kRequested] : n[kAllocated];
    if (n[kRun] < 0 || size < 1) {
      ++trace.passed_over;
      continue;
    }
    TraceJob job;
    job.id = fmt::format("{:.0f}", n[kJob]);
    job.submit_s = static_cast<int64_t>(n[kSubmit]);
    job.run_s = static_cast<int64_t>(std::llround(n[kRun]));
    if (n[kRequestedTime] > 0) job.limit_s = static_cast<int64_t>(std::ceil(n[kRequestedTime]));
    job.cpus = static_cast<uint32_t>(size);
    if (n[kRequestedMemory] > 0) {
      job.memory_kind = MemoryKind::kPerCpu;
      job.memory_mib = (static_cast<uint64_t>(n[kRequestedMemory]) + kKibOfMib - 1) / kKibOfMib;
    }
    job.user = name_of(n[kUser], "user");
    if (n[kPreceding] > 0) {
      const std::string preceding = fmt::format("{:.0f}", n[kPreceding]);
      if (n[kThinkTime] >= 0) {
        job.preceding = preceding;
        job.think_s = static_cast<int64_t>(n[kThinkTime]);
      } else {
        job.dependency = "afterany:" + preceding;
      }
    }
    trace.jobs.push_back(std::move(job));
  }
  sort_by_submission(trace);
  return trace;
}

}  // namespace sluice::sim
