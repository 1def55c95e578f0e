#include "common/syntax/gpu_frequency.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kOfGpus = "gpu:";
constexpr std::string_view kMemory = "memory=";
constexpr uint32_t kMost = kLowFrequency - 1;  // words are above
constexpr std::pair<std::string_view, uint32_t> kWords[] = {{"low", kLowFrequency},
                                                            {"medium", kMediumFrequency},
                                                            {"high", kHighFrequency},
                                                            {"highm1", kNextToHighFrequency}};

std::optional<uint32_t> frequency_of(std::string_view text) {
  for (const auto& [word, number] : kWords) {
    if (word == text) return number;
  }
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return std::nullopt;
  // what is too large is more than any GPU has
  return std::min(to_number<uint32_t>(text).value_or(kMost), kMost);
}

}  // namespace

std::optional<GpuFrequency> parse_gpu_frequency(std::string_view text) {
  GpuFrequency wanted;
  bool any = false;
  for (const std::string& item : split(text, ',')) {
    if (item.empty()) continue;
    any = true;
    if (item == "verbose") {
      wanted.verbose = true;
      continue;
    }
    const bool memory = item.starts_with(kMemory);
    const auto frequency = frequency_of(memory ? std::string_view(item).substr(kMemory.size())
                                               : std::string_view(item));
    if (!frequency) return std::nullopt;
    (memory ? wanted.memory : wanted.graphics) = *frequency;
  }
  return any ? std::optional(wanted) : std::nullopt;
}

std::string_view gpu_frequency_in(std::string_view tres_freq) {
  return tres_freq.starts_with(kOfGpus) ? tres_freq.substr(kOfGpus.size()) : std::string_view();
}

}  // namespace sluice
