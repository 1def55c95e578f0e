#include "common/tables/licenses.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice {

std::optional<LicenseCounts> parse_licenses(std::string_view text) {
  std::string commas(text);
  std::ranges::replace(commas, ';', ',');
  LicenseCounts out;
  for (const std::string& item : split_list(commas)) {
    const size_t colon = item.find(':');
    const std::string name = item.substr(0, colon);
    if (name.empty() || name.find_first_of(" =()|") != std::string::npos) return std::nullopt;
    uint32_t count = 1;
    if (colon != std::string::npos) {
      const std::string number = item.substr(colon + 1);
      const auto parsed = to_number<uint32_t>(number);
      if (!parsed && !number.empty()) return std::nullopt;
      count = parsed.value_or(0);
    }
    out[name] += count;
  }
  return out;
}

bool holds_licenses(const Job& job) {
  return job.allocation != nullptr && job.state != JobState::kPending && !is_terminal(job.state);
}

}  // namespace sluice
