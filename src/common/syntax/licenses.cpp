#include "common/syntax/licenses.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/model/job.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_state.hpp"

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

namespace {

// "matlab:6": two of each of three tasks.
std::vector<std::string> held_for(const TaskLicenses& what) {
  std::vector<std::string> out;
  for (std::string item : split_list(what.tres_per_task)) {
    if (!item.starts_with(kLicenseKind)) continue;
    item.erase(0, kLicenseKind.size());
    const size_t cut = item.find_first_of("=:");
    const uint64_t each =
        cut == std::string::npos ? 1 : to_number<uint32_t>(item.substr(cut + 1)).value_or(0);
    out.push_back(fmt::format("{}:{}", item.substr(0, cut), each * what.tasks));
  }
  return out;
}

}  // namespace

TaskLicenses licenses_of_tasks(const JobSpec& spec) {
  return {spec.tres_per_task, std::max({1U, spec.num_tasks, spec.min_nodes})};
}

std::string follow_tasks(std::string_view licenses, const TaskLicenses& before,
                         const TaskLicenses& after) {
  std::vector<std::string> items = split_list(licenses);
  for (const std::string& held : held_for(before)) {
    const auto at = std::ranges::find(items, held);
    if (at == items.end()) return std::string(licenses);
    items.erase(at);
  }
  for (std::string& held : held_for(after)) items.push_back(std::move(held));
  return join(items, ",");
}

bool holds_licenses(const Job& job) {
  return job.allocation != nullptr && job.state != JobState::kPending && !is_terminal(job.state);
}

}  // namespace sluice
