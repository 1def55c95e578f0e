// What server and client share of gRPC: bytes, statuses, names. Only .cpp files of net include it.
#pragma once

#include <string>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "common/base/result.hpp"

namespace sluice::net {

inline constexpr const char* kTokenKey = "sluice-token-bin";
inline constexpr int kMostMetadataBytes = 64 << 10;

// "/sluice/NAME"
[[nodiscard]] std::string method_path(std::string_view method);

[[nodiscard]] grpc::ByteBuffer to_buffer(std::string bytes);

// The bytes of a buffer as one run; cheap when they are one already.
class ContiguousBytes {
 public:
  explicit ContiguousBytes(const grpc::ByteBuffer& buffer);
  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
  }

 private:
  grpc::Slice slice_;
};

// An Error travels in the status' details, so that its code survives; the status' own code and
// message are for generic tools.
[[nodiscard]] grpc::Status to_status(const Error& error);
// Of a failed status. `connected`: whether the channel is; a call that timed out without was never
// sent. `address` is for the text.
[[nodiscard]] Error to_error(const grpc::Status& status,
                             bool connected,
                             const std::string& address);

// gRPC writes to the standard error by itself; this stops it, and is called before it is used.
void quiet_grpc();

}  // namespace sluice::net
