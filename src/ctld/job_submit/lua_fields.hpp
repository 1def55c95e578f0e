// What a script in Lua sees of the controller: tables whose fields are read and set by name, each
// at the moment at which the script asks for it.
#pragma once

#include <cstdint>
#include <map>
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
  // can be set, which is no error.
  [[nodiscard]] virtual Status set(std::string_view name, const LuaValue& value, bool& known) = 0;
  // What pairs() goes through.
  [[nodiscard]] virtual std::vector<std::string> names() = 0;
};

// Fields that are only read: of a partition, a reservation, a job.
class LuaRecord final : public LuaFields {
 public:
  using Values = std::map<std::string, LuaValue, std::less<>>;
  explicit LuaRecord(Values values) : values_(std::move(values)) {}
  [[nodiscard]] LuaValue get(std::string_view name) override;
  [[nodiscard]] Status set(std::string_view name, const LuaValue& value, bool& known) override;
  [[nodiscard]] std::vector<std::string> names() override;

 private:
  Values values_;
};

// --- values --------------------------------------------------------------------------------------

// nil where the text is empty.
[[nodiscard]] LuaValue text_value(std::string_view text);
// A number, or a text that is one; the error says what it is in place of one.
[[nodiscard]] Result<double> number_of(const LuaValue& value);
// A text, or a number as one; nil is the empty text.
[[nodiscard]] Result<std::string> text_of(const LuaValue& value);
// A whole number of 32 bits. NO_VAL of any width, and nil, are `none`.
[[nodiscard]] Result<uint32_t> count_of(const LuaValue& value, uint32_t none);
[[nodiscard]] bool is_no_val(double number);

}  // namespace sluice::ctld
