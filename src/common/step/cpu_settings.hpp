// How the CPUs of this host run (cpufreq), and what a node remembers of those that steps have
// changed, in <SlurmdSpoolDir>/cpufreq: a file for each CPU, or group of CPUs that the kernel only
// sets together, with how it ran before, and with what each step wants that runs there. What the
// latest one wants holds; with the last one the file goes, and everything is as before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice {

inline constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

// Frequencies in kHz. Empty, 0: not known, or to be left as it is.
struct CpuSettings {
  std::string governor;
  uint32_t min = 0;
  uint32_t max = 0;
  uint32_t speed = 0;  // for the governor userspace
  friend bool operator==(const CpuSettings&, const CpuSettings&) = default;
};

struct CpuOffer {
  CpuSettings now;
  uint32_t lowest = 0, highest = 0;   // that the hardware can
  std::vector<uint32_t> frequencies;  // ascending; empty: the host does not list them
  std::vector<std::string> governors;
};

// Nothing: the frequency of this CPU cannot be set.
[[nodiscard]] std::optional<CpuOffer> read_cpu_offer(const std::string& cpu_folder, size_t cpu);

// The files to write and their new values, in this order: the kernel takes no lowest frequency
// above the highest one.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> cpu_writes(
    const CpuSettings& now, const CpuSettings& wanted);

class ChangedCpus {
 public:
  explicit ChangedCpus(const std::string& spool_dir, std::string cpu_folder = kCpuFolder)
      : folder_(spool_dir + "/cpufreq"), cpu_folder_(std::move(cpu_folder)) {}

  [[nodiscard]] Status set(const protocol::StepKey& step, size_t cpu,
                           const CpuSettings& wanted) const;
  // On all CPUs that the step has changed. No-op if there are none.
  [[nodiscard]] Status give_back(const protocol::StepKey& step) const;
  // Of all steps: nobody knows any more which of them are over.
  [[nodiscard]] Status give_all_back() const;

 private:
  [[nodiscard]] Status give_back_where(const std::function<bool(std::string_view)>& is_over) const;

  std::string folder_;
  std::string cpu_folder_;
};

}  // namespace sluice
