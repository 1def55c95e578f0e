// The sentence of each error code, as Slurm words it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice {

[[nodiscard]] std::string_view error_sentence(ErrorCode code);

// The first code that has this sentence; kError: none has.
[[nodiscard]] ErrorCode error_code_of(std::string_view sentence);

// What to show of an error: its own text, or its code's sentence when it has none.
[[nodiscard]] std::string error_text(const Error& error);

// The text of one of Slurm's own numbers (2017) or of the system's (2); scontrol errnumstr.
[[nodiscard]] std::string error_number_text(uint32_t number);
// The number of Slurm's that has this text.
[[nodiscard]] std::optional<uint32_t> error_number_of(std::string_view text);

}  // namespace sluice
