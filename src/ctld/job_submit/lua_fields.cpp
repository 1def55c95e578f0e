#include "ctld/job_submit/lua_fields.hpp"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::ctld {

namespace {

Result<double> memory_number(const LuaValue& value) {
  auto number = number_of(value);
  if (number && !(*number >= 0)) return failure("a number from 0 on expected");
  return number;
}

}  // namespace

Status LuaFields::set(std::string_view, const LuaValue&, bool& known) {
  known = false;
  return {};
}

LuaValue text_value(std::string_view text) {
  return text.empty() ? LuaValue() : LuaValue(std::string(text));
}

Result<double> number_of(const LuaValue& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (const std::string* text = std::get_if<std::string>(&value)) {
    char* end = nullptr;
    const double number = std::strtod(text->c_str(), &end);
    if (!text->empty() && *end == '\0') return number;
    return failure("number expected, got string");
  }
  const bool is_nil = std::holds_alternative<std::monostate>(value);
  return failure(is_nil ? "number expected, got nil" : "number expected, got table");
}

Result<std::string> text_of(const LuaValue& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) {
    if (text->find('\0') != std::string::npos) return failure("string with a zero byte in it");
    return *text;
  }
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{:.14g}", *number);
  if (std::holds_alternative<std::monostate>(value)) return std::string();
  return failure("string expected, got table");
}

bool is_no_val(double number) {
  return number == kNoVal8 || number == kNoVal16 || number == kNoVal || number == kNoVal64;
}

Result<uint32_t> count_of(const LuaValue& value, uint32_t none) {
  if (std::holds_alternative<std::monostate>(value)) return none;
  const Result<double> number = number_of(value);
  if (!number) return tl::unexpected(number.error());
  // a count of 254 is one
  if (is_no_val(*number) && *number != kNoVal8) return none;
  if (!(*number >= 0 && *number <= UINT32_MAX))
    return failure(fmt::format("number from 0 to 4294967295 expected, got {:.14g}", *number));
  return static_cast<uint32_t>(std::floor(*number));
}

Result<std::string> gres_text(const LuaValue& value) {
  auto text = text_of(value);
  if (!text || text->empty()) return text;
  std::string plain;
  for (std::string_view item : split_list(*text)) {
    if (item.starts_with("gres/") || item.starts_with("gres:")) item.remove_prefix(5);
    plain.append(plain.empty() ? "" : ",").append(item);
  }
  return parse_gres(plain).value_or(*text);
}

Result<std::optional<uint64_t>> memory_of(const LuaValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  const auto number = memory_number(value);
  if (!number) return tl::unexpected(number.error());
  if (is_no_val(*number) || *number >= kMemPerCpu) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

Result<AnyMemory> any_memory_of(const LuaValue& value) {
  const auto number = memory_number(value);
  if (!number) return tl::unexpected(number.error());
  AnyMemory out;
  if (is_no_val(*number) || *number >= kMemPerCpu * 2) return out;
  if (*number >= kMemPerCpu) out.per_cpu_mib = static_cast<uint64_t>(*number - kMemPerCpu);
  else out.per_node_mib = static_cast<uint64_t>(*number);
  return out;
}

double memory_of_cpu(uint64_t mib) { return kMemPerCpu + as_number(mib); }

}  // namespace sluice::ctld
