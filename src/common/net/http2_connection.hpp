// A connection for gRPC calls, driven by the threads that wait for their answers: no thread of its
// own, no queue, no set-up that outlasts it. A command asks few questions in its life, and gRPC's
// own client costs more than the questions. Several calls may be open at once. One of the threads
// that wait then reads for all of them, and hands over when its own call has what it waits for. The
// protocol is nghttp2's; what the calls carry is gRPC's (grpc_reply.hpp). Internal to net. All
// functions are thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/net/grpc_reply.hpp"
#include "common/net/rpc_client.hpp"
#include "common/net/socket_stream.hpp"

struct nghttp2_session;

namespace sluice::net {

class Http2Call;

struct Http2Request {
  std::string path;   // "/sluice.v1.SERVICE/NAME"
  std::string token;  // as made; empty: none is sent
  std::string body;
  SteadyTime deadline = kNoDeadline;
};

class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  enum class Greeting {
    // settings are exchanged before the first call: a host that takes connections and says nothing
    // is unreachable, and another can be asked
    kFirst,
    // they go with the first call, which saves a turn; such a host is one that does not answer in
    // time, unless greet() waits for it
    kWithCall,
  };
  // Connects to `address`, by TLS where the options say whom to trust. Errors: kUnreachable,
  // kAuthentication.
  [[nodiscard]] static Result<std::shared_ptr<Http2Connection>> open(const std::string& address,
                                                                     const ClientOptions& options,
                                                                     Greeting greeting,
                                                                     SteadyTime deadline);
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;
  ~Http2Connection();

  // Sends the request; what becomes of it is told by the call.
  [[nodiscard]] std::unique_ptr<Http2Call> start(Http2Request request);

  // Waits for the server's settings, if they have not come yet. Error: kUnreachable.
  [[nodiscard]] Status greet(SteadyTime deadline);

  [[nodiscard]] bool is_overheard() const { return socket_.is_overheard(); }

  // False where the server has said or shown that it is going.
  [[nodiscard]] bool takes_calls();

 private:
  friend class Http2Call;
  struct Callbacks;
  enum class Io { kProgress, kNothing, kClosed };
  using Lock = std::unique_lock<std::mutex>;

  Http2Connection(std::string address, int fd, const ClientOptions& options);
  void submit_settings();
  [[nodiscard]] Error lost(ErrorCode code, std::string_view why) const;

  // For the calls. All that follows is with the lock held; take_turn() and exchange() leave it
  // while they wait.
  [[nodiscard]] ReadState read(Http2Call& call, std::string& message, SteadyTime until);
  void take_turn(Lock& lock, SteadyTime until);  // reads for all calls, or waits for who does
  void break_off(Http2Call& call, ErrorCode code, std::string_view why);
  void abandon(Http2Call& call);
  void wake_reader();
  // sends what waits, then receives what comes until then
  Io exchange(Lock& lock, SteadyTime until);
  [[nodiscard]] bool send_pending();
  [[nodiscard]] bool receive();
  [[nodiscard]] bool keep_alive();

  const std::string address_;
  SocketStream socket_;
  const int wake_;  // an eventfd, for the thread that reads
  const Duration keepalive_;
  const size_t max_message_;

  std::mutex mutex_;  // guards all that follows, and what the socket sends and receives
  std::condition_variable turn_over_;
  bool read_by_one_ = false;  // a thread is in exchange()
  nghttp2_session* session_ = nullptr;
  std::string unsent_;      // from the session, not taken by the socket
  bool held_back_ = false;  // nothing is sent for now
  bool settled_ = false;    // the server's settings have come
  bool heard_tls_ = false;  // the first that came is an alert of TLS, which is not spoken here
  // why the server closed it, where it has looked at no call; empty: it has not
  std::string_view sent_away_;
  bool going_ = false;   // the server wants no more calls, or the connection is gone
  bool closed_ = false;  // it is gone
  SteadyTime heard_{};
  SteadyTime probed_{};  // when a ping went out; its initial value: none is out
};

// One call. Its end before kEnd or kFailed tells the server that nobody reads any more.
class Http2Call {
 public:
  Http2Call(const Http2Call&) = delete;
  Http2Call& operator=(const Http2Call&) = delete;
  ~Http2Call();

  // Waits until `until` for the next message of the reply. kEnd and kFailed are said again and
  // again. One thread.
  [[nodiscard]] ReadState read(std::string& message, SteadyTime until) {
    return connection_->read(*this, message, until);
  }
  [[nodiscard]] const Error& error() const { return reply_.error(); }  // of kFailed
  // of kEnd; empty: none came
  [[nodiscard]] const std::string& signature() const { return reply_.signature(); }

  // Any thread: read() fails from now on.
  void cancel();

 private:
  friend class Http2Connection;
  Http2Call(std::shared_ptr<Http2Connection> connection, Http2Request request);

  const std::shared_ptr<Http2Connection> connection_;
  // The rest is guarded by the connection's lock.
  Http2Request request_;
  size_t request_sent_ = 0;
  GrpcReply reply_;
  int32_t stream_ = -1;   // none: -1
  bool is_open_ = false;  // its stream is
  bool cancelled_ = false;
};

}  // namespace sluice::net
