// The figures as lines to be read.
#pragma once

#include <string>
#include <vector>

#include "sim/report/figures.hpp"

namespace sluice::sim {

struct TextOptions {
  bool times = false;  // of passes: they differ from run to run
};

// What was simulated, before anything is told of how it went.
struct Heading {
  std::string trace;  // its name
  uint64_t passed_over = 0;
  std::string requested;      // where requested times come from
  double load = 0;            // offered
  uint64_t end_at_limit = 0;  // jobs whose run time is not known
};

// One result, or two side by side.
[[nodiscard]] std::string report_text(const Heading& heading,
                                      const std::vector<const SimResult*>& results,
                                      const TextOptions& options);

// A line a job, with a line of names before them.
[[nodiscard]] std::string csv_text(const SimResult& result);

}  // namespace sluice::sim
