// What a script in Lua sees of the controller: tables whose fields are read and set by name, each
// at the moment at which the script asks for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::ctld {

// How Slurm's plugin says that a number is not given, by the width of the field, and that there is
// no limit.
inline constexpr double kNoVal8 = 0xFE;
inline constexpr double kNoVal16 = 0xFFFE;
inline constexpr double kNoVal = 0xFFFFFFFE;
inline constexpr double kInfinite = 0xFFFFFFFF;
inline constexpr double kNoVal64 = 18446744073709551614.0;
inline constexpr double kInfinite64 = 18446744073709551615.0;
inline constexpr double kNiceOffset = 0x80000000;
inline constexpr double kMemPerCpu = 9223372036854775808.0;

class LuaFields;
// nil, a number, a text, or a table (not owned; it lives as long as the one that it is in).
using LuaValue = std::variant<std::monostate, double, std::string, LuaFields*>;

class LuaFields {
 public:
  LuaFields() = default;
  LuaFields(const LuaFields&) = delete;
  LuaFields& operator=(const LuaFields&) = delete;
  virtual ~LuaFields() = default;
  // nil: it is not set, or there is none of the name.
  [[nodiscard]] virtual LuaValue get(std::string_view name) = 0;
  // The error says what is wrong with the value. `known`: false where there is no such field that
  // can be set, which is no error. None can, unless a class says otherwise.
  [[nodiscard]] virtual Status set(std::string_view name, const LuaValue& value, bool& known);
  // What pairs() goes through.
  [[nodiscard]] virtual std::vector<std::string> names() = 0;
};

// One field of an `Of`.
template <class Of>
struct FieldRow {
  std::string_view name;
  LuaValue (*get)(const Of& of) = nullptr;
  Status (*set)(Of& of, const LuaValue& value) = nullptr;  // null: it is only read
};
// Null: there is none of the name.
template <class Of, size_t count>
[[nodiscard]] const FieldRow<Of>* find_row(const FieldRow<Of> (&rows)[count],
                                           std::string_view name) {
  const auto row = std::ranges::find(rows, name, &FieldRow<Of>::name);
  return row == std::end(rows) ? nullptr : row;
}
template <class Of, size_t count>
[[nodiscard]] LuaValue value_in(const FieldRow<Of> (&rows)[count], const Of& of,
                                std::string_view name) {
  const FieldRow<Of>* row = find_row(rows, name);
  return row == nullptr ? LuaValue() : row->get(of);
}
template <class Of, size_t count>
[[nodiscard]] Status set_in(const FieldRow<Of> (&rows)[count], Of& of, std::string_view name,
                            const LuaValue& value, bool& known) {
  const FieldRow<Of>* row = find_row(rows, name);
  known = row != nullptr && row->set != nullptr;
  return known ? row->set(of, value) : Status();
}
template <class Of, size_t count>
void add_names(const FieldRow<Of> (&rows)[count], std::vector<std::string>& names) {
  for (const FieldRow<Of>& row : rows) names.emplace_back(row.name);
}

// --- values --------------------------------------------------------------------------------------

template <class Number>
[[nodiscard]] double as_number(Number number) {
  return static_cast<double>(number);
}
// nil where the text is empty.
[[nodiscard]] LuaValue text_value(std::string_view text);
// A number, or a text that is one; the error says what it is in place of one.
[[nodiscard]] Result<double> number_of(const LuaValue& value);
// A text, or a number as one; nil is the empty text.
[[nodiscard]] Result<std::string> text_of(const LuaValue& value);
// A whole number of 32 bits. NO_VAL of any width, and nil, are `none`.
[[nodiscard]] Result<uint32_t> count_of(const LuaValue& value, uint32_t none);
// As gres/gpu:2, of gres:gpu:2, gres/gpu:2 or gpu:2. What is none stays, to be refused with the
// job.
[[nodiscard]] Result<std::string> gres_text(const LuaValue& value);
// What is added to nice values and site factors.
[[nodiscard]] inline int32_t without_offset(uint32_t number) {
  return static_cast<int32_t>(int64_t{number} - 0x80000000LL);
}
// MiB. Nothing for nil, NO_VAL, and what says that it is of a CPU.
[[nodiscard]] Result<std::optional<uint64_t>> memory_of(const LuaValue& value);

// Memory of a node or of a CPU in one number, of which Lua's numbers keep too few digits for what
// is of a CPU.
struct AnyMemory {
  std::optional<uint64_t> per_node_mib, per_cpu_mib;  // one at most
};
[[nodiscard]] Result<AnyMemory> any_memory_of(const LuaValue& value);
[[nodiscard]] double memory_of_cpu(uint64_t mib);

}  // namespace sluice::ctld
