// What becomes of a text in a log: one line, that a reader's terminal does not obey, of bounded
// length.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace sluice::log {

inline constexpr size_t kMaxLineBytes = 16384;  // of the text; what is longer was made to be

// Control characters as escape_controls() shows them; of a long text the beginning and how much was
// left out.
[[nodiscard]] std::string log_line(std::string_view text);

// fmt::vformat() that keeps no more than log_line() may show.
[[nodiscard]] std::string bounded_text(fmt::string_view format, fmt::format_args args);

}  // namespace sluice::log
