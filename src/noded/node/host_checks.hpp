// What an agent looks at before it serves: a node that cannot begin a step takes one job after
// another and fails them all.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace sluice::noded {

// Errors name the file: it is not there, is no program, or is not executable for this process.
[[nodiscard]] Status may_run(const std::string& program);

// Makes a file in the folder and removes it. A full disk is no error: what runs goes on, and its
// ends are reported.
[[nodiscard]] Status may_write_in(const std::string& folder);

}  // namespace sluice::noded
