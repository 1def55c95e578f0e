// How fast the GPUs of this host run, as NVIDIA's library sets it, and what a node remembers of
// those that steps have changed, in <SlurmdSpoolDir>/gpufreq: a file for each GPU, by the number of
// its device file, with what each step wants that runs there. What the latest one wants holds; with
// the last one the file goes, and the GPU is as its driver has it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/stepd_start.hpp"
#include "common/step/nvml_library.hpp"

namespace sluice {

// In MHz.
struct GpuClocks {
  uint32_t memory = 0;
  uint32_t graphics = 0;
  friend bool operator==(const GpuClocks&, const GpuClocks&) = default;
};

// What can be set: to each clock of the memory, those of the GPU, ascending. In MHz.
using GpuOffer = std::map<uint32_t, std::vector<uint32_t>>;

// The calls about clocks, and the GPUs by the numbers of their device files.
class NvmlClocks {
 public:
  // The error says what is wrong with the library.
  [[nodiscard]] static Result<NvmlClocks> open();
  // Empty: there is no such GPU, or its clocks cannot be set.
  [[nodiscard]] GpuOffer offer(uint32_t gpu) const;
  [[nodiscard]] Status set(uint32_t gpu, GpuClocks clocks) const;
  [[nodiscard]] Status reset(uint32_t gpu) const;
  // As set; zeros where the library does not say.
  [[nodiscard]] GpuClocks now(uint32_t gpu) const;

 private:
  explicit NvmlClocks(NvmlLibrary library);

  using Device = NvmlLibrary::Device;
  NvmlLibrary library_;
  std::map<uint32_t, Device> gpus_;
  int (*memory_clocks_)(Device, unsigned*, unsigned*) = nullptr;
  int (*graphics_clocks_)(Device, unsigned, unsigned*, unsigned*) = nullptr;
  int (*set_clocks_)(Device, unsigned, unsigned) = nullptr;
  int (*reset_clocks_)(Device) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
};

// 3 of "/dev/nvidia3"; nothing: it is no file of a GPU of NVIDIA's.
[[nodiscard]] std::optional<uint32_t> gpu_of_file(std::string_view file);

class ChangedGpus {
 public:
  explicit ChangedGpus(const std::string& spool_dir) : folder_(spool_dir + "/gpufreq") {}

  [[nodiscard]] Status set(const NvmlClocks& nvml, const protocol::StepKey& step, uint32_t gpu,
                           GpuClocks wanted) const;
  // On all GPUs that the step has changed. No-op if there are none: the library is loaded only
  // where there are.
  [[nodiscard]] Status give_back(const protocol::StepKey& step) const;
  // Of all steps: nobody knows any more which of them are over.
  [[nodiscard]] Status give_all_back() const;

 private:
  [[nodiscard]] Status give_back_where(const std::function<bool(std::string_view)>& is_over) const;

  std::string folder_;
};

}  // namespace sluice
