// A client of an RpcServer: one connection to the first of its addresses that answers.
//
//   RpcClient client({.addresses = {"ctl1:6817", "ctl2:6817"}, .auth = auth});
//   Result<PingReply> reply = client.call<PingReply>(PingRequest{}, std::chrono::seconds(10));
//
// Errors of all calls, apart from those of the handler itself:
//   kUnreachable     nothing was sent: no address could be resolved and connected to
//   kConnectionLost  the connection broke after the request was sent; it may or may not be done
//   kTimedOut        no reply in time; it may or may not be done
//   kAuthentication  no token could be made, or the server refused it
//   kNotSupported    the server does not know the method
// Their texts name the address and cause, for logs; commands show the code's own sentence instead.
// An address that cannot be reached is passed over for the next; nothing is ever sent twice.
// Blocking calls start no thread; callbacks run on gRPC's threads. All functions are thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net/auth.hpp"
#include "common/net/rpc_server.hpp"

namespace sluice::net {

struct ClientOptions {
  std::vector<std::string> addresses;  // "host:port" or "unix:/path", tried in this order
  std::shared_ptr<AuthProvider> auth;  // null: no token is sent
  Duration connect_timeout = std::chrono::seconds(3);  // of one address
  Duration keepalive = std::chrono::seconds(60);       // an idle stream is probed this often
  size_t max_message = 64 << 20;
};

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

// Ends a stream opened with callbacks; dropping it does too. No callback runs after cancel() or
// the destructor has returned, unless it is called from within one.
class StreamHandle {
 public:
  class Call;
  StreamHandle() = default;
  explicit StreamHandle(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  StreamHandle(StreamHandle&&) noexcept = default;
  StreamHandle& operator=(StreamHandle&& other) noexcept;
  ~StreamHandle();
  void cancel();

 private:
  std::shared_ptr<Call> call_;
};

class RpcClient {
 public:
  explicit RpcClient(ClientOptions options);
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;
  ~RpcClient();  // calls under way go on to their end

  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> call(std::string_view method,
                                   const Request& request,
                                   Duration timeout) {
    const Result<std::string> bytes = call_raw(method, wire::encode(request), timeout);
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    return wire::decode<Reply>(*bytes);
  }
  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> call(const Request& request, Duration timeout) {
    return call<Reply, Request>(method_name<Request>(), request, timeout);
  }

  // `done` runs exactly once, possibly before this returns.
  template <class Reply, class Request>
  void call_async(std::string_view method,
                  const Request& request,
                  Duration timeout,
                  std::function<void(Result<Reply>)> done) {
    call_raw_async(method, wire::encode(request), timeout,
                   [done = std::move(done)](Result<std::string> bytes) {
                     done(bytes ? wire::decode<Reply>(*bytes)
                                : tl::unexpected<Error>(std::move(bytes.error())));
                   });
  }
  template <class Reply, class Request>
  void call_async(const Request& request,
                  Duration timeout,
                  std::type_identity_t<std::function<void(Result<Reply>)>> done) {
    call_async<Reply, Request>(method_name<Request>(), request, timeout, std::move(done));
  }

  // Opens a stream. A server that cannot be reached is an error here or at the first read.
  template <class Chunk, class Request>
  [[nodiscard]] Result<StreamReader<Chunk>> open(std::string_view method, const Request& request) {
    auto raw = open_raw(method, wire::encode(request));
    if (!raw) return tl::unexpected<Error>(std::move(raw.error()));
    return StreamReader<Chunk>(std::move(*raw));
  }
  template <class Chunk, class Request>
  [[nodiscard]] Result<StreamReader<Chunk>> open(const Request& request) {
    return open<Chunk, Request>(method_name<Request>(), request);
  }

  // The same with callbacks: `on_chunk` for each chunk, one at a time, then `on_end` once.
  template <class Chunk, class Request>
  [[nodiscard]] StreamHandle listen(std::string_view method,
                                    const Request& request,
                                    std::function<void(Chunk)> on_chunk,
                                    std::function<void(Status)> on_end) {  // NOLINT(performance-unnecessary-value-param)
    return listen_raw(
        method, wire::encode(request),
        [on_chunk = std::move(on_chunk)](std::string_view bytes) -> Status {
          Result<Chunk> chunk = wire::decode<Chunk>(bytes);
          if (!chunk) return tl::unexpected<Error>(std::move(chunk.error()));
          on_chunk(std::move(*chunk));
          return {};
        },
        std::move(on_end));
  }
  template <class Chunk, class Request>
  [[nodiscard]] StreamHandle listen(const Request& request,
                                    std::type_identity_t<std::function<void(Chunk)>> on_chunk,
                                    std::function<void(Status)> on_end) {
    return listen<Chunk, Request>(method_name<Request>(), request, std::move(on_chunk),
                                  std::move(on_end));
  }

  // The same on bytes, for messages that are passed on unread.
  Result<std::string> call_raw(std::string_view method, const std::string& request, Duration timeout);
  void call_raw_async(std::string_view method,
                      std::string request,
                      Duration timeout,
                      std::function<void(Result<std::string>)> done);
  Result<std::unique_ptr<RawStream>> open_raw(std::string_view method, std::string request);
  StreamHandle listen_raw(std::string_view method,
                          std::string request,
                          std::function<Status(std::string_view)> on_chunk,
                          std::function<void(Status)> on_end);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::net
