#include "cli/format/print_fields.hpp"

#include <cstdlib>

#include "cli/format/shown_text.hpp"

namespace sluice::cli {
namespace {

void append(const PrintedField& field, std::string_view value, std::string& out) {
  const auto width = static_cast<size_t>(std::abs(field.width));
  const bool cut = value.size() > width;
  const size_t kept = cut ? width - 1 : value.size();
  const size_t blanks = width - kept - (cut ? 1 : 0);
  if (field.width > 0) out.append(blanks, ' ');
  out.append(value.substr(0, kept));
  if (cut) out += '+';
  if (field.width < 0) out.append(blanks, ' ');
  out += ' ';
}

}  // namespace

void append_values(const std::vector<PrintedField>& fields, FieldSeparators separators,
                   const std::vector<std::string>& values, std::string& out) {
  for (size_t at = 0; at < fields.size(); ++at) {
    const std::string value = shown_cell(values[at]);
    if (separators == FieldSeparators::kColumns) {
      append(fields[at], value, out);
      continue;
    }
    out += value;
    if (separators == FieldSeparators::kAfterEach || at + 1 < fields.size()) out += '|';
  }
  out += '\n';
}

void append_headings(const std::vector<PrintedField>& fields, FieldSeparators separators,
                     std::string& out) {
  std::vector<std::string> names;
  for (const PrintedField& field : fields) names.push_back(field.heading);
  if (separators != FieldSeparators::kColumns) return append_values(fields, separators, names, out);
  // a heading is cut without a mark
  for (size_t at = 0; at < fields.size(); ++at)
    names[at] = names[at].substr(0, static_cast<size_t>(std::abs(fields[at].width)));
  append_values(fields, separators, names, out);
  for (const PrintedField& field : fields) {
    out.append(static_cast<size_t>(std::abs(field.width)), '-');
    out += ' ';
  }
  out += '\n';
}

}  // namespace sluice::cli
