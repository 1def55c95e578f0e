// Which of a step's GPUs a task may use: --gpu-bind. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bitmap.hpp"

namespace sluice::stepd {

struct StepGpu {
  uint32_t unit = 0;  // its number on the node
  Bitmap cores;       // near ones; none set: all
};
struct GpuBinding {
  Bitmap units;
  std::string complaint;  // for the task's stderr; empty: none
};

// `bind` is "per_task:1", "map_gpu:0,1" and so on, maybe with "verbose," in front; empty and
// "none": all of them. `cores`: those of the task, for "closest".
[[nodiscard]] GpuBinding gpus_of_task(const std::vector<StepGpu>& gpus, std::string_view bind,
                                      uint32_t local_task, const Bitmap& cores);
[[nodiscard]] bool wants_gpu_report(std::string_view bind);  // "verbose," is in front of a binding
// What a task with a choice among the step's GPUs says of it: masks and lists of the ones it may
// use.
[[nodiscard]] std::string gpu_report(const std::vector<StepGpu>& gpus, const Bitmap& bound);
// The part of a --tres-bind text that is about GPUs: "gres/gpu:single:1" gives "single:1".
[[nodiscard]] std::string_view gpu_part(std::string_view tres_bind);

}  // namespace sluice::stepd
