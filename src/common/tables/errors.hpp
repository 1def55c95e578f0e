// The sentence of each error code, as Slurm words it.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice {

[[nodiscard]] std::string_view error_sentence(ErrorCode code);

// What to show of an error: its own text, or its code's sentence when it has none.
[[nodiscard]] std::string error_text(const Error& error);

}  // namespace sluice
