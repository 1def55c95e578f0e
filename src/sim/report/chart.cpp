#include "sim/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace sluice::sim {
namespace {

constexpr Color kWhite{255, 255, 255}, kPale{236, 240, 244}, kUsed{122, 168, 214},
    kFull{23, 78, 138}, kQueue{206, 74, 38}, kGrid{205, 211, 217};
constexpr double kLeft = 60, kRight = 940, kTop = 40, kMiddle = 230, kBelow = 262, kBottom = 600;
constexpr size_t kColumns = 440, kMostRows = 130;
constexpr int kShades = 16;

double seconds_between(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}

// Adds `amount` times the seconds of [from, to) that fall into each column of so many seconds.
template <class Add>
void spread(double from, double to, double column_seconds, size_t columns, const Add& add) {
  const double whole = column_seconds * static_cast<double>(columns);
  from = std::clamp(from, 0.0, whole);
  to = std::clamp(to, 0.0, whole);
  auto column = static_cast<size_t>(from / column_seconds);
  while (from < to && column < columns) {
    const double end = std::min(to, column_seconds * static_cast<double>(column + 1));
    if (end > from) add(column, end - from);
    from = end;
    ++column;
  }
}

void fill_queue(const SimResult& result, double column_seconds, Occupation& made) {
  for (const SimJob& job : result.jobs) {
    if (job.id == kNoJob) continue;
    const bool gone = job.start == kNoTime && job.state != JobState::kPending;
    const Time until = job.start != kNoTime ? job.start : gone ? job.submit : result.end;
    spread(seconds_between(result.begin, job.submit), seconds_between(result.begin, until),
           column_seconds, made.columns,
           [&](size_t column, double time) { made.waiting[column] += time / column_seconds; });
  }
}

Color shade(double share) {
  const double level = std::round(std::clamp(share, 0.0, 1.0) * kShades) / kShades;
  const auto mix = [&](uint8_t low, uint8_t high) {
    return static_cast<uint8_t>(std::lround(low + (high - low) * level));
  };
  return {mix(kPale.red, kFull.red), mix(kPale.green, kFull.green), mix(kPale.blue, kFull.blue)};
}

// Neighbours of one shade become one rectangle.
void draw_nodes(const Occupation& seen, Canvas& canvas) {
  const double width = (kRight - kLeft) / static_cast<double>(seen.columns);
  const double height = (kBottom - kBelow) / static_cast<double>(seen.rows);
  canvas.rectangle({kLeft, kBelow}, {kRight - kLeft, kBottom - kBelow}, kPale);
  for (size_t row = 0; row < seen.rows; ++row) {
    for (size_t from = 0; from < seen.columns;) {
      const Color color = shade(seen.cell(row, from));
      size_t to = from + 1;
      while (to < seen.columns && shade(seen.cell(row, to)) == color) ++to;
      if (color != kPale) {
        canvas.rectangle(
            {kLeft + width * static_cast<double>(from), kBelow + height * static_cast<double>(row)},
            {width * static_cast<double>(to - from), height}, color);
      }
      from = to;
    }
  }
}

double column_x(const Occupation& seen, size_t column) {
  const double width = (kRight - kLeft) / static_cast<double>(seen.columns);
  return kLeft + width * (static_cast<double>(column) + 0.5);
}

void draw_lines(const Occupation& seen, double most_waiting, Canvas& canvas) {
  const double height = kMiddle - kTop;
  std::vector<Point> used{{kLeft, kMiddle}}, waiting;
  for (size_t column = 0; column < seen.columns; ++column) {
    const double x = column_x(seen, column);
    used.push_back({x, kMiddle - height * std::min(1.0, seen.used[column])});
    waiting.push_back({x, kMiddle - height * seen.waiting[column] / most_waiting});
  }
  used.push_back({kRight, kMiddle});
  canvas.rectangle({kLeft, kTop}, {kRight - kLeft, height}, kPale);
  canvas.area(used, kUsed);
  canvas.line({{kLeft, kMiddle - height / 2}, {kRight, kMiddle - height / 2}}, kGrid);
  canvas.line(waiting, kQueue);
}

// A step of the time axis that gives ten marks at most.
std::pair<double, const char*> time_step(double seconds) {
  constexpr std::pair<double, const char*> kSteps[] = {
      {60, "min"},        {600, "min"},          {3600, "h"},
      {6 * 3600, "h"},    {86'400, "d"},         {7 * 86'400, "d"},
      {30 * 86'400, "d"}, {180 * 86'400.0, "d"}, {730 * 86'400.0, "d"}};
  for (const auto& step : kSteps) {
    if (seconds / step.first <= 10) return step;
  }
  return {seconds / 10, "d"};
}

void draw_axes(const SimResult& result, double seconds, double most_waiting, Canvas& canvas) {
  const auto [step, unit] = time_step(seconds);
  const double in_unit = std::string_view(unit) == "min" ? 60 : *unit == 'h' ? 3600 : 86'400;
  for (double at = 0; at <= seconds; at += step) {
    const double x = kLeft + (kRight - kLeft) * at / seconds;
    canvas.line({{x, kBottom}, {x, kBottom + 5}}, kFull);
    canvas.text({x, kBottom + 20}, fmt::format("{:.0f} {}", at / in_unit, unit), Align::kMiddle);
  }
  canvas.text({kLeft - 6, kTop + 10}, "100 %", Align::kRight);
  canvas.text({kLeft - 6, kMiddle}, "0 %", Align::kRight);
  canvas.text({kRight + 6, kTop + 10}, fmt::format("{:.0f}", most_waiting), Align::kLeft);
  canvas.text({kRight + 6, kMiddle}, "0", Align::kLeft);
  canvas.text(
      {kLeft, kTop - 14},
      fmt::format("{}: {} CPUs in use (area), jobs waiting (line)", result.name, result.cpus),
      Align::kLeft);
  canvas.text({kLeft, kBelow - 8},
              fmt::format("{} nodes, from {} down to {}: the darker, the fuller",
                          result.nodes.size(), result.nodes.front().name, result.nodes.back().name),
              Align::kLeft);
}

}  // namespace

Occupation occupation_of(const SimResult& result, size_t columns, size_t most_rows) {
  Occupation made;
  made.columns = columns;
  made.rows = std::max<size_t>(1, std::min(most_rows, result.nodes.size()));
  made.cells.resize(made.rows * columns);
  made.used.resize(columns);
  made.waiting.resize(columns);
  const double seconds = seconds_between(result.begin, result.end);
  if (seconds <= 0 || result.nodes.empty()) return made;
  const double column_seconds = seconds / static_cast<double>(columns);
  const auto row_of = [&](size_t node) { return node * made.rows / result.nodes.size(); };
  std::vector<double> row_cpus(made.rows);
  for (size_t node = 0; node < result.nodes.size(); ++node)
    row_cpus[row_of(node)] += result.nodes[node].cpus;
  for (const SimRun& run : result.runs) {
    spread(seconds_between(result.begin, run.start), seconds_between(result.begin, run.end),
           column_seconds, columns, [&](size_t column, double time) {
             for (const NodeShare& share : run.nodes) {
               const size_t row = row_of(share.node);
               const double cpus = share.cpus * time / column_seconds;
               made.cells[row * columns + column] += cpus / row_cpus[row];
               made.used[column] += cpus / static_cast<double>(result.cpus);
             }
           });
  }
  fill_queue(result, column_seconds, made);
  return made;
}

void draw_chart(const SimResult& result, Canvas& canvas) {
  canvas.rectangle({0, 0}, {kChartWidth, kChartHeight}, kWhite);
  const double seconds = seconds_between(result.begin, result.end);
  if (seconds <= 0 || result.nodes.empty()) return;
  const Occupation seen = occupation_of(result, kColumns, kMostRows);
  const double most = std::max(1.0, std::ceil(*std::ranges::max_element(seen.waiting)));
  draw_lines(seen, most, canvas);
  draw_nodes(seen, canvas);
  draw_axes(result, seconds, most, canvas);
}

}  // namespace sluice::sim
