// --cpu-freq and CpuFreqDef: at which frequency, or by which governor, the CPUs of a step are to
// run. Pure.
//
//   P1          a frequency (kHz or a word) for the governor UserSpace, or a governor
//   P1-P2[:P3]  the lowest and the highest frequency, and a governor
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice {

// Frequencies in kHz; words and governors by the numbers that Slurm writes in --json.
inline constexpr uint32_t kNoFrequency = 0xfffffffe;
inline constexpr uint32_t kLowFrequency = 0x80000001;
inline constexpr uint32_t kMediumFrequency = 0x80000002;
inline constexpr uint32_t kHighFrequency = 0x80000003;
inline constexpr uint32_t kNextToHighFrequency = 0x80000004;
inline constexpr uint32_t kUserSpaceGovernor = 0x80800000;

struct CpuFrequency {
  uint32_t min = kNoFrequency;
  uint32_t max = kNoFrequency;  // without min: the one to run at
  uint32_t governor = kNoFrequency;
};

// Words may be cut short. The error is Slurm's.
[[nodiscard]] Result<CpuFrequency> parse_cpu_frequency(std::string_view text);
// What CpuFreqDef may say: a number or a governor.
[[nodiscard]] bool is_default_frequency(std::string_view text);
// "Low-High:OnDemand", as SLURM_CPU_FREQ_REQ has it.
[[nodiscard]] std::string cpu_frequency_text(const CpuFrequency& frequency);
// "Low", "1500000", "OnDemand"; "Unknown".
[[nodiscard]] std::string frequency_name(uint32_t number);
// The same with "1.50G" for a number.
[[nodiscard]] std::string short_frequency_name(uint32_t number);
// Of those that a CPU or GPU has, ascending and not empty: the one of a word, or the lowest that is
// not below a number; the highest where all are.
[[nodiscard]] uint32_t choose_frequency(const std::vector<uint32_t>& all, uint32_t wanted);
// CpuFreqGovernors.
[[nodiscard]] bool allows_governor(const std::vector<std::string>& governors, uint32_t governor);

}  // namespace sluice
