// --json and --yaml: the frame round a command's records, and printing it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/tables/json_parts.hpp"

namespace sluice::cli {

enum class StructuredForm { kNone, kJson, kYaml };

// The argument of --json or --yaml ("", "v0.0.44", "list"); false when it names no parser we have
// (then it was reported).
[[nodiscard]] bool accept_parser(std::string_view command, const char* argument);

// Prints {"KEY": records, further…, "meta": …, "errors": [], "warnings": []}. `further` are pairs
// that come after the records. `command_line` goes into meta.
struct StructuredDocument {
  std::string key;
  Json records;
  Json further = Json::object();
  std::vector<std::string> command_line;
  std::string cluster;
  std::string accounting_storage;  // type of the plugin
};
void print_document(StructuredForm form, StructuredDocument document);

}  // namespace sluice::cli
