// --json and --yaml: the frame round a command's records, and printing it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/structured_text.hpp"
#include "cli/format/json_parser.hpp"

namespace sluice::cli {

enum class StructuredForm { kNone, kJson, kYaml };

// What is asked for by --json, --yaml, SLURM_JSON or SLURM_YAML.
struct StructuredChoice {
  StructuredForm form = StructuredForm::kNone;
  unsigned parser = kNewestJsonParser;

  explicit operator bool() const { return form != StructuredForm::kNone; }
};

// Takes the argument of --json or --yaml (null, "v0.0.44", "list"). Exit status 1 when it names no
// parser that is known (then it was reported), else nothing.
[[nodiscard]] std::optional<int> choose_structured(std::string_view command, StructuredForm form,
                                                   const char* argument, StructuredChoice& out);
// The same from the environment.
[[nodiscard]] std::optional<int> choose_structured(std::string_view command, StructuredChoice& out);

// {"KEY": records, further…, "meta": …, "errors": […], "warnings": […]}. `further` are pairs that
// come after the records. `command_line` goes into meta.
struct StructuredDocument {
  std::string key;
  Json records;
  Json further = Json::object();
  std::vector<std::string> command_line;
  std::string cluster;
  std::string accounting_storage;     // type of the plugin
  std::vector<std::string> warnings;  // what the records cannot say
  // as a person is told of them: "slurm_load_jobs error: Invalid job id specified"
  std::vector<std::string> errors;
};
[[nodiscard]] Json make_document(const StructuredChoice& choice, StructuredDocument document);
void print_document(const StructuredChoice& choice, StructuredDocument document);

// Prints the same document record by record, so that none of them is kept.
class DocumentPrinter {
 public:
  DocumentPrinter(const StructuredChoice& choice, std::string key);
  void add(Json record);
  void finish(
      const StructuredDocument& document);  // what follows the records, which are not looked at

 private:
  static constexpr size_t kEnough = 1U << 16;  // bytes to write at once

  StructuredChoice choice_;
  std::string key_;
  DocumentText text_;
  std::string out_;
};

}  // namespace sluice::cli
