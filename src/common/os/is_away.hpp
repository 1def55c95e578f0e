// Which errors of a call mean that the other side is away or not ready: the same call may go well a
// little later.
#pragma once

#include "common/base/error_code.hpp"

namespace sluice {

// There was no answer. With kConnectionLost and kTimedOut it is not known whether the call was
// done: repeat only what changes nothing when repeated.
[[nodiscard]] constexpr bool is_unanswered(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kConnectionLost ||
         code == ErrorCode::kTimedOut;
}
// The same, or it asks to be asked again.
[[nodiscard]] constexpr bool is_away(ErrorCode code) {
  return is_unanswered(code) || code == ErrorCode::kRetry;
}

}  // namespace sluice
