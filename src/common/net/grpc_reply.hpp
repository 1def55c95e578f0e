// What a gRPC server answers to one call, put together from the parts that HTTP/2 delivers: the
// messages of the body and, after them, the status. Knows no connection. The framing is
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. Internal to net.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

// A message as it travels: a byte that says that it is not compressed, its length in four bytes,
// and itself.
[[nodiscard]] std::string grpc_frame(std::string message);

class GrpcReply {
 public:
  // `address` is named in errors; a longer message than `max_message` bytes is refused.
  GrpcReply(std::string address, size_t max_message)
      : address_(std::move(address)), max_message_(max_message) {}

  void add_header(std::string_view key, std::string_view value);  // of the beginning or of the end
  void add_body(std::string_view bytes);
  // Nothing more comes. The stream was reset where `reset` is not empty, which says why.
  // Errors, by error(): the server's own; kConnectionLost without a status; kError for one that
  // speaks HTTP and not gRPC.
  void close(std::string_view reset);
  // No-op once it has ended.
  void fail(ErrorCode code, std::string_view why);
  void fail(Error error);

  // The next message that is complete; false: there is none now.
  [[nodiscard]] bool take(std::string& message);

  [[nodiscard]] bool has_ended() const { return ended_; }
  [[nodiscard]] bool ended_well() const { return ended_ && error_.code == ErrorCode::kOk; }
  // of what has not ended well
  [[nodiscard]] const Error& error() const { return error_; }
  // of the answer; empty: none came
  [[nodiscard]] const std::string& signature() const { return signature_; }

 private:
  const std::string address_;
  const size_t max_message_;
  std::string received_;  // bytes of messages not complete
  std::deque<std::string> messages_;
  int status_ = -1;  // grpc-status; -1: none came
  std::string http_status_, status_message_, status_details_, signature_;
  bool ended_ = false;
  Error error_{ErrorCode::kOk, {}};
};

}  // namespace sluice::net
