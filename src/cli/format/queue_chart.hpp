// `sluice explain --queue`: the plan of the scheduler as a chart over time, a line for each job
// that runs or is planned, the first to start first.
#pragma once

#include <string>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::cli {

struct ChartJob {
  std::string id, user, partition, nodes;
  Time start = kNoTime, end = kNoTime;  // of one that runs: until now, and its limit
  bool runs = false;
};

struct Chart {
  std::vector<ChartJob> jobs;
  uint64_t unplanned = 0;  // jobs that wait and have no start
  Time now = kNoTime;
};

// Lines of at most `width` columns (60 at least). The scale is the longest that still shows each
// job; what ends behind it ends with ">". At most `most` jobs; the last line says how many more.
[[nodiscard]] std::vector<std::string> chart_lines(Chart chart, size_t width, size_t most);

}  // namespace sluice::cli
