#include "common/net/call_status.hpp"

#include <fmt/format.h>

#include "common/net/method_name.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostErrorText = 16384;  // metadata is limited (kMostMetadataBytes)

struct RemoteError {
  ErrorCode code = ErrorCode::kOk;
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "code", &RemoteError::code);
    field(2, "text", &RemoteError::text);
  }
};

StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kAuthentication: return StatusCode::kUnauthenticated;
    case ErrorCode::kAccessDenied: return StatusCode::kPermissionDenied;
    case ErrorCode::kBadRequest: return StatusCode::kInvalidArgument;
    case ErrorCode::kNotSupported: return StatusCode::kUnimplemented;
    case ErrorCode::kStorageFull: return StatusCode::kResourceExhausted;
    default: return StatusCode::kFailedPrecondition;
  }
}

}  // namespace

std::string method_path(std::string_view method) { return fmt::format("/{}.{}", kPackage, method); }

CallStatus to_status(const Error& error) {
  std::string text = error.text.substr(0, kMostErrorText);
  std::string details = wire::encode(RemoteError{error.code, text});
  return {status_code(error.code), std::move(text), std::move(details)};
}

Error to_error(const CallStatus& status, bool sent, const std::string& address) {
  if (!status.details.empty()) {
    Result<RemoteError> remote = wire::decode<RemoteError>(status.details);
    if (remote && remote->code != ErrorCode::kOk) return {remote->code, std::move(remote->text)};
  }
  const auto explained = [&](ErrorCode code) {
    return Error{code, fmt::format("{}: {}", address, status.message)};
  };
  switch (status.code) {
    case StatusCode::kUnavailable:
      return explained(sent ? ErrorCode::kConnectionLost : ErrorCode::kUnreachable);
    case StatusCode::kDeadlineExceeded:
      return explained(sent ? ErrorCode::kTimedOut : ErrorCode::kUnreachable);
    case StatusCode::kCancelled:
    case StatusCode::kUnknown: return explained(ErrorCode::kConnectionLost);
    case StatusCode::kUnimplemented: return explained(ErrorCode::kNotSupported);
    case StatusCode::kResourceExhausted: return explained(ErrorCode::kBadRequest);
    default: return explained(ErrorCode::kError);
  }
}

}  // namespace sluice::net
