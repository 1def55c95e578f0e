// One row per field: the same row serves -o (by letter), -O (by name), the heading, --sort and the
// fields that other tools ask for. A renderer appends to a text that is reused from row to row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.hpp"
#include "common/base/time.hpp"

namespace sluice {

// What rendering needs besides the record.
struct RenderContext {
  Time now = kNoTime;      // the controller's clock
  std::string time_form;   // SLURM_TIME_FORMAT
  bool convert = true;     // false: --noconvert, sizes stay in MiB
  size_t bitstr_len = 64;  // SLURM_BITSTR_LEN: characters of an array's task list; 0: all
  std::string cluster;
  std::string preempt_mode = "OFF";                  // the cluster's, for partitions that set none
  std::vector<std::string> accounting_tres;          // AccountingStorageTRES: "gres/gpu" and so on
  std::string (*user_name)(uint32_t uid) = nullptr;  // null: numbers are shown
};

// How sinfo groups nodes by a field that is shown: nodes whose values differ are on lines of their
// own. kExact ones do so with --exact only; else the line shows the smallest value and a "+".
enum class Grouping : uint8_t { kNone, kPartition, kNode, kExact };

// What a column too narrow for a value leaves of it: the beginning; all of a span of time that
// stands on the right (10-00:00:00 is not 10-00:00); the beginning and the mark at the end (debu*
// of debug*).
enum class Cut : uint8_t { kEnd, kNoSpanOnTheRight, kBeforeMark };

template <class Row>
struct FieldRow {
  std::string_view name;  // of -O; empty: none
  char letter = '\0';     // of -o and --sort; NUL: none
  std::string_view heading;
  void (*render)(const Row& row, const RenderContext& context, std::string& out);
  int64_t (*sort_key)(const Row& row, const RenderContext& context) = nullptr;  // null: by text
  Grouping grouping = Grouping::kNone;
  Cut cut = Cut::kEnd;
};

template <class Row>
[[nodiscard]] const FieldRow<Row>* find_field(std::span<const FieldRow<Row>> rows, char letter) {
  for (const FieldRow<Row>& row : rows) {
    if (row.letter == letter && letter != '\0') return &row;
  }
  return nullptr;
}

// Names are compared without regard to case.
template <class Row>
[[nodiscard]] const FieldRow<Row>* find_field(std::span<const FieldRow<Row>> rows,
                                              std::string_view name) {
  for (const FieldRow<Row>& row : rows) {
    if (!row.name.empty() && iequals(row.name, name)) return &row;
  }
  return nullptr;
}

}  // namespace sluice
