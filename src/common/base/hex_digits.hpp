// Bytes as they are written down.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Two lower-case digits a byte.
[[nodiscard]] std::string hex_digits(std::string_view bytes);

}  // namespace sluice
