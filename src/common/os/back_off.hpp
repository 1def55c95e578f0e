// Answers of a server to requests that it has not looked at, and that are to come again after a
// second: of who asks too often, and of who comes with a token that was made before the daemon
// began.
#pragma once

#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

inline constexpr std::string_view kBackOffText = "RPC rate limit exceeded, asked to back off";

[[nodiscard]] inline Error back_off() { return {ErrorCode::kRetry, std::string(kBackOffText)}; }
[[nodiscard]] inline bool is_back_off(const Error& error) {
  return error.code == ErrorCode::kRetry && error.text == kBackOffText;
}

inline constexpr std::string_view kOlderText = "the token is older than this daemon";
[[nodiscard]] inline bool is_older_than_daemon(const Error& error) {
  return error.code == ErrorCode::kRetry && error.text.starts_with(kOlderText);
}

}  // namespace sluice::net
