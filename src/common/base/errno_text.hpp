// What an error number of the system means. Unlike strerror() it may be called on any thread.
#pragma once

#include <cstring>

namespace sluice {

// The text for `number` (an errno), in English whatever the locale is; it lives for ever.
inline const char* errno_text(int number) {
  const char* text = ::strerrordesc_np(number);
  return text != nullptr ? text : "Unknown error";
}

}  // namespace sluice
