// Text that users made, for logs and terminals: a name may hold what moves the cursor, changes
// colours, has letters shown in another order, or looks like the end of a line with another one
// behind it.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// No control character of ASCII or Unicode (C0, DEL, C1) is in it, none of those by which text runs
// from right to left (U+061C, U+200E, U+200F, U+202A-202E, U+2066-2069), and all of it is UTF-8.
[[nodiscard]] bool is_printable(std::string_view text);
// What is not printable becomes visible, byte by byte, as in C: "\\n", "\\t", "\\x1b". Nothing else
// changes.
[[nodiscard]] std::string escape_controls(std::string_view text);
// The same for columns, which keep their width: each such byte becomes "?".
[[nodiscard]] std::string mask_controls(std::string_view text);

}  // namespace sluice
