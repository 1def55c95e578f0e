// The machine over time as a picture: how many CPUs are used and how many jobs wait, and below it
// how full each node is.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/canvas.hpp"
#include "sim/run/result.hpp"

namespace sluice::sim {

inline constexpr double kChartWidth = 1000, kChartHeight = 640;

// Averages over equal parts of the time.
struct Occupation {
  size_t columns = 0, rows = 0;
  std::vector<double> cells;    // share of CPUs used: row by row, each of some nodes in a row
  std::vector<double> used;     // share of all CPUs, by column
  std::vector<double> waiting;  // jobs, by column
  [[nodiscard]] double cell(size_t row, size_t column) const {
    return cells[row * columns + column];
  }
};
[[nodiscard]] Occupation occupation_of(const SimResult& result, size_t columns, size_t most_rows);

void draw_chart(const SimResult& result, Canvas& canvas);

}  // namespace sluice::sim
