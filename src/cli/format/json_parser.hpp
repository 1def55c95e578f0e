// The shapes of --json by the number of their parser. Records are made in the newest shape; an
// older one is the same without the fields that came later.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/format/json_parts.hpp"

namespace sluice {

inline constexpr unsigned kNewestJsonParser = 44;  // data_parser/v0.0.44

// Newest first.
[[nodiscard]] std::span<const unsigned> json_parsers();

// "v0.0.43", also with "data_parser/" before it; nothing when there is no such parser.
[[nodiscard]] std::optional<unsigned> find_json_parser(std::string_view name);

// Takes out of the records under `key` ("jobs", "sinfo" …) what `parser` did not have yet.
void fit_json_parser(std::string_view key, Json& records, unsigned parser);

}  // namespace sluice
