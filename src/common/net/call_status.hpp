// How a call and its end travel: what client and server write into HTTP/2's headers. Internal to
// net and rpc.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

inline constexpr const char* kTokenKey = "sluice-token-bin";
inline constexpr const char* kSignatureKey = "sluice-signature-bin";  // of the answer, after it
inline constexpr int kMostMetadataBytes = 64 << 10;

// "/sluice.v1.SERVICE/NAME" of "SERVICE/NAME".
[[nodiscard]] std::string method_path(std::string_view method);

// gRPC's codes of a call's end (https://github.com/grpc/grpc/blob/master/doc/statuscodes.md), as
// far as they are used.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

// An Error travels in `details`, so that its code survives; `code` and `message` are for generic
// tools.
struct CallStatus {
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string details;
};

[[nodiscard]] CallStatus to_status(const Error& error);
// Of a failed status. `sent`: whether the call may have been; kUnreachable says that it was not, so
// that it may be sent to another daemon. `address` is for the text.
[[nodiscard]] Error to_error(const CallStatus& status, bool sent, const std::string& address);

}  // namespace sluice::net
