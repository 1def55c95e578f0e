// What is said of a simulation, as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/run/result.hpp"

namespace sluice::sim {

// Of some numbers: percentiles are such of them that so many are not above it.
struct Spread {
  uint64_t count = 0;
  double mean = 0;
  double median = 0, p90 = 0, p95 = 0, p99 = 0, most = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

// Of the jobs of a user, or of a size.
struct GroupFigures {
  std::string name;
  uint64_t jobs = 0;  // that started
  double share = 0;   // of the CPU time of all
  Spread wait;        // seconds
  double slowdown = 0;
};

struct Figures {
  uint64_t jobs = 0, refused = 0, started = 0, ended = 0, waiting = 0, running = 0;
  uint64_t timed_out = 0, run_again = 0;
  double utilisation = 0;       // of all CPUs from the first submission to the end
  double utilisation_busy = 0;  // to the last submission
  double work = 0;              // CPU seconds that were used
  Spread wait;                  // seconds, of jobs that started
  // (wait + run) / run, where a run counts as 10 s at least, and no less than 1; of jobs that ended
  Spread slowdown;
  Spread forecast_early;  // seconds by which jobs started before their first forecast, or after it
  Spread forecast_error;  // the same without the sign
  uint64_t forecast_late = 0;  // jobs that started after it
  std::vector<GroupFigures> by_size;
  std::vector<GroupFigures> by_user;  // the ones with most CPU time, then the others together
  PassFigures passes;
};
[[nodiscard]] Figures make_figures(const SimResult& result);

[[nodiscard]] double wait_of(const SimJob& job);      // seconds; of one that started
[[nodiscard]] double slowdown_of(const SimJob& job);  // of one that ended

}  // namespace sluice::sim
