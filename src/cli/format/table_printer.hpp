// Prints rows of a field table in a layout of -o or -O, sorted as --sort says.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include "cli/format/table_format.hpp"
#include "common/base/printable.hpp"
#include "common/format/field_row.hpp"

namespace sluice::cli {

template <class Row>
class Table {
 public:
  using Field = FieldRow<Row>;

  // A field that is not known is reported on stderr as Slurm does, and printed as it was written
  // (a letter) or left out (a name).
  Table(std::string_view command, std::string_view kind, std::span<const Field> fields,
        TableFormat format)
      : prefix_(std::move(format.prefix)) {
    for (Column& column : format.columns) {
      const bool by_letter = column.letter != '\0';
      const Field* field = by_letter ? find_field(fields, column.letter)
                                     : find_field(fields, std::string_view(column.name));
      if (field == nullptr) {
        const std::string shown = by_letter ? std::string(1, column.letter) : column.name;
        complain(command, kind, shown, by_letter);
        literal().append(column.text).append(column.suffix);
        continue;
      }
      column.cut = field->cut;
      cells_.push_back({field, std::move(column)});
    }
    if (format.ends_early) complain(command, kind, {}, true);
  }

  [[nodiscard]] std::vector<Column*> columns() {
    std::vector<Column*> out;
    for (Cell& cell : cells_) out.push_back(&cell.column);
    return out;
  }
  [[nodiscard]] const Field& field(size_t column) const { return *cells_[column].field; }
  [[nodiscard]] size_t size() const { return cells_.size(); }

  void append_header(std::string& out) const {
    out += prefix_;
    for (const Cell& cell : cells_) append_cell(cell.column, cell.field->heading, out);
    out += '\n';
  }
  void append_row(const Row& row, const RenderContext& context, std::string& out) {
    out += prefix_;
    for (const Cell& cell : cells_) {
      value_.clear();
      cell.field->render(row, context, value_);
      if (on_terminal_ && !is_printable(value_)) value_ = mask_controls(value_);
      append_cell(cell.column, value_, out);
    }
    out += '\n';
  }

 private:
  struct Cell {
    const Field* field;
    Column column;
  };
  // sinfo does not say its name where a letter is at fault.
  static void complain(std::string_view command, std::string_view kind, const std::string& shown,
                       bool by_letter) {
    const bool bare = by_letter && command == "sinfo";
    std::fprintf(stderr, "%.*s%sInvalid %.*s format specification: %s\n",
                 bare ? 0 : static_cast<int>(command.size()), command.data(),
                 bare ? "" : ": error: ", static_cast<int>(kind.size()), kind.data(),
                 shown.c_str());
  }
  std::string& literal() { return cells_.empty() ? prefix_ : cells_.back().column.suffix; }

  std::string prefix_;
  std::vector<Cell> cells_;
  std::string value_;  // reused
  // which is not to obey what others called their jobs
  bool on_terminal_ = ::isatty(STDOUT_FILENO) != 0;
};

// One field of --sort: "-P" sorts downwards.
template <class Row>
struct SortField {
  const FieldRow<Row>* field;
  bool descending = false;
};

// Whether --sort has only these letters and signs; the last one that is none is told on stderr.
[[nodiscard]] bool is_order(const char* program, std::string_view sort, std::string_view letters);

// "P,t,-p" or "Pt-p". Gives the letter that is no field in `unknown`.
template <class Row>
[[nodiscard]] std::optional<std::vector<SortField<Row>>> parse_sort(
    std::string_view text, std::span<const FieldRow<Row>> fields, char* unknown) {
  std::vector<SortField<Row>> out;
  bool descending = false;
  for (const char c : text) {
    if (c == ',') continue;
    if (c == '-' || c == '+') {
      descending = c == '-';
      continue;
    }
    const FieldRow<Row>* field = find_field(fields, c);
    if (field == nullptr && c == '#') continue;  // "#P" is "P" where no other order is known
    if (field == nullptr) {
      *unknown = c;
      return std::nullopt;
    }
    out.push_back({field, descending});
    descending = false;
  }
  return out;
}

// Stable. Text keys are rendered once a row.
template <class Row>
void sort_rows(std::vector<Row>& rows, const std::vector<SortField<Row>>& order,
               const RenderContext& context) {
  if (order.empty() || rows.size() < 2) return;
  struct Keyed {
    uint32_t index;
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
  };
  std::vector<Keyed> keyed(rows.size());
  for (uint32_t i = 0; i < rows.size(); ++i) {
    keyed[i].index = i;
    for (const auto& sort : order) {
      if (sort.field->sort_key != nullptr) {
        keyed[i].numbers.push_back(sort.field->sort_key(rows[i], context));
      } else {
        sort.field->render(rows[i], context, keyed[i].texts.emplace_back());
      }
    }
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    size_t number = 0;
    size_t text = 0;
    for (const auto& sort : order) {
      int result = 0;
      if (sort.field->sort_key != nullptr) {
        const int64_t x = a.numbers[number];
        const int64_t y = b.numbers[number++];
        result = x < y ? -1 : x > y ? 1 : 0;
      } else {
        result = a.texts[text].compare(b.texts[text]);
        ++text;
      }
      if (result != 0) return sort.descending ? result > 0 : result < 0;
    }
    return false;
  });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const Keyed& key : keyed) sorted.push_back(std::move(rows[key.index]));
  rows = std::move(sorted);
}

// Writes and empties `out`.
inline void flush_text(std::string& out) {
  std::fwrite(out.data(), 1, out.size(), stdout);
  out.clear();
}

// The line that --long and --iterate begin with: "Sat Nov 21 02:49:28 2026".
void print_date(Time now);

// --iterate: prints again and again, an empty line and so many seconds between. With 0 seconds
// once; gives what `print` did.
int repeat_every(unsigned seconds, const std::function<int()>& print);

}  // namespace sluice::cli
