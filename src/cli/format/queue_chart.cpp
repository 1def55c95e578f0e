#include "cli/format/queue_chart.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "common/base/time_text.hpp"

namespace sluice::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr size_t kLeastBars = 24;  // columns
constexpr size_t kTick = 12;       // columns between two times of the scale
constexpr std::array<Duration, 12> kSteps{minutes(1),  minutes(2), minutes(5),    minutes(10),
                                          minutes(30), hours(1),   hours(2),      hours(6),
                                          hours(12),   hours(24),  hours(24 * 7), hours(24 * 30)};

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + "+";
}

struct Columns {
  size_t id = 5, user = 4, partition = 9, nodes = 5;
  [[nodiscard]] size_t sum() const { return id + user + partition + nodes + 4; }
};

Columns columns_of(const Chart& chart) {
  Columns c;
  for (const ChartJob& job : chart.jobs) {
    c.id = std::clamp(job.id.size(), c.id, size_t{12});
    c.user = std::clamp(job.user.size(), c.user, size_t{10});
    c.partition = std::clamp(job.partition.size(), c.partition, size_t{10});
    c.nodes = std::clamp(job.nodes.size(), c.nodes, size_t{16});
  }
  return c;
}

// What one column stands for: the least step with which the last start is shown.
Duration scale_of(const Chart& chart, size_t bars) {
  Time last = chart.now;
  for (const ChartJob& job : chart.jobs) last = std::max(last, job.runs ? job.end : job.start);
  for (const Duration step : kSteps) {
    if (chart.now + step * static_cast<int64_t>(bars - 1) > last) return step;
  }
  return kSteps.back();
}

std::string words_of(Duration step) {
  const auto m = std::chrono::duration_cast<minutes>(step).count();
  if (m < 60) return fmt::format("{} minute{}", m, m == 1 ? "" : "s");
  if (m < 1440) return fmt::format("{} hour{}", m / 60, m == 60 ? "" : "s");
  return fmt::format("{} day{}", m / 1440, m == 1440 ? "" : "s");
}

std::string line_of(const Columns& c, const ChartJob& job) {
  return fmt::format("{:>{}} {:<{}} {:<{}} {:<{}} ", cut(job.id, c.id), c.id, cut(job.user, c.user),
                     c.user, cut(job.partition, c.partition), c.partition, cut(job.nodes, c.nodes),
                     c.nodes);
}

std::string bar_of(const ChartJob& job, Time now, Duration step, size_t bars) {
  const auto column = [&](Time time) {
    const auto at = time <= now ? 0 : (time - now) / step;
    return static_cast<size_t>(std::min<int64_t>(at, static_cast<int64_t>(bars)));
  };
  const size_t from = std::min(column(job.start), bars - 1);
  const size_t to = std::max(column(job.end), from + 1);
  std::string bar(from, '.');
  bar.append(to - from, job.runs ? '=' : '#');
  if (job.end > now + step * static_cast<int64_t>(bars)) bar.back() = '>';
  return bar;
}

std::string scale_line(Time now, Duration step, size_t bars) {
  std::string line;
  for (size_t at = 0; at + 5 <= bars; at += kTick) {
    line.resize(at, ' ');
    const std::string time = format_time(now + step * static_cast<int64_t>(at));
    const bool by_day = step >= hours(2);  // 2026-11-25T20:30:00
    line += by_day ? time.substr(5, 5) : time.substr(11, 5);
  }
  return line;
}

}  // namespace

std::vector<std::string> chart_lines(Chart chart, size_t width, size_t most) {
  std::ranges::stable_sort(chart.jobs, {}, [](const ChartJob& job) {
    return std::tuple(!job.runs, job.runs ? job.end : job.start);
  });
  const size_t all = chart.jobs.size();
  if (all > most) chart.jobs.resize(most);
  const Columns c = columns_of(chart);
  const size_t bars = std::max(kLeastBars, width > c.sum() ? width - c.sum() : 0);
  const Duration step = scale_of(chart, bars);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("At {}; a column is {}, = runs, # is planned.",
                              format_time(chart.now), words_of(step)));
  if (!chart.jobs.empty()) {
    const ChartJob head{.id = "JOBID", .user = "USER", .partition = "PARTITION", .nodes = "NODES"};
    lines.push_back(line_of(c, head) + scale_line(chart.now, step, bars));
  }
  for (const ChartJob& job : chart.jobs)
    lines.push_back(line_of(c, job) + bar_of(job, chart.now, step, bars));
  if (all > most) lines.push_back(fmt::format("and {} more that start later", all - most));
  if (chart.unplanned > 0)
    lines.push_back(
        fmt::format("{} that wait{} have no start: `sluice explain JOB` tells why",
                    chart.unplanned == 1 ? "one job" : fmt::format("{} jobs", chart.unplanned),
                    chart.unplanned == 1 ? "s" : ""));
  return lines;
}

}  // namespace sluice::cli
