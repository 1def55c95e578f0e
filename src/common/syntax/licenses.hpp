// Licenses= of slurm.conf and --licenses of a job: lists of names and counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct Job;
struct JobSpec;

// How many of each name, which may have its server with it: "ansys@flex".
using LicenseCounts = std::map<std::string, uint64_t, std::less<>>;

// "matlab:2,ansys@flex", a name that stands twice summed up; nullopt: a name is missing or a count
// is no number. Slurm takes `;` for `,`, and a colon without a count for none.
[[nodiscard]] std::optional<LicenseCounts> parse_licenses(std::string_view text);

// "license/matlab=2" of --tres-per-task: a job holds as many of them for each of its tasks.
inline constexpr std::string_view kLicenseKind = "license/";
// What `licenses` of a job become when its tasks (their number, or what each has) do. A list that
// the tasks' own are not in, as they were before, was set by Licenses= since then, and stays.
struct TaskLicenses {
  std::string_view tres_per_task;
  uint64_t tasks = 0;
};
[[nodiscard]] TaskLicenses licenses_of_tasks(const JobSpec& spec);
[[nodiscard]] std::string follow_tasks(std::string_view licenses, const TaskLicenses& before,
                                       const TaskLicenses& after);

// From its start until its end is ordered; a suspended job keeps them.
[[nodiscard]] bool holds_licenses(const Job& job);

}  // namespace sluice
