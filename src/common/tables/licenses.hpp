// Licenses= of slurm.conf and --licenses of a job: lists of names and counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/model/job.hpp"

namespace sluice {

// How many of each name, which may have its server with it: "ansys@flex".
using LicenseCounts = std::map<std::string, uint64_t, std::less<>>;

// "matlab:2,ansys@flex", a name that stands twice summed up; nullopt: a name is missing or a count is no number. Slurm
// takes `;` for `,`, and a colon without a count for none.
[[nodiscard]] std::optional<LicenseCounts> parse_licenses(std::string_view text);

// From its start until its end is ordered; a suspended job keeps them.
[[nodiscard]] bool holds_licenses(const Job& job);

}  // namespace sluice
