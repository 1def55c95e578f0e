// What is to be set on a CPU for --cpu-freq, and on a GPU for --gpu-freq, with what its host
// offers. Pure.
#pragma once

#include <string>

#include "common/step/cpu_settings.hpp"
#include "common/step/gpu_clocks.hpp"
#include "common/syntax/gpu_frequency.hpp"

namespace sluice::stepd {

struct FrequencyPlan {
  CpuSettings wanted;
  std::string problem;  // empty: all of the request can be had
};

// A frequency that the host does not have becomes the next higher one.
[[nodiscard]] FrequencyPlan plan_frequency(const CpuFrequency& request, const CpuOffer& offer);

// Of what is not asked for, the highest. `offer` is not empty.
[[nodiscard]] GpuClocks plan_gpu_clocks(const GpuFrequency& request, const GpuOffer& offer);

}  // namespace sluice::stepd
