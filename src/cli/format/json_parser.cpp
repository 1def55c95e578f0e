// See json_parser.hpp.
#include "cli/format/json_parser.hpp"

#include <algorithm>
#include <string>

#include "common/base/text.hpp"

namespace sluice {
namespace {

// What is older than 42 is not known; it is given the shape of 42.
constexpr unsigned kParsers[] = {kNewestJsonParser, 43, 42, 41, 40};

struct LaterField {
  std::string_view key;     // of the list of records
  std::string_view object;  // of the record in which the field is; empty: the record itself
  std::string_view field;
  unsigned since;
};

constexpr LaterField kLaterFields[] = {
    {"jobs", "", "licenses_allocated", 43}, {"jobs", "", "segment_size", 43},
    {"jobs", "", "stdin_expanded", 43},     {"jobs", "", "stdout_expanded", 43},
    {"jobs", "", "stderr_expanded", 43},    {"jobs", "", "step_id", 44},
    {"jobs", "", "submit_line", 44},        {"partitions", "", "topology", 43},
    {"sinfo", "partition", "topology", 43},
};

}  // namespace

std::span<const unsigned> json_parsers() { return kParsers; }

std::optional<unsigned> find_json_parser(std::string_view name) {
  for (const std::string_view start : {"data_parser/", "v0.0."}) {
    if (name.starts_with(start)) name.remove_prefix(start.size());
    else if (start.front() == 'v') return std::nullopt;
  }
  const auto number = to_number<unsigned>(name);
  const bool known =
      number && std::find(std::begin(kParsers), std::end(kParsers), *number) != std::end(kParsers);
  return known ? number : std::nullopt;
}

void fit_json_parser(std::string_view key, Json& records, unsigned parser) {
  if (!records.is_array()) return;
  for (const LaterField& later : kLaterFields) {
    if (later.key != key || later.since <= parser) continue;
    for (Json& record : records) {
      if (later.object.empty()) record.erase(std::string(later.field));
      else record.at(std::string(later.object)).erase(std::string(later.field));
    }
  }
}

}  // namespace sluice
