// See structured_text.hpp.
#include "cli/format/structured_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

std::string quoted(const Json& value, bool ascii = false) {
  return value.dump(-1, ' ', ascii, Json::error_handler_t::replace);
}

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

void put_json_string(const std::string& text, std::string& out) {
  const auto as_it_is = [](char c) { return is_plain(c) && c != '"' && c != '\\' && c != '/'; };
  if (std::ranges::all_of(text, as_it_is)) {
    out.append("\"").append(text).append("\"");
    return;
  }
  for (const char c : quoted(Json(text))) out.append(c == '/' ? "\\" : "").push_back(c);
}

void put_json(const Json& value, std::string& indent, std::string& out);

void put_item(const Json& value, bool first, std::string& indent, std::string& out,
              const std::string* key = nullptr) {
  out.append(first ? "\n" : ",\n").append(indent);
  if (key != nullptr) {
    put_json_string(*key, out);
    out += ": ";
  }
  put_json(value, indent, out);
}

void put_json(const Json& value, std::string& indent, std::string& out) {
  switch (value.type()) {
    case Json::value_t::string: return put_json_string(value.get_ref<const std::string&>(), out);
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return;
    case Json::value_t::number_unsigned:
      fmt::format_to(std::back_inserter(out), "{}", value.get<uint64_t>());
      return;
    case Json::value_t::number_integer:
      fmt::format_to(std::back_inserter(out), "{}", value.get<int64_t>());
      return;
    case Json::value_t::object:
    case Json::value_t::array: break;
    default: out += value.dump(); return;
  }
  indent += "  ";
  bool first = true;
  out += value.is_object() ? '{' : '[';
  if (value.is_object()) {
    for (const auto& [key, item] : value.get_ref<const Json::object_t&>())
      put_item(item, std::exchange(first, false), indent, out, &key);
  } else {
    for (const Json& item : value) put_item(item, std::exchange(first, false), indent, out);
  }
  indent.resize(indent.size() - 2);
  out.append("\n").append(indent).push_back(value.is_object() ? '}' : ']');
}

// Characters that JSON takes as they are, and YAML does not: DEL and U+0080 to U+009F.
bool has_control(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (text[at] == '\x7f' || (text[at] == '\xc2' && next < 0xa0)) return true;
  }
  return false;
}

// Where YAML would take a text for something else if it stood there as it is.
bool needs_quotes(std::string_view text) {
  constexpr std::string_view kFirst = "#,[]{}&*!|>'\"%@`";
  if (text.empty()) return false;  // the tag says that it is a text
  if (kFirst.find(text.front()) != std::string_view::npos || text.front() == ' ' ||
      text.back() == ' ')
    return true;
  if (text.back() == ':' || text.starts_with("---") || text.starts_with("...")) return true;
  if ((text[0] == '-' || text[0] == '?' || text[0] == ':') && (text.size() == 1 || text[1] == ' '))
    return true;
  return text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos;
}

std::string yaml_string(const Json& value) {
  const auto& text = value.get_ref<const std::string&>();
  // JSON's escapes are YAML's, too
  if (!std::ranges::all_of(text, is_plain)) return " " + quoted(value, has_control(text));
  if (!needs_quotes(text)) return text.empty() ? "" : " " + text;
  std::string out = " '";
  for (const char c : text) out.append(c == '\'' ? "'" : "").push_back(c);
  return out + "'";
}

std::string yaml_scalar(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string: return "!!str" + yaml_string(value);
    case Json::value_t::boolean: return value.get<bool>() ? "!!bool true" : "!!bool false";
    case Json::value_t::number_unsigned: return fmt::format("!!int {}", value.get<uint64_t>());
    case Json::value_t::number_integer: return fmt::format("!!int {}", value.get<int64_t>());
    case Json::value_t::number_float: return fmt::format("!!float {:.6f}", value.get<double>());
    default: return "!!null null";
  }
}

void put_yaml(const Json& value, const std::string& indent, std::string& out);

// The pairs of a map, each on a line of its own.
void put_pairs(const Json& map, const std::string& indent, std::string& out) {
  for (const auto& [key, item] : map.items()) {
    out.append(indent).append("!!str ").append(key).append(": ");
    // the items of a list stand below its key, the pairs of a map one step further in
    put_yaml(item, item.is_array() ? indent : indent + "  ", out);
  }
}

void put_yaml(const Json& value, const std::string& indent, std::string& out) {
  if (!value.is_structured()) {
    out.append(yaml_scalar(value)).append("\n");
    return;
  }
  out += value.is_object() ? "!!map" : "!!seq";
  if (value.empty()) out += value.is_object() ? " {}" : " []";
  out += '\n';
  if (value.is_object()) return put_pairs(value, indent, out);
  for (const Json& item : value) {
    out.append(indent).append("- ");
    put_yaml(item, indent + "  ", out);
  }
}

}  // namespace

namespace {

constexpr std::string_view kYamlBegin = "%YAML 1.1\n--- ";
constexpr std::string_view kYamlEnd = "...\n";

}  // namespace

std::string to_json_text(const Json& value) {
  std::string out, indent;
  put_json(value, indent, out);
  return out + "\n";
}

std::string to_yaml_text(const Json& value) {
  std::string out(kYamlBegin);
  put_yaml(value, {}, out);
  return out.append(kYamlEnd);
}

void DocumentText::begin(std::string& out) const {
  if (yaml_) {
    out.append(kYamlBegin).append("!!map\n!!str ").append(key_).append(": !!seq");
    return;
  }
  out += "{\n  ";
  put_json_string(key_, out);
  out += ": [";
}

void DocumentText::add(const Json& record, std::string& out) {
  const bool first = std::exchange(empty_, false);
  if (yaml_) {
    out += first ? "\n- " : "- ";
    put_yaml(record, "  ", out);
    return;
  }
  std::string indent = "    ";
  put_item(record, first, indent, out);
}

void DocumentText::end(const Json& rest, std::string& out) const {
  if (yaml_) {
    if (empty_) out += " []\n";
    put_pairs(rest, {}, out);
    out += kYamlEnd;
    return;
  }
  out += "\n  ]";
  std::string indent = "  ";
  for (const auto& [key, item] : rest.get_ref<const Json::object_t&>())
    put_item(item, false, indent, out, &key);
  out += "\n}\n";
}

}  // namespace sluice::cli
