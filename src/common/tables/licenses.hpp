// Licenses= of slurm.conf and --licenses of a job: lists of names and counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/job.hpp"

namespace sluice {

struct LicenseCount {
  std::string name;  // with its server: "ansys@flex"
  uint32_t count = 1;
};

// "matlab:2,ansys@flex", in the order written; nullopt: a name is missing or a count is no number. Slurm takes `;` for
// `,`, and a colon without a count for none.
[[nodiscard]] std::optional<std::vector<LicenseCount>> parse_licenses(std::string_view text);

// How many of this name a list has in all.
[[nodiscard]] uint64_t licenses_of(const std::vector<LicenseCount>& list, std::string_view name);

// From its start until its end is ordered; a suspended job keeps them.
[[nodiscard]] bool holds_licenses(const Job& job);

}  // namespace sluice
