// --gpu-freq, TresFreq and GpuFreqDef: at which frequencies the GPUs of a step are to run. Pure.
//
//   [memory=]VALUE[,[memory=]VALUE][,verbose]     VALUE: low, medium, high, highm1, or a number of
//   MHz
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/syntax/cpu_frequency.hpp"

namespace sluice {

// In MHz, or a word's number as for CPUs; kNoFrequency: not said.
struct GpuFrequency {
  uint32_t graphics = kNoFrequency;
  uint32_t memory = kNoFrequency;
  bool verbose = false;  // the step says what is set
};

// Nothing: one of the items is wrong, or there is none. Of what is said twice, the last one counts.
[[nodiscard]] std::optional<GpuFrequency> parse_gpu_frequency(std::string_view text);
// What a TresFreq text says of GPUs: "gpu:high" gives "high". Empty: nothing.
[[nodiscard]] std::string_view gpu_frequency_in(std::string_view tres_freq);

}  // namespace sluice
