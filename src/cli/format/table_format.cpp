// See table_format.hpp.
#include "cli/format/table_format.hpp"

#include <algorithm>
#include <cctype>

namespace sluice::cli {
namespace {

constexpr size_t kMaxWidth = 1U << 20;
constexpr size_t kNameWidth = 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads `[.][width]` at `at` into the column and moves on.
void read_width(std::string_view text, size_t& at, Column& column) {
  if (at < text.size() && text[at] == '.') {
    column.right = true;
    ++at;
  }
  while (at < text.size() && is_digit(text[at])) {
    column.has_width = true;
    const auto digit = static_cast<size_t>(text[at++] - '0');
    column.width = std::min(column.width * 10 + digit, kMaxWidth);
  }
  if (column.width == 0) column.has_width = false;
}

// As much of a value as the column has room for.
void append_cut(const Column& column, std::string_view value, std::string& out) {
  const bool fits = value.size() <= column.width;
  const bool whole =
      column.cut == Cut::kNoSpanOnTheRight && column.right && !value.empty() && is_digit(value[0]);
  if (fits || whole) {
    out += value;
  } else if (column.cut == Cut::kBeforeMark && value.ends_with('*')) {
    out.append(value.substr(0, column.width - 1)).append("*");
  } else {
    out += value.substr(0, column.width);
  }
}

Column parse_name_column(std::string_view piece) {
  Column column;
  const size_t colon = piece.find(':');
  column.name = piece.substr(0, colon);
  if (colon == std::string_view::npos) {
    column.has_width = true;
    column.width = kNameWidth;
    return column;
  }
  size_t at = colon + 1;
  const size_t sign = at + (at < piece.size() && piece[at] == '.' ? 1 : 0);
  const bool is_signed = sign + 1 < piece.size() && (piece[sign] == '-' || piece[sign] == '+') &&
                         is_digit(piece[sign + 1]);
  if (!is_signed) {
    read_width(piece, at, column);
    column.suffix = piece.substr(at);
    return column;
  }
  column.right = sign != at;
  at = sign + 1;
  read_width(piece, at, column);
  column.suffix = piece.substr(at);
  if (piece[sign] == '-' && column.has_width) {
    // none at all, but a blank behind the value, as in Slurm
    column.has_width = false;
    column.suffix.insert(0, " ");
  }
  return column;
}

}  // namespace

TableFormat parse_letter_format(std::string_view text) {
  TableFormat format;
  std::string* between = &format.prefix;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      *between += text[at++];
      continue;
    }
    const size_t start = at;
    if (++at >= text.size()) break;  // a lone % at the end says nothing
    Column column;
    read_width(text, at, column);
    if (at >= text.size()) {  // no letter: it stands for itself
      *between += text.substr(start);
      format.ends_early = true;
      break;
    }
    if (text[at] == '%') continue;  // begins anew: what was before it says nothing
    column.letter = text[at++];
    column.text = text.substr(start, at - start);
    format.columns.push_back(std::move(column));
    between = &format.columns.back().suffix;
  }
  return format;
}

TableFormat parse_name_format(std::string_view text) {
  TableFormat format;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    if (!piece.empty()) format.columns.push_back(parse_name_column(piece));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return format;
}

void append_cell(const Column& column, std::string_view value, std::string& out) {
  if (!column.has_width) {
    out += value;
  } else {
    const size_t padding = column.width - std::min(column.width, value.size());
    if (column.right) out.append(padding, ' ');
    append_cut(column, value, out);
    if (!column.right) out.append(padding, ' ');
  }
  out += column.suffix;
}

}  // namespace sluice::cli
