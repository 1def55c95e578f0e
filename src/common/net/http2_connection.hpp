// A connection for one gRPC call at a time, driven by the thread that asks: no thread, no queue, no set-up
// that outlasts the call. A command asks one question in its life, and gRPC's own client costs more than the question.
// The protocol is nghttp2's; the framing is https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. Internal to net.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "common/net/rpc_client.hpp"
#include "common/net/socket_stream.hpp"

struct nghttp2_session;

namespace sluice::net {

struct Http2Call {
  std::string path;     // "/sluice/NAME"
  std::string token;    // as made; empty: none is sent
  std::string request;
  SteadyTime deadline = kNoDeadline;
};

class Http2Connection {
 public:
  enum class Greeting {
    kFirst,     // settings are exchanged before the first call: a host that takes connections and says nothing is
                // unreachable, and another can be asked
    kWithCall,  // they go with the first call, which saves a turn; such a host is one that does not answer in time
  };
  // Connects to `address`, by TLS where the options say whom to trust. Errors: kUnreachable, kAuthentication.
  [[nodiscard]] static Result<std::unique_ptr<Http2Connection>> open(const std::string& address,
                                                                     const ClientOptions& options, Greeting greeting,
                                                                     SteadyTime deadline);
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;
  ~Http2Connection();

  // Sends the request; what becomes of it is told by read(). Only when the call before has ended.
  void start(Http2Call call);

  // Waits until `until` for the next message of the reply. kEnd and kFailed are said again and again.
  ReadState read(std::string& message, SteadyTime until);
  [[nodiscard]] const Error& error() const { return error_; }  // of kFailed

  [[nodiscard]] bool is_overheard() const { return socket_.is_overheard(); }
  [[nodiscard]] const std::string& signature() const { return signature_; }  // of kEnd; empty: none came

  // True when the last call ended and the server has not said or shown that it is going.
  [[nodiscard]] bool reusable();

  // Any thread: read() fails from now on.
  void interrupt();

 private:
  struct Callbacks;
  enum class Io { kProgress, kNothing, kClosed };

  Http2Connection(std::string address, int fd, const ClientOptions& options);
  void submit_settings();
  [[nodiscard]] Status greet(SteadyTime deadline);
  [[nodiscard]] Error lost(ErrorCode code, std::string_view why) const;
  Io exchange(SteadyTime until);  // sends what waits, then receives what comes until then
  [[nodiscard]] bool send_pending();
  [[nodiscard]] bool receive();
  void take_messages();
  void finish();
  void fail(ErrorCode code, std::string_view why);
  [[nodiscard]] bool keep_alive();

  const std::string address_;
  SocketStream socket_;
  const int wake_;  // an eventfd
  const Duration keepalive_;
  const size_t max_message_;
  nghttp2_session* session_ = nullptr;
  std::string unsent_;        // from the session, not taken by the socket
  bool held_back_ = false;    // nothing is sent for now
  bool settled_ = false;      // the server's settings have come
  bool heard_tls_ = false;    // the first that came is an alert of TLS, which is not spoken here
  bool going_ = false;        // the server wants no more calls, or the connection is gone
  std::atomic<bool> interrupted_ = false;
  SteadyTime heard_{};
  SteadyTime probed_{};       // when a ping went out; its initial value: none is out

  // of the call
  Http2Call call_;
  size_t request_sent_ = 0;
  int32_t stream_ = -1;       // none: -1
  bool closed_ = true;        // its stream is
  bool ended_ = true;         // and said so to the reader: good_ or error_
  bool good_ = false;
  uint32_t stream_error_ = 0;
  bool not_processed_ = false;
  std::string received_;      // bytes of messages not complete
  std::deque<std::string> messages_;
  int status_ = -1;           // grpc-status; -1: none came
  std::string http_status_, status_message_, status_details_, signature_;
  Error error_;
};

}  // namespace sluice::net
