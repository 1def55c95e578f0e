#include "common/base/hex_digits.hpp"

#include <fmt/format.h>

namespace sluice {

std::string hex_digits(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace sluice
