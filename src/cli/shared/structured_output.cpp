// See structured_output.hpp.
#include "cli/shared/structured_output.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>

#include <yaml-cpp/yaml.h>

#include "cli/shared/version.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kParser = "data_parser/v0.0.44";
// Older shapes that today's one satisfies: the same keys, with some added.
constexpr std::string_view kParsers[] = {"v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40"};

void emit(YAML::Emitter& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      out << YAML::BeginMap;
      for (const auto& [key, item] : value.items()) {
        out << YAML::Key << key << YAML::Value;
        emit(out, item);
      }
      out << YAML::EndMap;
      break;
    case Json::value_t::array:
      out << YAML::BeginSeq;
      for (const Json& item : value) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Json::value_t::string: out << YAML::DoubleQuoted << value.get<std::string>(); break;
    case Json::value_t::boolean: out << value.get<bool>(); break;
    case Json::value_t::number_unsigned: out << value.get<uint64_t>(); break;
    case Json::value_t::number_integer: out << value.get<int64_t>(); break;
    case Json::value_t::number_float: out << value.get<double>(); break;
    default: out << YAML::Null;
  }
}

Json make_meta(const StructuredDocument& document) {
  const passwd* user = getpwuid(getuid());
  const group* own_group = getgrgid(getgid());
  const std::vector<std::string> version = split(kSlurmVersion, '.');
  return {{"plugin",
           {{"type", ""},
            {"name", ""},
            {"data_parser", kParser},
            {"accounting_storage", document.accounting_storage}}},
          {"client",
           {{"source", ""},
            {"user", user != nullptr ? user->pw_name : ""},
            {"group", own_group != nullptr ? own_group->gr_name : ""}}},
          {"command", document.command_line},
          {"slurm",
           {{"version", {{"major", version[0]}, {"micro", version[2]}, {"minor", version[1]}}},
            {"release", kSlurmVersion},
            {"cluster", document.cluster}}}};
}

}  // namespace

bool accept_parser(std::string_view command, const char* argument) {
  if (argument == nullptr || *argument == '\0') return true;
  const std::string_view text = argument;
  const std::string_view name = text.substr(0, text.find('+'));
  for (const std::string_view known : kParsers) {
    if (name == known || name == "data_parser/" + std::string(known)) return true;
  }
  if (name == "list") {
    std::fprintf(stderr, "Possible data_parser plugins:\n");
    for (const std::string_view known : kParsers) {
      std::fprintf(stderr, "data_parser/%s\n", std::string(known).c_str());
    }
    return false;
  }
  std::fprintf(stderr, "%s: fatal: Unable to find plugin: data_parser/%s\n",
               std::string(command).c_str(), std::string(name).c_str());
  return false;
}

void print_document(StructuredForm form, StructuredDocument document) {
  Json root = Json::object();
  root[document.key] = std::move(document.records);
  for (auto& [key, value] : document.further.items()) root[key] = value;
  root["meta"] = make_meta(document);
  root["errors"] = Json::array();
  root["warnings"] = Json::array();
  std::string text;
  if (form == StructuredForm::kJson) {
    text = root.dump(2, ' ', false, Json::error_handler_t::replace);
  } else {
    YAML::Emitter out;
    out << YAML::BeginDoc;
    emit(out, root);
    text = std::string("%YAML 1.1\n") + out.c_str() + "\n...";
  }
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace sluice::cli
