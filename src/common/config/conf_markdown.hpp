// The part of docs/configuration.md that follows from the tables of keys.
#pragma once

#include <string>

namespace sluice::tables {

inline constexpr const char* kConfMarkdownStart = "<!-- keys: made from the tables -->\n";

// Sections with one row a key: what may be written, the default, whether it does something, and
// whether a reconfigure changes it.
[[nodiscard]] std::string conf_keys_markdown();

}  // namespace sluice::tables
