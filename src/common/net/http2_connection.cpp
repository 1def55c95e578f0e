#include "common/net/http2_connection.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "common/net/address.hpp"
#include "common/net/call_status.hpp"
#include "common/net/clock.hpp"
#include "common/net/metadata_text.hpp"

namespace sluice::net {
namespace {

constexpr int32_t kWindow = 4 << 20;  // bytes on the way to us
constexpr size_t kPrefixBytes = 5;    // compressed or not, and the length, before each message
constexpr size_t kMostUnsent = 64 << 10;
constexpr uint8_t kTlsAlert = 21, kTlsMajor = 3;  // how an alert of TLS begins
constexpr Duration kProbeTimeout = std::chrono::seconds(20);

std::string prefix_of(size_t size) {
  std::string prefix(1, '\0');
  for (const int shift : {24, 16, 8, 0}) prefix += static_cast<char>(size >> shift & 0xff);
  return prefix;
}

size_t length_in(std::string_view prefix) {
  size_t length = 0;
  for (const char byte : prefix.substr(1, 4)) length = length << 8 | static_cast<uint8_t>(byte);
  return length;
}

// "2500m"; the protocol allows eight digits.
std::string timeout_text(Duration left) {
  const auto ms = std::max<int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(left).count());
  return ms < 100'000'000 ? fmt::format("{}m", ms) : fmt::format("{}S", std::min<int64_t>(ms / 1000, 99'999'999));
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

// What nghttp2 calls while it reads and writes; it fixes the parameters.
// NOLINTBEGIN(readability-function-size)
struct Http2Connection::Callbacks {
  static Http2Connection& self(void* user) { return *static_cast<Http2Connection*>(user); }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    Http2Connection& c = self(user);
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) c.settled_ = true;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      c.going_ = true;
      if (c.stream_ > frame->goaway.last_stream_id) c.not_processed_ = true;
    }
    return 0;
  }
  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t /*flags*/, void* user) {
    Http2Connection& c = self(user);
    if (frame->hd.stream_id != c.stream_) return 0;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") c.http_status_ = text;
    else if (key == "grpc-message") c.status_message_ = percent_decoded(text);
    else if (key == "grpc-status-details-bin") c.status_details_ = from_base64(text);
    else if (key == kSignatureKey) c.signature_ = from_base64(text);
    else if (key == "grpc-status") std::from_chars(text.data(), text.data() + text.size(), c.status_);
    return 0;
  }
  static int on_data(nghttp2_session* /*session*/, uint8_t /*flags*/, int32_t stream, const uint8_t* data, size_t size,
                     void* user) {
    Http2Connection& c = self(user);
    if (stream == c.stream_) c.received_.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_stream_close(nghttp2_session* /*session*/, int32_t stream, uint32_t error, void* user) {
    Http2Connection& c = self(user);
    if (stream != c.stream_) return 0;
    c.closed_ = true;
    c.stream_error_ = error;
    if (error == NGHTTP2_REFUSED_STREAM) c.not_processed_ = true;
    return 0;
  }
  static ssize_t give_request(nghttp2_session* /*session*/, int32_t /*stream*/, uint8_t* out, size_t size,
                              uint32_t* flags, nghttp2_data_source* /*source*/, void* user) {
    Http2Connection& c = self(user);
    const size_t part = std::min(size, c.call_.request.size() - c.request_sent_);
    std::copy_n(c.call_.request.data() + c.request_sent_, part, out);
    c.request_sent_ += part;
    if (c.request_sent_ == c.call_.request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }
};
// NOLINTEND(readability-function-size)

Result<std::unique_ptr<Http2Connection>> Http2Connection::open(const std::string& address, const ClientOptions& options,
                                                               Greeting greeting, SteadyTime deadline) {
  const SteadyTime limit = std::min(deadline, steady_now() + options.connect_timeout);
  const Result<int> fd = connect_to(address, limit);
  if (!fd) return tl::unexpected<Error>(fd.error());
  std::unique_ptr<Http2Connection> connection(new Http2Connection(address, *fd, options));
  if (options.tls != nullptr && !address.starts_with("unix:")) {
    // a host that took the connection is given the time of the call, as it is without TLS, where there is no other to ask
    const SteadyTime until = greeting == Greeting::kFirst ? limit : deadline;
    const Status ok = connection->socket_.secure(options.tls, certified_names(options.receiver, address), address, until);
    if (!ok) return tl::unexpected<Error>(ok.error());
  }
  connection->submit_settings();
  if (greeting == Greeting::kFirst) {
    if (const Status ok = connection->greet(limit); !ok) return tl::unexpected<Error>(ok.error());
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
  const std::array<nghttp2_settings_entry, 3> settings{{{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                                        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostMetadataBytes}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
}

Status Http2Connection::greet(SteadyTime deadline) {
  bool open = send_pending();
  held_back_ = true;  // our word on the server's settings goes with the first call
  while (open && !settled_) {
    open = exchange(deadline) != Io::kClosed;
    if (open && steady_now() < deadline) continue;
    break;
  }
  held_back_ = false;
  if (!settled_) {
    return tl::unexpected<Error>(lost(ErrorCode::kUnreachable, open ? "does not answer" : "closed the connection"));
  }
  return {};
}

void Http2Connection::start(Http2Call call) {
  call_ = std::move(call);
  call_.request.insert(0, prefix_of(call_.request.size()));
  request_sent_ = 0;
  closed_ = ended_ = good_ = not_processed_ = false;
  stream_error_ = 0;
  received_.clear();
  messages_.clear();
  status_ = -1;
  http_status_.clear();
  status_message_.clear();
  status_details_.clear();
  signature_.clear();
  error_ = {};
  const std::string token = to_base64(call_.token);
  std::string timeout;
  if (call_.deadline < kNoDeadline) timeout = timeout_text(call_.deadline - steady_now());
  std::vector<nghttp2_nv> headers{header(":method", "POST"),         header(":scheme", "http"),
                                  header(":path", call_.path),       header(":authority", "sluice"),
                                  header("te", "trailers"),          header("content-type", "application/grpc"),
                                  header("user-agent", "sluice")};
  if (!timeout.empty()) headers.push_back(header("grpc-timeout", timeout));
  if (!token.empty()) headers.push_back(header(kTokenKey, token));
  const nghttp2_data_provider body{{}, Callbacks::give_request};
  stream_ = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, nullptr);
  if (stream_ < 0) fail(ErrorCode::kUnreachable, nghttp2_strerror(stream_));
  else if (!send_pending()) fail(ErrorCode::kUnreachable, "closed the connection");
}

ReadState Http2Connection::read(std::string& message, SteadyTime until) {
  while (true) {
    if (!messages_.empty()) {
      message = std::move(messages_.front());
      messages_.pop_front();
      return ReadState::kChunk;
    }
    if (ended_) return good_ ? ReadState::kEnd : ReadState::kFailed;
    if (interrupted_) {
      fail(ErrorCode::kConnectionLost, "cancelled");
      continue;
    }
    const Io io = exchange(std::min(until, call_.deadline));
    take_messages();
    if (closed_ && !ended_) finish();
    else if (io == Io::kClosed && !ended_)
      fail(not_processed_ ? ErrorCode::kUnreachable : ErrorCode::kConnectionLost, "the connection broke");
    else if (io == Io::kNothing && steady_now() >= call_.deadline) fail(ErrorCode::kTimedOut, "no answer in time");
    else if (io == Io::kNothing && steady_now() >= until && messages_.empty()) return ReadState::kNotYet;
  }
}

bool Http2Connection::reusable() {
  if (!closed_ || going_ || interrupted_) return false;
  return exchange(steady_now()) != Io::kClosed && !going_;
}

void Http2Connection::interrupt() {
  interrupted_ = true;
  const uint64_t one = 1;
  while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {}
}

Http2Connection::Io Http2Connection::exchange(SteadyTime until) {
  if (!send_pending()) return Io::kClosed;
  const SteadyTime probe = (probed_ == SteadyTime{} ? heard_ + keepalive_ : probed_ + kProbeTimeout);
  std::array<pollfd, 2> ready{{{socket_.fd(), POLLIN, 0}, {wake_, POLLIN, 0}}};
  if (!unsent_.empty()) ready[0].events |= POLLOUT;
  const bool held = socket_.holds_bytes();
  if (poll(ready.data(), ready.size(), held ? 0 : poll_timeout(std::min(until, probe))) <= 0 && !held) {
    return keep_alive() ? Io::kNothing : Io::kClosed;
  }
  if (interrupted_) return Io::kNothing;
  if ((held || (ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) && !receive()) return Io::kClosed;
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
  do {
    size = socket_.receive(bytes.data(), bytes.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return true;
  if (size > 1 && !settled_ && bytes[0] == kTlsAlert && bytes[1] == kTlsMajor) heard_tls_ = true;
  if (size > 0 && nghttp2_session_mem_recv(session_, bytes.data(), static_cast<size_t>(size)) >= 0) {
    heard_ = steady_now();
    probed_ = SteadyTime{};
    return true;
  }
  going_ = true;
  return false;
}

void Http2Connection::take_messages() {
  size_t at = 0;
  while (!ended_ && received_.size() - at >= kPrefixBytes) {
    const std::string_view prefix(received_.data() + at, kPrefixBytes);
    const size_t length = length_in(prefix);
    if (prefix[0] != 0) return fail(ErrorCode::kNotSupported, "a compressed reply");
    if (length > max_message_) {
      return fail(ErrorCode::kBadRequest, fmt::format("a reply of {} bytes is over the limit", length));
    }
    if (received_.size() - at - kPrefixBytes < length) break;
    messages_.push_back(received_.substr(at + kPrefixBytes, length));
    at += kPrefixBytes + length;
  }
  received_.erase(0, at);
}

// The stream is closed: with a status, or without.
void Http2Connection::finish() {
  if (not_processed_) return fail(ErrorCode::kUnreachable, "the server is going away");
  if (status_ == 0) {
    ended_ = good_ = true;
  } else if (status_ > 0) {
    ended_ = true;
    error_ = to_error({static_cast<StatusCode>(status_), status_message_, status_details_}, true, address_);
  } else if (!http_status_.empty() && http_status_ != "200") {
    fail(ErrorCode::kError, "HTTP status " + http_status_);
  } else {
    fail(ErrorCode::kConnectionLost, nghttp2_http2_strerror(stream_error_));
  }
}

// The reason for a connection that came to nothing, or broke.
Error Http2Connection::lost(ErrorCode code, std::string_view why) const {
  if (!heard_tls_) return {code, fmt::format("{}: {}", address_, why)};
  return {ErrorCode::kAuthentication, fmt::format("{}: speaks TLS alone, and this host none: TLSType of its slurm.conf, or no ca_cert.pem beside it", address_)};
}

// The call ends here; the connection is not used again when its stream is still open.
void Http2Connection::fail(ErrorCode code, std::string_view why) {
  ended_ = true;
  good_ = false;
  error_ = lost(code, why);
  if (closed_) return;
  going_ = true;
  if (stream_ > 0) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
  (void)send_pending();
}

}  // namespace sluice::net
