// The layouts of -o and -O: which fields, how wide, and the text between them.
//
//   -o '%[[.]width]letter'        any text between fields is printed as it is
//   -O 'name[:[.][width][suffix]]'  20 wide when nothing follows the name; a width below 0 is a
//   blank behind all of the value
//
// A leading dot justifies right. A width cuts and pads; without one, or with 0, a value takes what
// it needs. `%%` prints nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/format/field_row.hpp"

namespace sluice::cli {

struct Column {
  char letter = '\0';  // of -o
  std::string name;    // of -O
  bool has_width = false;
  size_t width = 0;
  bool right = false;
  std::string suffix;   // text up to the next field
  std::string text{};   // of -o, as it was written: "%.8i"
  Cut cut = Cut::kEnd;  // the field's
};

struct TableFormat {
  std::string prefix;  // text before the first field
  std::vector<Column> columns;
  bool ends_early = false;  // behind the width of a field of -o, which stands for itself
};

[[nodiscard]] TableFormat parse_letter_format(std::string_view text);
[[nodiscard]] TableFormat parse_name_format(std::string_view text);

// Appends `value` as the column wants it, and the column's suffix.
void append_cell(const Column& column, std::string_view value, std::string& out);

}  // namespace sluice::cli
