#include "common/base/printable.hpp"

#include <array>
#include <cstdint>

namespace sluice {
namespace {

bool continues(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
}

// U+061C, U+200E and U+200F, U+202A to U+202E, U+2066 to U+2069: what follows is shown in another
// order than it has.
bool turns_text(std::string_view character) {
  if (character == "\xd8\x9c") return true;
  if (character.size() != 3 || character[0] != '\xe2') return false;
  const auto last = static_cast<uint8_t>(character[2]);
  if (character[1] == '\x80') return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
  return character[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

// How many bytes the first character of `text` has; 0: it is a control character, one that turns
// the order of others, or no character at all.
size_t printable_length(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf5 || first < 0xc2 ? 0
                        : first >= 0xf0               ? 4
                        : first >= 0xe0               ? 3
                                                      : 2;
  for (size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return 0;
  }
  const auto second = length > 1 ? static_cast<uint8_t>(text[1]) : uint8_t{0};
  if (first == 0xc2 && second < 0xa0) return 0;  // C1: terminals obey these, too
  if (turns_text(text.substr(0, length))) return 0;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

void append_escaped(std::string& out, char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (byte == '\n') return (void)(out += "\\n");
  if (byte == '\t') return (void)(out += "\\t");
  if (byte == '\r') return (void)(out += "\\r");
  const auto value = static_cast<uint8_t>(byte);
  out += "\\x";
  out += kDigits[value >> 4];
  out += kDigits[value & 15];
}

template <class Replace>
std::string replaced(std::string_view text, Replace replace) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = printable_length(text);
    if (length == 0) replace(out, text[0]);
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const size_t length = printable_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escape_controls(std::string_view text) { return replaced(text, append_escaped); }

std::string mask_controls(std::string_view text) {
  return replaced(text, [](std::string& out, char) { out += '?'; });
}

}  // namespace sluice
