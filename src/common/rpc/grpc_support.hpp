// What the server and the client with callbacks share of gRPC: bytes and statuses. Internal to rpc.
#pragma once

#include <string>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "common/net/call_status.hpp"

namespace sluice::net {

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

[[nodiscard]] grpc::Status to_grpc(const CallStatus& status);
[[nodiscard]] CallStatus from_grpc(const grpc::Status& status);

// gRPC writes to the standard error by itself, and checks its locks; this stops both, and is called
// before it is used.
void set_up_grpc();

}  // namespace sluice::net
