#include "common/log/log_line.hpp"

#include <iterator>

#include <fmt/format.h>

#include "common/base/printable.hpp"

namespace sluice::log {
namespace {

std::string cut(std::string_view text, size_t all) {
  return fmt::format("{}... ({} more bytes)", text, all - text.size());
}

}  // namespace

std::string log_line(std::string_view text) {
  // what a reader adds at the end of its message is no second line
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::string_view shown = text.substr(0, kMaxLineBytes);
  std::string line = is_printable(shown) ? std::string(shown) : escape_controls(shown);
  return shown.size() == text.size() ? line : cut(line, text.size() - shown.size() + line.size());
}

std::string bounded_text(fmt::string_view format, fmt::format_args args) {
  // for the heading of a debug flag and what cut() says
  constexpr size_t kKept = kMaxLineBytes - 256;
  std::string text;
  const auto written = fmt::vformat_to_n(std::back_inserter(text), kKept, format, args);
  return written.size <= kKept ? text : cut(text, written.size);
}

}  // namespace sluice::log
