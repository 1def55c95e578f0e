// Names and the frame of a schema file.
#include "common/wire/schema.hpp"

#include <algorithm>
#include <cctype>

namespace sluice::wire {

namespace detail {

std::string short_name(std::string_view pretty_function) {
  // "… type_name() [with T = sluice::state::JobStarted::Start; std::string = …]"
  const size_t start = pretty_function.find("T = ");
  SLUICE_CHECK(start != std::string_view::npos);
  std::string_view rest = pretty_function.substr(start + 4);
  rest = rest.substr(0, rest.find_first_of(";]"));
  std::string name;
  while (!rest.empty()) {
    const size_t colons = rest.find("::");
    const std::string_view part = rest.substr(0, colons);
    // namespaces are lower case
    if (std::isupper(static_cast<unsigned char>(part.front())) != 0) name += part;
    rest = colons == std::string_view::npos ? std::string_view{} : rest.substr(colons + 2);
  }
  return name;
}

std::string enumerator(std::string_view pretty_function) {
  // "… value_text() [with auto kValue = sluice::JobState::kPending; …]"; a value without a name is
  // "(sluice::JobState)5"
  const size_t start = pretty_function.find("kValue = ");
  SLUICE_CHECK(start != std::string_view::npos);
  std::string_view value = pretty_function.substr(start + 9);
  value = value.substr(0, value.find_first_of(";]"));
  if (value.front() == '(') return {};
  value = value.substr(value.rfind(':') + 1);
  return std::string(value.substr(value.starts_with('k') ? 1 : 0));
}

std::string upper_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(name[i])) != 0;
    const bool word =
        i > 0 && upper &&
        (std::isupper(static_cast<unsigned char>(name[i - 1])) == 0 ||
         (i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1])) != 0));
    if (word) out += '_';
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  return out;
}

std::string camel_case(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (std::isprint(static_cast<unsigned char>(c)) != 0) out += c;
    else out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return out + '"';
}

}  // namespace detail

size_t SchemaPrinter::reserve(std::type_index type, const std::string& name) {
  const bool taken = std::any_of(messages_.begin(), messages_.end(),
                                 [&](const auto& message) { return message.first == name; });
  SLUICE_CHECK(!taken && !name.empty());  // two types of one name need two files
  names_.emplace(type, name);
  messages_.emplace_back(name, "");
  return messages_.size() - 1;
}

std::set<std::type_index> SchemaPrinter::types() const {
  std::set<std::type_index> out;
  for (const auto& [type, name] : names_) out.insert(type);
  return out;
}

std::string SchemaPrinter::text(std::string_view package, std::string_view purpose) const {
  std::string out = fmt::format(
      "// {}\n// Generated from the structs' own descriptions by `sluice_schema proto`; a test keeps it in step.\n"
      "syntax = \"proto2\";\n\npackage {};\n",
      purpose, package);
  if (imports_) out += fmt::format("\nimport \"{}.proto\";\n", import_.name);
  for (const auto& [name, body] : messages_) out += "\n" + body;
  return out;
}

}  // namespace sluice::wire
