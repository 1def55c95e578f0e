// A client of an RpcServer that waits for its answers: one connection to the first of its addresses
// that answers.
//
//   RpcClient client({.addresses = {"ctl1:6817", "ctl2:6817"}, .auth = auth});
//   Result<PingReply> reply = client.call<PingReply>(PingRequest{}, std::chrono::seconds(10));
//
// Errors of all calls, apart from those of the handler itself:
// - kUnreachable: nothing was sent: no address could be resolved and connected to, or none of
//   several answered
// - kConnectionLost: the connection broke after the request was sent; it may or may not be done
// - kTimedOut: no reply in time; it may or may not be done
// - kAuthentication: no token could be made, or the server refused it
// - kNotSupported: the server does not know the method
// - kRetry: the server closed the connection, as it has too many, again and again; nothing was done
// Their texts name the address and cause, for logs; commands show the code's own sentence instead.
// An address that cannot be reached is passed over for the next; nothing is ever sent twice.
// It starts no thread and links no gRPC: what a command costs to start is what a user waits for.
// Daemons, which answer others while they wait, use rpc/async_client.hpp. All functions are
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/net/client_endpoints.hpp"
#include "common/net/method_name.hpp"
#include "common/wire/instances.hpp"

namespace sluice::net {

enum class ReadState {
  kChunk,   // there is a chunk
  kEnd,     // the stream ended well
  kFailed,  // the stream ended with error()
  kNotYet,  // nothing came in the given time; read again
};

// The blocking reader of a stream. One thread reads; cancel() may be called from any.
class RawStream {
 public:
  virtual ~RawStream() = default;
  virtual ReadState read(std::string& chunk, Duration wait) = 0;
  [[nodiscard]] virtual const Error& error() const = 0;
  virtual void cancel() = 0;
};

template <class Chunk>
class StreamReader {
 public:
  explicit StreamReader(std::unique_ptr<RawStream> raw) : raw_(std::move(raw)) {}

  // Waits up to `wait` for the next chunk (negative: without end).
  ReadState read(Chunk& chunk, Duration wait = Duration(-1)) {
    std::string bytes;
    const ReadState state = raw_->read(bytes, wait);
    if (state != ReadState::kChunk) return state;
    Result<Chunk> decoded = wire::decode<Chunk>(bytes);
    if (decoded) {
      chunk = std::move(*decoded);
      return ReadState::kChunk;
    }
    own_error_ = decoded.error();
    raw_->cancel();
    return ReadState::kFailed;
  }
  [[nodiscard]] const Error& error() const { return own_error_ ? *own_error_ : raw_->error(); }
  void cancel() { raw_->cancel(); }

 private:
  std::unique_ptr<RawStream> raw_;
  std::optional<Error> own_error_;
};

class RpcClient {
 public:
  explicit RpcClient(ClientOptions options);
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;
  ~RpcClient();

  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> call(std::string_view method, const Request& request,
                                   Duration timeout) {
    const Result<std::string> bytes = call_raw(method, wire::encode(request), timeout);
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    return wire::decode<Reply>(*bytes);
  }
  template <class Reply, class Request>
  requires Answers<Reply, Request>
  [[nodiscard]] Result<Reply> call(const Request& request, Duration timeout) {
    return call<Reply, Request>(method_name<Request>(), request, timeout);
  }

  // Opens a stream. A server that cannot be reached is an error here or at the first read.
  template <class Chunk, class Request>
  [[nodiscard]] Result<StreamReader<Chunk>> open(std::string_view method, const Request& request) {
    auto raw = open_raw(method, wire::encode(request));
    if (!raw) return tl::unexpected<Error>(std::move(raw.error()));
    return StreamReader<Chunk>(std::move(*raw));
  }
  template <class Chunk, class Request>
  requires Answers<Chunk, Request>
  [[nodiscard]] Result<StreamReader<Chunk>> open(const Request& request) {
    return open<Chunk, Request>(method_name<Request>(), request);
  }

  // The same on bytes, for messages that are passed on unread.
  Result<std::string> call_raw(std::string_view method, const std::string& request,
                               Duration timeout);
  Result<std::unique_ptr<RawStream>> open_raw(std::string_view method, const std::string& request);

 private:
  Result<std::string> call_once(std::string_view method, const std::string& request,
                                Duration timeout);
  Result<std::unique_ptr<RawStream>> open_once(std::string_view method, const std::string& request);

  struct Impl;
  std::shared_ptr<Impl> impl_;  // streams know it, too
};

}  // namespace sluice::net
