// What a TaskProlog prints steers the task: `export NAME=value`, `unset NAME`, `print text`.
#pragma once

#include <string>
#include <string_view>

#include "common/environment/environment.hpp"

namespace sluice::stepd {

// Changes `env` as `output` says and returns what is to be printed to the task's standard output.
[[nodiscard]] std::string apply_task_prolog(std::string_view output, Environment& env);

}  // namespace sluice::stepd
