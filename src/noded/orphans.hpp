// Processes of a step whose daemon died: nobody is their subreaper any more, so they are known by
// what their environment says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::noded {

// True when `block` (KEY=VALUE texts, each ended by NUL) holds every one of `marks`.
[[nodiscard]] bool holds_marks(std::string_view block, const std::vector<std::string>& marks);

// Kills every process whose environment holds all of `marks` ("SLURM_JOB_ID=5"), until there is
// none (or it cannot be killed). How many there were.
size_t kill_marked(const std::vector<std::string>& marks);

}  // namespace sluice::noded
