// Text in JSON.
#include "common/base/hex_digits.hpp"
#include "common/wire/json.hpp"

namespace sluice::wire {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc2 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    // overlong forms, surrogates, and what is beyond the last code point
    const uint8_t second = length > 2 ? static_cast<uint8_t>(text[i + 1]) : uint8_t{0x80};
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += length;
  }
  return true;
}

Json json_text(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  return "\\x" + hex_digits(text);
}

}  // namespace sluice::wire
