// See structured_output.hpp.
#include "cli/format/structured_output.hpp"

#include <cstdio>

#include <grp.h>
#include <unistd.h>

#include "cli/format/environment.hpp"
#include "cli/format/table_printer.hpp"
#include "cli/shared/user_names.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {
namespace {

// Slurm's number of what has none of its own
constexpr uint32_t kAnyError = static_cast<uint32_t>(-1);

std::string parser_name(unsigned parser) { return "data_parser/v0.0." + std::to_string(parser); }

Json make_meta(const StructuredDocument& document, unsigned parser) {
  const group* own_group = getgrgid(getgid());
  const std::vector<std::string> version = split(kSlurmVersion, '.');
  return {{"plugin",
           {{"type", ""},
            {"name", ""},
            {"data_parser", parser_name(parser)},
            {"accounting_storage", document.accounting_storage}}},
          {"client",
           {{"source", ""},
            {"user", own_name()},
            {"group", own_group != nullptr ? own_group->gr_name : ""}}},
          {"command", document.command_line},
          {"slurm",
           {{"version", {{"major", version[0]}, {"micro", version[2]}, {"minor", version[1]}}},
            {"release", kSlurmVersion},
            {"cluster", document.cluster}}}};
}

}  // namespace

std::optional<int> choose_structured(std::string_view command, StructuredForm form,
                                     const char* argument, StructuredChoice& out) {
  const std::string_view text = argument != nullptr ? argument : "";
  const std::string_view name = text.substr(0, text.find('+'));
  const auto parser = name.empty() ? kNewestJsonParser : find_json_parser(name);
  if (parser) {
    out = {form, *parser};
    return std::nullopt;
  }
  if (name == "list") {
    std::fprintf(stderr, "Possible data_parser plugins:\n");
    for (const unsigned known : json_parsers())
      std::fprintf(stderr, "%s\n", parser_name(known).c_str());
  } else {
    std::fprintf(stderr, "%s: fatal: Unable to find plugin: data_parser/%s\n",
                 std::string(command).c_str(), std::string(name).c_str());
  }
  return 1;
}

std::optional<int> choose_structured(std::string_view command, StructuredChoice& out) {
  std::optional<int> status;
  if (const auto v = environment("SLURM_JSON"))
    status = choose_structured(command, StructuredForm::kJson, v->c_str(), out);
  if (status) return status;
  if (const auto v = environment("SLURM_YAML"))
    status = choose_structured(command, StructuredForm::kYaml, v->c_str(), out);
  return status;
}

namespace {

// "WHERE error: WHAT", "WHERE: WHAT", or what was not found.
Json error_entry(const std::string& text) {
  for (const std::string_view between : {" error: ", ": "}) {
    const size_t at = text.find(between);
    if (at == std::string::npos) continue;
    const std::string what = text.substr(at + between.size());
    return {{"description", text},
            {"error_number", error_number_of(what).value_or(kAnyError)},
            {"error", what},
            {"source", text.substr(0, at)}};
  }
  return {{"description", text}, {"error_number", kAnyError}, {"error", text}, {"source", ""}};
}

// What follows the records.
void put_frame(const StructuredChoice& choice, const StructuredDocument& document, Json& root) {
  for (auto& [key, value] : document.further.items()) root[key] = value;
  root["meta"] = make_meta(document, choice.parser);
  root["errors"] = Json::array();
  for (const std::string& error : document.errors) root["errors"].push_back(error_entry(error));
  root["warnings"] = Json::array();
  for (const std::string& warning : document.warnings) {
    root["warnings"].push_back({{"description", warning}, {"source", ""}});
  }
}

}  // namespace

Json make_document(const StructuredChoice& choice, StructuredDocument document) {
  Json root = Json::object();
  fit_json_parser(document.key, document.records, choice.parser);
  root[document.key] = std::move(document.records);
  put_frame(choice, document, root);
  return root;
}

void print_document(const StructuredChoice& choice, StructuredDocument document) {
  const Json root = make_document(choice, std::move(document));
  const std::string text =
      choice.form == StructuredForm::kJson ? to_json_text(root) : to_yaml_text(root);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

DocumentPrinter::DocumentPrinter(const StructuredChoice& choice, std::string key)
    : choice_(choice), key_(key), text_(choice.form == StructuredForm::kYaml, std::move(key)) {
  text_.begin(out_);
}

void DocumentPrinter::add(Json record) {
  Json one = Json::array();
  one.push_back(std::move(record));
  fit_json_parser(key_, one, choice_.parser);
  text_.add(one.front(), out_);
  if (out_.size() > kEnough) flush_text(out_);
}

void DocumentPrinter::finish(const StructuredDocument& document) {
  Json rest = Json::object();
  put_frame(choice_, document, rest);
  text_.end(rest, out_);
  flush_text(out_);
}

}  // namespace sluice::cli
