// What is to be set on a CPU for --cpu-freq, with what its host offers. Pure.
#pragma once

#include <string>

#include "common/step/cpu_settings.hpp"
#include "common/tables/cpu_frequency.hpp"

namespace sluice::stepd {

struct FrequencyPlan {
  CpuSettings wanted;
  std::string problem;  // empty: all of the request can be had
};

// A frequency that the host does not have becomes the next higher one.
[[nodiscard]] FrequencyPlan plan_frequency(const CpuFrequency& request, const CpuOffer& offer);

}  // namespace sluice::stepd
