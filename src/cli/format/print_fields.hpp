// Tables of sshare: columns of a width each with a blank behind, or values with `|` between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

enum class FieldSeparators : uint8_t {
  kColumns,    // cut to their width, with a `+` as the last letter
  kAfterEach,  // --parsable: a|b|
  kBetween,    // --parsable2: a|b
};

struct PrintedField {
  std::string heading;
  int width = 10;  // negative: to the left
};

void append_headings(const std::vector<PrintedField>& fields, FieldSeparators separators,
                     std::string& out);
// As many values as there are fields.
void append_values(const std::vector<PrintedField>& fields, FieldSeparators separators,
                   const std::vector<std::string>& values, std::string& out);

}  // namespace sluice::cli
