#include "common/net/http2_connection.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "common/net/address.hpp"
#include "common/net/call_status.hpp"
#include "common/os/back_off.hpp"
#include "common/os/clock.hpp"
#include "common/net/metadata_text.hpp"

namespace sluice::net {
namespace {

constexpr int32_t kWindow = 4 << 20;  // bytes on the way to us
constexpr size_t kMostUnsent = 64 << 10;
constexpr uint8_t kTlsAlert = 21, kTlsMajor = 3;  // how an alert of TLS begins
constexpr Duration kProbeTimeout = std::chrono::seconds(20);

// "2500m"; the protocol allows eight digits.
std::string timeout_text(Duration left) {
  const auto ms = std::max<int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(left).count());
  return ms < 100'000'000 ? fmt::format("{}m", ms)
                          : fmt::format("{}S", std::min<int64_t>(ms / 1000, 99'999'999));
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

// What nghttp2 calls while it reads and writes; it fixes the parameters. A stream's data is its
// call, null once nobody waits for it.
// NOLINTBEGIN(readability-function-size)
struct Http2Connection::Callbacks {
  static Http2Call* call_of(nghttp2_session* session, int32_t stream) {
    return static_cast<Http2Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = *static_cast<Http2Connection*>(user);
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
      connection.settled_ = true;
    // calls that it has not looked at are closed as refused
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      connection.going_ = true;
      const nghttp2_goaway& away = frame->goaway;
      const std::string_view why(reinterpret_cast<const char*>(away.opaque_data),
                                 away.opaque_data_len);
      if (away.last_stream_id == 0 && why == kCrowded) connection.sent_away_ = kCrowded;
      if (away.last_stream_id == 0 && why == kCrowdedHost) connection.sent_away_ = kCrowdedHost;
    }
    return 0;
  }
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t /*flags*/,
                       void* /*user*/) {
    Http2Call* call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    call->reply_.add_header({reinterpret_cast<const char*>(name), name_size},
                            {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }
  static int on_data(nghttp2_session* session, uint8_t /*flags*/, int32_t stream,
                     const uint8_t* data, size_t size, void* /*user*/) {
    Http2Call* call = call_of(session, stream);
    if (call != nullptr) call->reply_.add_body({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  static int on_stream_close(nghttp2_session* session, int32_t stream, uint32_t error, void* user) {
    Http2Call* call = call_of(session, stream);
    if (call == nullptr) return 0;
    call->is_open_ = false;
    const Http2Connection& connection = *static_cast<Http2Connection*>(user);
    if (error == NGHTTP2_REFUSED_STREAM)
      call->reply_.fail(connection.lost(ErrorCode::kUnreachable, "the server is going away"));
    else call->reply_.close(nghttp2_http2_strerror(error));
    return 0;
  }
  static ssize_t give_request(nghttp2_session* session, int32_t stream, uint8_t* out, size_t size,
                              uint32_t* flags, nghttp2_data_source* /*source*/, void* /*user*/) {
    Http2Call* call = call_of(session, stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string& body = call->request_.body;
    const size_t part = std::min(size, body.size() - call->request_sent_);
    std::copy_n(body.data() + call->request_sent_, part, out);
    call->request_sent_ += part;
    if (call->request_sent_ == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }
};
// NOLINTEND(readability-function-size)

Result<std::shared_ptr<Http2Connection>> Http2Connection::open(const std::string& address,
                                                               const ClientOptions& options,
                                                               Greeting greeting,
                                                               SteadyTime deadline) {
  const SteadyTime limit = std::min(deadline, steady_now() + options.connect_timeout);
  const Result<int> fd = connect_to(address, limit);
  if (!fd) return tl::unexpected<Error>(fd.error());
  std::shared_ptr<Http2Connection> connection(new Http2Connection(address, *fd, options));
  if (options.tls != nullptr && !address.starts_with("unix:")) {
    // a host that took the connection is given the time of the call, as it is without TLS, where
    // there is no other to ask and that time has an end
    const bool waits = greeting == Greeting::kWithCall && deadline < kNoDeadline;
    const SteadyTime until = waits ? deadline : limit;
    const Status ok = connection->socket_.secure(
        options.tls, certified_names(options.receiver, address), address, until);
    if (!ok) return tl::unexpected<Error>(ok.error());
  }
  connection->submit_settings();
  if (greeting == Greeting::kFirst) {
    (void)connection->send_pending();
    connection->held_back_ = true;  // our word on the server's settings goes with the first call
    if (const Status ok = connection->greet(limit); !ok) return tl::unexpected<Error>(ok.error());
    connection->held_back_ = false;
  }
  return connection;
}

Http2Connection::Http2Connection(std::string address, int fd, const ClientOptions& options)
    : address_(std::move(address)),
      socket_(fd),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      keepalive_(options.keepalive),
      max_message_(options.max_message),
      heard_(steady_now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
}

Http2Connection::~Http2Connection() {
  nghttp2_session_del(session_);
  if (wake_ >= 0) ::close(wake_);
}

void Http2Connection::submit_settings() {
  const std::array<nghttp2_settings_entry, 3> settings{
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostMetadataBytes}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
}

Status Http2Connection::greet(SteadyTime deadline) {
  Lock lock(mutex_);
  while (!settled_ && !closed_) {
    take_turn(lock, deadline);
    if (steady_now() >= deadline) break;
  }
  if (settled_ && sent_away_.empty()) return {};
  return tl::unexpected<Error>(
      lost(ErrorCode::kUnreachable, closed_ ? "closed the connection" : "does not answer"));
}

std::unique_ptr<Http2Call> Http2Connection::start(Http2Request request) {
  std::unique_ptr<Http2Call> call(new Http2Call(shared_from_this(), std::move(request)));
  const std::string token = to_base64(call->request_.token);
  std::string timeout;
  if (call->request_.deadline < kNoDeadline)
    timeout = timeout_text(call->request_.deadline - steady_now());
  std::vector<nghttp2_nv> headers{header(":method", "POST"),
                                  header(":scheme", "http"),
                                  header(":path", call->request_.path),
                                  header(":authority", "sluice"),
                                  header("te", "trailers"),
                                  header("content-type", "application/grpc"),
                                  header("user-agent", "sluice")};
  if (!timeout.empty()) headers.push_back(header("grpc-timeout", timeout));
  if (!token.empty()) headers.push_back(header(kTokenKey, token));
  const nghttp2_data_provider body{{}, Callbacks::give_request};
  const Lock lock(mutex_);
  call->stream_ =
      nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, call.get());
  call->is_open_ = call->stream_ >= 0;
  if (!call->is_open_) break_off(*call, ErrorCode::kUnreachable, nghttp2_strerror(call->stream_));
  else if (!send_pending()) break_off(*call, ErrorCode::kUnreachable, "closed the connection");
  else if (!unsent_.empty()) wake_reader();  // who has to look whether the socket takes more, too
  return call;
}

ReadState Http2Connection::read(Http2Call& call, std::string& message, SteadyTime until) {
  Lock lock(mutex_);
  const SteadyTime deadline = call.request_.deadline;
  for (bool waited = false;; waited = true) {
    if (call.reply_.take(message)) return ReadState::kChunk;
    if (call.reply_.has_ended()) {
      if (call.is_open_) abandon(call);
      return call.reply_.ended_well() ? ReadState::kEnd : ReadState::kFailed;
    }
    if (call.cancelled_) break_off(call, ErrorCode::kConnectionLost, "cancelled");
    else if (closed_) break_off(call, ErrorCode::kConnectionLost, "the connection broke");
    else if (waited && steady_now() >= deadline)
      break_off(call, ErrorCode::kTimedOut, "no answer in time");
    else if (waited && steady_now() >= until) return ReadState::kNotYet;
    else take_turn(lock, std::min(until, deadline));
  }
}

void Http2Connection::take_turn(Lock& lock, SteadyTime until) {
  if (read_by_one_) {
    if (until >= kNoDeadline) turn_over_.wait(lock);  // in nanoseconds it would be a time long past
    else turn_over_.wait_until(lock, until);
    return;
  }
  read_by_one_ = true;
  if (exchange(lock, until) == Io::kClosed) closed_ = going_ = true;
  read_by_one_ = false;
  turn_over_.notify_all();
}

bool Http2Connection::takes_calls() {
  Lock lock(mutex_);
  if (!going_ && !read_by_one_) take_turn(lock, steady_now());
  return !going_;
}

// The call ends here, with its stream.
void Http2Connection::break_off(Http2Call& call, ErrorCode code, std::string_view why) {
  call.reply_.fail(lost(code, why));
  if (!call.cancelled_) going_ = true;  // who does not answer is not asked again here
  abandon(call);
}

// Nobody waits for the call any more. No-op once its stream is closed.
void Http2Connection::abandon(Http2Call& call) {
  if (!call.is_open_) return;
  call.is_open_ = false;
  nghttp2_session_set_stream_user_data(session_, call.stream_, nullptr);
  if (closed_) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream_, NGHTTP2_CANCEL);
  if (!send_pending()) going_ = true;
  else if (!unsent_.empty()) wake_reader();
}

void Http2Connection::wake_reader() {
  if (!read_by_one_) return;
  const uint64_t one = 1;
  while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {}
}

Http2Connection::Io Http2Connection::exchange(Lock& lock, SteadyTime until) {
  if (!send_pending()) return Io::kClosed;
  const SteadyTime probe =
      (probed_ == SteadyTime{} ? heard_ + keepalive_ : probed_ + kProbeTimeout);
  std::array<pollfd, 2> ready{{{socket_.fd(), POLLIN, 0}, {wake_, POLLIN, 0}}};
  if (!unsent_.empty()) ready[0].events |= POLLOUT;
  const bool held = socket_.holds_bytes();
  lock.unlock();
  const int found =
      poll(ready.data(), ready.size(), held ? 0 : poll_timeout(std::min(until, probe)));
  lock.lock();
  if (found <= 0 && !held) return keep_alive() ? Io::kNothing : Io::kClosed;
  if ((ready[1].revents & POLLIN) != 0) {
    uint64_t woken = 0;
    (void)!::read(wake_, &woken, sizeof woken);
  }
  if ((held || (ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) && !receive())
    return Io::kClosed;
  return send_pending() ? Io::kProgress : Io::kClosed;
}

// Nothing came for long: asks whether anybody is there. False: nobody is.
bool Http2Connection::keep_alive() {
  const SteadyTime time = steady_now();
  if (probed_ != SteadyTime{}) {
    if (time < probed_ + kProbeTimeout) return true;
    going_ = true;
    return false;
  }
  if (time >= heard_ + keepalive_) {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    probed_ = time;
  }
  return true;
}

bool Http2Connection::send_pending() {
  if (held_back_) return true;
  while (true) {
    while (unsent_.size() < kMostUnsent) {  // all that waits in one packet: each wakes the server
      const uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size < 0) return false;
      if (size == 0) break;
      unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    if (unsent_.empty()) return true;
    const ssize_t sent = socket_.send(unsent_.data(), unsent_.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return true;
    // What came before the break is still to be read: receive() finds the end.
    if (sent < 0) return unsent_.clear(), true;
    unsent_.erase(0, static_cast<size_t>(sent));
  }
}

bool Http2Connection::receive() {
  std::array<uint8_t, 65536> bytes;
  ssize_t size = 0;
  do { size = socket_.receive(bytes.data(), bytes.size()); } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return true;
  if (size > 1 && !settled_ && bytes[0] == kTlsAlert && bytes[1] == kTlsMajor) heard_tls_ = true;
  if (size > 0 &&
      nghttp2_session_mem_recv(session_, bytes.data(), static_cast<size_t>(size)) >= 0) {
    heard_ = steady_now();
    probed_ = SteadyTime{};
    return true;
  }
  going_ = true;
  return false;
}

// The reason for a connection that came to nothing, or broke.
Error Http2Connection::lost(ErrorCode code, std::string_view why) const {
  if (!sent_away_.empty())
    return {ErrorCode::kRetry, fmt::format("{} closed the connection: {}", address_, sent_away_)};
  if (!heard_tls_) return {code, fmt::format("{}: {}", address_, why)};
  return {
      ErrorCode::kAuthentication,
      fmt::format(
          "{}: speaks TLS alone, and this host none: TLSType of its slurm.conf, or no ca_cert.pem beside it",
          address_)};
}

Http2Call::Http2Call(std::shared_ptr<Http2Connection> connection, Http2Request request)
    : connection_(std::move(connection)),
      request_(std::move(request)),
      reply_(connection_->address_, connection_->max_message_) {
  request_.body = grpc_frame(std::move(request_.body));
}

Http2Call::~Http2Call() {
  const std::lock_guard lock(connection_->mutex_);
  connection_->abandon(*this);
}

void Http2Call::cancel() {
  const std::lock_guard lock(connection_->mutex_);
  cancelled_ = true;
  connection_->wake_reader();
  connection_->turn_over_.notify_all();
}

}  // namespace sluice::net
