#include "sim/trace/trace.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/text.hpp"
#include "sim/trace/random.hpp"

namespace sluice::sim {

void sort_by_submission(Trace& trace) {
  if (trace.jobs.empty()) return;
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit_s);
  const int64_t first = trace.jobs.front().submit_s;
  for (TraceJob& job : trace.jobs) job.submit_s -= first;
  trace.begin += std::chrono::seconds(first);
}

void join_components(Trace& trace) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<TraceJob> joined;
  joined.reserve(trace.jobs.size());
  size_t first = kNone;  // of the job whose components come
  for (TraceJob& job : trace.jobs) {
    const size_t plus = job.id.find('+');
    const std::string_view behind =
        plus == std::string::npos ? std::string_view() : std::string_view(job.id).substr(plus + 1);
    const uint32_t offset = to_number<uint32_t>(behind).value_or(UINT32_MAX);
    if (offset == 0) {
      first = joined.size();
    } else if (offset == UINT32_MAX) {
      first = kNone;
    } else if (first == kNone || joined[first].components != offset ||
               joined[first].id.compare(0, plus + 1, job.id, 0, plus + 1) != 0) {
      ++trace.passed_over;
      continue;
    }
    joined.push_back(std::move(job));
    if (first != kNone) ++joined[first].components;
  }
  trace.jobs = std::move(joined);
  for (TraceJob& job : trace.jobs) job.components = job.components < 2 ? 0 : job.components;
}

double work_of(const Trace& trace) {
  double work = 0;
  for (const TraceJob& job : trace.jobs) {
    const int64_t most = int64_t{limit_minutes(job)} * 60;
    work += static_cast<double>(job.cpus) * static_cast<double>(std::min(job.run_s, most));
  }
  return work;
}

double offered_load(const Trace& trace, uint64_t cpus) {
  if (trace.jobs.empty() || cpus == 0) return 0;
  const int64_t span = trace.jobs.back().submit_s;
  return span <= 0 ? 0 : work_of(trace) / (static_cast<double>(span) * static_cast<double>(cpus));
}

void scale_to_load(Trace& trace, double load, uint64_t cpus) {
  const double factor = offered_load(trace, cpus) / load;
  if (factor <= 0) return;
  for (TraceJob& job : trace.jobs) {
    job.submit_s = static_cast<int64_t>(std::llround(static_cast<double>(job.submit_s) * factor));
  }
}

void set_requested_times(Trace& trace, RequestedTime how, uint64_t seed) {
  constexpr double kMostFactor = 5;
  Random random(seed);
  for (TraceJob& job : trace.jobs) {
    if (how == RequestedTime::kTrace && job.limit_s > 0) continue;
    job.limit_s = job.run_s;
    if (how != RequestedTime::kFactor) continue;
    const double factor = 1 + (kMostFactor - 1) * random.uniform();
    job.limit_s = static_cast<int64_t>(std::ceil(static_cast<double>(job.run_s) * factor));
  }
}

Minutes limit_minutes(const TraceJob& job) {
  const int64_t seconds = job.limit_s > 0 ? job.limit_s : job.run_s;
  const int64_t minutes = (seconds + 59) / 60;
  return static_cast<Minutes>(std::clamp<int64_t>(minutes, 1, kInfiniteMinutes - 1));
}

}  // namespace sluice::sim
