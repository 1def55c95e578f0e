#include "dbd/store/session.hpp"

#include <algorithm>

#include "common/base/printable.hpp"

namespace sluice::dbd {
namespace {

int digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

std::string Session::bytes(std::string value) const {
  if (!dialect_.hex_bytes) return value;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\\x";
  out.reserve(2 + 2 * value.size());
  for (const char c : value) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string& Session::read_bytes(std::string& column) const {
  if (!dialect_.hex_bytes || !column.starts_with("\\x")) return column;
  size_t to = 0;
  for (size_t at = 2; at + 1 < column.size(); at += 2)
    column[to++] = static_cast<char>(digit(column[at]) << 4 | digit(column[at + 1]));
  column.resize(to);
  return column;
}

std::string Session::text(const std::string& value) const {
  return dialect_.engine == Engine::kSqlite ? value : escape_controls(value);
}

}  // namespace sluice::dbd
