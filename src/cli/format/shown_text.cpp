#include "cli/format/shown_text.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include "common/base/printable.hpp"

namespace sluice::cli {

std::string mask_controls_but(std::string_view text, std::string_view kept) {
  std::string shown;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find_first_of(kept, from), text.size());
    shown += mask_controls(text.substr(from, end - from));
    if (end < text.size()) shown += text[end];
    from = end + 1;
  }
  return shown;
}

std::string shown_text(std::string_view text, std::string_view kept) {
  const bool as_it_is = is_printable(text) || ::isatty(STDOUT_FILENO) == 0;
  return as_it_is ? std::string(text) : mask_controls_but(text, kept);
}

std::string shown_cell(std::string_view value, bool on_terminal) {
  if (on_terminal) return mask_controls(value);
  std::string out;
  out.reserve(value.size());
  for (const char c : value) {
    if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else out += c;
  }
  return out;
}

std::string shown_cell(std::string_view value) {
  static const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
  return shown_cell(value, on_terminal);
}

void print_text(std::string_view text, std::string_view kept) {
  const std::string shown = shown_text(text, kept);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

}  // namespace sluice::cli
