// Texts of other users on standard output. A terminal is not to obey what others called their jobs.
#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

// mask_controls() of what lies between the characters in `kept`, which are of ASCII.
[[nodiscard]] std::string mask_controls_but(std::string_view text, std::string_view kept);
// The text as standard output may have it: where that is a terminal, without control characters but
// these.
[[nodiscard]] std::string shown_text(std::string_view text, std::string_view kept = "\n");
// A value in a table of one row a line. On a terminal without any control character; elsewhere as
// it is, but that the ends of its lines become "\\n" and "\\r": what is in it looks like no other
// row.
[[nodiscard]] std::string shown_cell(std::string_view value, bool on_terminal);
[[nodiscard]] std::string shown_cell(std::string_view value);
void print_text(std::string_view text, std::string_view kept = "\n");

}  // namespace sluice::cli
