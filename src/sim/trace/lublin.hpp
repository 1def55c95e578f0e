// A synthetic load: the model of rigid jobs by Lublin and Feitelson ("The workload on parallel
// supercomputers: modeling the characteristics of rigid jobs", J. Parallel and Distributed
// Computing 63, 2003), with the parameters that the paper gives for all jobs together.
#pragma once

#include <cstdint>

#include "sim/trace/random.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

class LublinModel {
 public:
  // `processors`: of the machine; the largest job has as many.
  LublinModel(uint32_t processors, uint64_t seed);

  // Sizes: some are serial, the logarithm of the others is uniform in two stages, and most of these
  // are rounded to powers of two.
  [[nodiscard]] uint32_t size();
  // Run times: the logarithm is hyper-gamma; the larger a job, the likelier is the longer branch.
  [[nodiscard]] int64_t run_seconds(uint32_t size);
  // The time from one job to the next: the logarithm is gamma; it passes slowly by night, as the
  // half-hours of a day have weights.
  [[nodiscard]] double next_arrival(double now);

 private:
  static constexpr int kSlots = 48;  // half-hours of a day
  double log_size_;                  // to the base of two
  uint32_t processors_;
  double weight_[kSlots] = {};  // how fast time passes; 1 on average
  Random random_;
};

// So many jobs; the first comes at 0, which is midnight.
[[nodiscard]] Trace lublin_load(uint32_t jobs, uint32_t processors, uint64_t seed);

}  // namespace sluice::sim
