// Answers of a server to requests that it has not looked at, and that are to come again after a
// second: of who asks too often, of who comes with a token that was made before the daemon began,
// and of who came when there were too many.
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

// No answer at all: nobody on this host gives a token to ask with.
inline constexpr std::string_view kNoTokensText = "auth/slurm: no daemon gives tokens";
[[nodiscard]] inline bool is_without_token(const Error& error) {
  return error.code == ErrorCode::kRetry && error.text.starts_with(kNoTokensText);
}

// Of a connection that a server closed to make room for others.
inline constexpr std::string_view kCrowded = "too many connections";
inline constexpr std::string_view kCrowdedHost = "too many connections from this host";
[[nodiscard]] inline bool is_crowded(const Error& error) {
  return error.code == ErrorCode::kRetry &&
         (error.text.ends_with(kCrowded) || error.text.ends_with(kCrowdedHost));
}

}  // namespace sluice::net
