// A server's answer to who asks too often: the same request is to come again, after a second.
#pragma once

#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

inline constexpr std::string_view kBackOffText = "RPC rate limit exceeded, asked to back off";

[[nodiscard]] inline Error back_off() { return {ErrorCode::kRetry, std::string(kBackOffText)}; }
[[nodiscard]] inline bool is_back_off(const Error& error) { return error.code == ErrorCode::kRetry && error.text == kBackOffText; }

}  // namespace sluice::net
