#include "cli/sacct/values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/history/history_filter.hpp"
#include "common/names/job_states.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kUnits = "KMGTPE";
constexpr double kKibi = 1024;

// "2.50G", "4664K", "17": `number` of the unit before kUnits[next].
std::string with_unit(double number, size_t next, const SacctContext& context) {
  if (context.unit != 0) {
    const size_t wanted = kUnits.find(context.unit);
    for (; next <= wanted; ++next) number /= kKibi;
    for (; next > wanted + 1; --next) number *= kKibi;
  } else {
    while (number >= kKibi && static_cast<uint64_t>(number) % 1024 == 0 && next < kUnits.size()) {
      number /= kKibi;
      ++next;
    }
  }
  const std::string unit = next == 0 ? std::string() : std::string(1, kUnits[next - 1]);
  if (number == 0) return "0";
  if (std::floor(number) == number) return fmt::format("{}{}", static_cast<uint64_t>(number), unit);
  return fmt::format("{:.2f}{}", number, unit);
}

Time cut(Time time, const SacctContext& context) {
  return context.truncate ? std::clamp(time, context.from, context.until) : time;
}

std::string by_uid(std::string_view state, uint32_t uid) {
  return uid == UINT32_MAX ? std::string(state) : fmt::format("{} by {}", state, uid);
}

}  // namespace

std::string sacct_job_id(const JobHistory& job) {
  if (job.het_job != kNoJob) return fmt::format("{}+{}", job.het_job, job.het_offset);
  if (job.array_job == kNoJob) return fmt::format("{}", job.id);
  if (job.array_task != kNoTask) return fmt::format("{}_{}", job.array_job, job.array_task);
  const std::string limit = job.array_limit > 0 ? fmt::format("%{}", job.array_limit) : "";
  return fmt::format("{}_[{}{}]", job.array_job, job.array_tasks, limit);
}

std::string sacct_job_state(const JobHistory& job, bool by) {
  if (history::was_requeued(job)) return "REQUEUED";
  const std::string_view state = job_state_text(job.state);
  if (!by || job.state != JobState::kCancelled) return std::string(state);
  return by_uid(state, job.ended_by);
}

std::string sacct_step_state(const StepHistory& step, bool by) {
  const std::string_view state = step_state_text(step.state);
  if (!by || step.state != StepState::kCancelled) return std::string(state);
  return by_uid(state, step.ended_by);
}

Duration sacct_suspended(const JobHistory& job, Time now) {
  if (job.suspended_since == kNoTime) return job.suspended;
  const Time until = job.end != kNoTime ? job.end : now;
  return job.suspended + std::max(Duration(0), Duration(until - job.suspended_since));
}

Duration sacct_elapsed(const SacctRow& row, const SacctContext& context) {
  const JobHistory& job = row.record.job;
  const Time start = row.step != nullptr ? row.step->start : job.start;
  Time end = row.step != nullptr ? row.step->end : job.end;
  if (start == kNoTime) return Duration(0);
  // a step whose end nobody told ended with its job at the latest
  if (end == kNoTime) end = row.step != nullptr && job.end != kNoTime ? job.end : context.now;
  const Duration span = cut(end, context) - cut(start, context);
  const Duration out = row.step != nullptr ? span : span - sacct_suspended(job, context.now);
  return std::chrono::seconds(std::max<int64_t>(
      0, to_seconds(cut(end, context)) - to_seconds(cut(start, context)) - to_seconds(span - out)));
}

Duration sacct_planned(const JobHistory& job, Time now) {
  const Time from = job.eligible;
  if (from == kNoTime) return Duration(0);
  const Time until = job.start != kNoTime ? job.start : job.end != kNoTime ? job.end : now;
  return std::chrono::seconds(std::max<int64_t>(0, to_seconds(until) - to_seconds(from)));
}

UsageHistory sacct_usage(const protocol::HistoryJob& record) {
  UsageHistory sum;
  for (const StepHistory& step : record.steps) {
    sum.tasks += step.usage.tasks;
    sum.user_cpu += step.usage.user_cpu;
    sum.system_cpu += step.usage.system_cpu;
  }
  return sum;
}

std::string sacct_cpu_time(Duration time) {
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  const int64_t seconds = to_seconds(time);
  const int64_t days = seconds / kDay, hours = seconds % kDay / kHour,
                minutes = seconds % kHour / kMinute, rest = seconds % kMinute;
  const int64_t millis = time.count() % 1'000'000 / 1000;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, rest);
  if (hours > 0 || millis == 0) return fmt::format("{:02}:{:02}:{:02}", hours, minutes, rest);
  return fmt::format("{:02}:{:02}.{:03}", minutes, rest, millis);
}

std::string sacct_tres(const NamedTresList& list, const SacctContext& context) {
  std::string out;
  for (const NamedTres& one : list) {
    const std::string count =
        one.name == "mem" ? sacct_memory(one.count, context) : fmt::format("{}", one.count);
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", one.name, count);
  }
  return out;
}

uint64_t count_of_tres(const NamedTresList& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &NamedTres::name);
  return found != list.end() ? found->count : 0;
}

std::string sacct_bytes(uint64_t bytes, const SacctContext& context) {
  if (!context.convert) return fmt::format("{}", bytes);
  return with_unit(static_cast<double>(bytes), 0, context);
}

std::string sacct_memory(uint64_t mebibytes, const SacctContext& context) {
  if (!context.convert) return fmt::format("{}M", mebibytes);
  return with_unit(static_cast<double>(mebibytes), 2, context);
}

std::string sacct_disk(double bytes, const SacctContext& context) {
  const double megabytes = bytes / (kKibi * kKibi);
  if (!context.convert) return fmt::format("{}", static_cast<uint64_t>(bytes));
  const std::string text = with_unit(megabytes, 2, context);
  return text == "0.00M" && megabytes > 0 ? "0.00M" : text;
}

std::string sacct_file(const SacctRow& row, const std::string& pattern, bool expand) {
  if (!expand) return pattern;
  const JobHistory& job = row.record.job;
  const bool task = job.array_job != kNoJob && job.array_task != kNoTask;
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    size_t at = i + 1;
    size_t width = 0;
    for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9' && width < 10; ++at)
      width = width * 10 + static_cast<size_t>(pattern[at] - '0');
    const char letter = at < pattern.size() ? pattern[at] : '\0';
    std::string value;
    switch (letter) {
      case '%': value = "%"; break;
      case 'j':
      case 'J': value = fmt::format("{:0{}}", job.id, width); break;
      case 'A': value = fmt::format("{:0{}}", task ? job.array_job : job.id, width); break;
      case 'a': value = fmt::format("{:0{}}", task ? job.array_task : 4294967294U, width); break;
      case 'u': value = job.user; break;
      case 'x': value = job.name; break;
      case 'b':
      case 's': value = row.step != nullptr ? fmt::format("{}", row.step->id.step) : "batch"; break;
      default: value = pattern.substr(i, at + 1 - i);
    }
    out += value;
    i = at;
  }
  if (!out.empty() && out.front() != '/') out = fmt::format("{}/{}", job.work_dir, out);
  return out;
}

}  // namespace sluice::cli
