#include "common/tables/licenses.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice {

std::optional<std::vector<LicenseCount>> parse_licenses(std::string_view text) {
  std::string commas(text);
  std::ranges::replace(commas, ';', ',');
  std::vector<LicenseCount> out;
  for (const std::string& item : split_list(commas)) {
    const size_t colon = item.find(':');
    LicenseCount license{item.substr(0, colon), 1};
    if (license.name.empty() || license.name.find_first_of(" =()|") != std::string::npos) return std::nullopt;
    if (colon != std::string::npos) {
      const std::string count = item.substr(colon + 1);
      const auto number = to_number<uint32_t>(count);
      if (!number && !count.empty()) return std::nullopt;
      license.count = number.value_or(0);
    }
    out.push_back(std::move(license));
  }
  return out;
}

uint64_t licenses_of(const std::vector<LicenseCount>& list, std::string_view name) {
  uint64_t sum = 0;
  for (const LicenseCount& license : list) sum += license.name == name ? license.count : 0;
  return sum;
}

bool holds_licenses(const Job& job) {
  return job.allocation != nullptr && job.state != JobState::kPending && !is_terminal(job.state);
}

}  // namespace sluice
