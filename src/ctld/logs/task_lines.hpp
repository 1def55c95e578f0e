// One line in place of one for each task, where a command reaches many tasks of an array.
#pragma once

#include <vector>

#include "common/log/log.hpp"

namespace sluice::ctld {

// Of more than a hundred lines that differ by a task of one array alone the first, with all of
// their tasks: "JobId=6_[1-500]" in place of "JobId=6_1(17)". O(bytes of all lines).
[[nodiscard]] std::vector<log::Line> tasks_in_one_line(std::vector<log::Line> lines);

}  // namespace sluice::ctld
