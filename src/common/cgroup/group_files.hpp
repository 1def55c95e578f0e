// The files of control groups: small texts that the kernel makes up when they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cgroup {

// In one write, to a file that is there; the error names path and text.
[[nodiscard]] Status write_group_file(const std::string& path, std::string_view text);

// The number that stands alone in the file; 0 when there is none.
[[nodiscard]] uint64_t number_in(const std::string& path);
// Of the line "KEY NUMBER"; 0 when there is none.
[[nodiscard]] uint64_t number_of(std::string_view text, std::string_view key);
// Numbers one a line, or between blanks.
[[nodiscard]] std::vector<uint64_t> numbers_in(std::string_view text);

// Forks that the limits on processes refused, as the groups in `folder` and below count them: older
// kernels where the process is, newer ones where the limit is and above.
[[nodiscard]] uint64_t fork_refusals_in(const std::string& folder);

// Names of the folders in a folder, sorted.
[[nodiscard]] std::vector<std::string> folders_in(const std::string& path);
// Makes the last folder of a path. No-op if it is there.
[[nodiscard]] Status make_group(const std::string& path);
[[nodiscard]] bool is_folder(const std::string& path);
// Removes the group and those below. False while something is left in one; true if it is not there.
[[nodiscard]] bool remove_groups(const std::string& path);

}  // namespace sluice::cgroup
