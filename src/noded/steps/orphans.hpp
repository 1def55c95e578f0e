// Processes of a step whose daemon died, on a node without control groups: nobody is their
// subreaper any more, so they are known by their user and by what their environment says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::noded {

// True when `block` (KEY=VALUE texts, each ended by NUL) holds every one of `marks`.
[[nodiscard]] bool holds_marks(std::string_view block, const std::vector<std::string>& marks);

// Kills every process of this user, in all its user ids, whose environment holds all of `marks`
// ("SLURM_JOB_ID=5"), until there is none (or it cannot be killed). One that became another user
// (sudo, a service of the host) is none of the step's, whatever its environment says. How many
// there were.
size_t kill_marked(const std::vector<std::string>& marks, uint32_t uid);

// Whether /proc/PID/status tells of four times this user id: real, effective, saved, of files.
[[nodiscard]] bool is_wholly_of(std::string_view status, uint32_t uid);

}  // namespace sluice::noded
