// Tables of states and of their flags, and how they are read: what the names of jobs, partitions
// and nodes have alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/text.hpp"

namespace sluice {

struct StateRow {
  std::string_view name;
  std::string_view code;
};

struct FlagRow {
  uint32_t flag;
  std::string_view name;
  std::string_view code;  // empty: it has none
};

// Of a table in the order of its enumeration.
template <class State, size_t size>
[[nodiscard]] constexpr const StateRow& row_of(const StateRow (&table)[size], State state) {
  return table[static_cast<size_t>(state) % size];
}

// By its name or code, in any case.
template <class State>
[[nodiscard]] std::optional<State> find_state(std::span<const StateRow> table,
                                              std::string_view text) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (iequals(text, table[i].name) || iequals(text, table[i].code)) return static_cast<State>(i);
  }
  return std::nullopt;
}

[[nodiscard]] inline const FlagRow* find_flag(std::span<const FlagRow> table,
                                              std::string_view text) {
  for (const FlagRow& row : table) {
    if (iequals(text, row.name) || (!row.code.empty() && iequals(text, row.code))) return &row;
  }
  return nullptr;
}

// The names of those that are set, in the table's order.
inline void append_flags(std::span<const FlagRow> table, uint32_t flags,
                         std::vector<std::string_view>& out) {
  for (const FlagRow& row : table) {
    if ((flags & row.flag) != 0) out.push_back(row.name);
  }
}

}  // namespace sluice
