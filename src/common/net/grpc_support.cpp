#include "common/net/grpc_support.hpp"

#include <mutex>

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

constexpr size_t kCopiedBytes = 4096;     // up to here a copy is cheaper than passing ownership
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

grpc::StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kAuthentication:
      return grpc::StatusCode::UNAUTHENTICATED;
    case ErrorCode::kAccessDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::kBadRequest:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotSupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case ErrorCode::kStorageFull:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    default:
      return grpc::StatusCode::FAILED_PRECONDITION;
  }
}

// gRPC has one code for a call that found no connection and for one whose connection broke; only
// its text tells them apart. Anything else counts as sent, which is the safe side.
bool never_sent(const grpc::Status& status) {
  return status.error_message().starts_with("failed to connect to all addresses");
}

}  // namespace

std::string method_path(std::string_view method) {
  std::string path = "/sluice/";
  path += method;
  return path;
}

grpc::ByteBuffer to_buffer(std::string bytes) {
  if (bytes.size() <= kCopiedBytes) {
    const grpc::Slice slice(bytes);
    return {&slice, 1};
  }
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* p) { delete static_cast<std::string*>(p); }, owned);
  return {&slice, 1};
}

ContiguousBytes::ContiguousBytes(const grpc::ByteBuffer& buffer) {
  if (buffer.Valid() && !buffer.TrySingleSlice(&slice_).ok()) {
    (void)buffer.DumpToSingleSlice(&slice_);
  }
}

grpc::Status to_status(const Error& error) {
  std::string text = error.text.substr(0, kMostErrorText);
  std::string details = wire::encode(RemoteError{error.code, text});
  return {status_code(error.code), std::move(text), std::move(details)};
}

Error to_error(const grpc::Status& status, bool connected, const std::string& address) {
  if (const std::string details = status.error_details(); !details.empty()) {
    Result<RemoteError> remote = wire::decode<RemoteError>(details);
    if (remote && remote->code != ErrorCode::kOk) return {remote->code, std::move(remote->text)};
  }
  const auto explained = [&](ErrorCode code) {
    return Error{code, fmt::format("{}: {}", address, status.error_message())};
  };
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return explained(never_sent(status) ? ErrorCode::kUnreachable : ErrorCode::kConnectionLost);
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return explained(connected ? ErrorCode::kTimedOut : ErrorCode::kUnreachable);
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
      return explained(ErrorCode::kConnectionLost);
    case grpc::StatusCode::UNIMPLEMENTED:
      return explained(ErrorCode::kNotSupported);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return explained(ErrorCode::kBadRequest);
    default:
      return explained(ErrorCode::kError);
  }
}

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args*) {});
    // Never shut down: doing so starts a thread, at the end of every process.
    grpc_init();
  });
}

}  // namespace sluice::net
