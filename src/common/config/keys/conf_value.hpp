// A value's text to what its key's kind makes of it, and the words that say what is allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/keys/conf_key.hpp"

namespace sluice::tables {

// What parsing a value needs to know of its row, whatever the row's owner.
struct ConfRule {
  ConfKind kind = ConfKind::kText;
  std::string_view allowed;
  std::string_view allowed_text;
  uint64_t min = 0;
  uint64_t max = kMax32;
  bool unlimited = false;
  bool by_number = false;
  bool none = false;
  std::string_view counts;
};

template <class Owner>
[[nodiscard]] ConfRule rule_of(const ConfKey<Owner>& row) {
  return {row.kind,      row.allowed,   row.allowed_text, row.min,   row.max,
          row.unlimited, row.by_number, row.none,         row.counts};
}

// The value, or nothing when it is not allowed. Names in `unknown_options` (may be null) are those
// a kOptions row does not know.
[[nodiscard]] std::optional<ConfValue> parse_conf_value(
    const ConfRule& rule, std::string_view text,
    std::vector<std::string>* unknown_options = nullptr);

// "a number of seconds from 0 to 65533, or INFINITE": ends a message after "allowed: ".
[[nodiscard]] std::string allowed_values(const ConfRule& rule);
// Of an options row the first whose value is to be a number of 0 or more, and is none; empty: there
// is none.
[[nodiscard]] std::string bad_count(const ConfRule& rule, std::string_view text);

}  // namespace sluice::tables
