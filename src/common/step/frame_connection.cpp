#include "common/step/frame_connection.hpp"

#include <chrono>
#include <utility>

namespace sluice {
namespace {

// a peer that reads nothing any more is not waited for
constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kReadBytes = 65536;

}  // namespace

std::shared_ptr<FrameConnection> FrameConnection::make(Socket socket, uint32_t max_frame) {
  return std::shared_ptr<FrameConnection>(new FrameConnection(std::move(socket), max_frame));
}

FrameConnection::FrameConnection(Socket socket, uint32_t max_frame)
    : StreamConnection(std::move(socket), kReadBytes),
      reader_(max_frame),
      linger_timer_(stream_.socket().get_executor()) {
  boost::system::error_code ignored;
  stream_.socket().non_blocking(true, ignored);
  ready_ = true;
}

void FrameConnection::secure(SecureStream::Side side, std::string_view secret) {
  stream_.secure(side, secret);
  ready_ = false;
}

void FrameConnection::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  if (ready_) read();
  else shake_hands();
}

void FrameConnection::shake_hands() {
  stream_.shake_hands([this, self = shared_from_this()](const boost::system::error_code& error) {
    if (!open_) return;
    if (error) {
      handshake_problem_ = SecureStream::why_no_handshake(error);
      return on_error(error);
    }
    ready_ = true;
    read();
    write();
  });
}

void FrameConnection::send(protocol::FrameType type, uint32_t task, std::string_view body) {
  if (!open_) return;
  append_frame(queue_.end(), type, task, body);
  write();
}

void FrameConnection::send_encoded(std::string_view frames) {
  if (!open_) return;
  queue_.append(frames);
  write();
}

void FrameConnection::pause() { paused_ = true; }

void FrameConnection::resume() {
  if (!paused_) return;
  paused_ = false;
  hand_out();
  read();
}

void FrameConnection::close() {
  if (!open_) return;
  shut();
  linger_timer_.cancel();
  handlers_ = {};
}

void FrameConnection::finish() {
  finishing_ = true;
  if (queued_bytes() == 0) all_sent();
}

void FrameConnection::finish_after_peer() {
  after_peer_ = true;
  finish();
}

void FrameConnection::all_sent() {
  if (after_peer_) linger();
  else fail();
}

void FrameConnection::linger() {
  if (!open_ || lingering_) return;
  lingering_ = true;
  boost::system::error_code error;
  stream_.socket().shutdown(Socket::shutdown_send, error);
  if (error) return fail();
  linger_timer_.expires_after(kLinger);
  linger_timer_.async_wait(
      [this, self = shared_from_this()](const boost::system::error_code& stopped) {
        if (!stopped) fail();
      });
  read();
}

void FrameConnection::fail() {
  if (!open_) return;
  const auto on_closed = std::move(handlers_.on_closed);
  close();
  if (on_closed) on_closed();
}

void FrameConnection::on_error(const boost::system::error_code& error) {
  closed_by_peer_ = SecureStream::ended_by_peer(error);
  fail();
}

void FrameConnection::on_bytes(std::string_view bytes) {
  if (lingering_) return;
  reader_.feed(bytes);
  hand_out();
}

void FrameConnection::on_sent() {
  if (finishing_) return all_sent();
  if (handlers_.on_drained) handlers_.on_drained();
}

void FrameConnection::hand_out() {
  const auto self = shared_from_this();
  while (open_ && !paused_ && !lingering_) {
    auto frame = reader_.next();
    if (!frame) return fail();
    if (!frame->has_value()) return;
    // a copy: the handler may close the connection, which drops the handlers
    const auto on_frame = handlers_.on_frame;
    if (on_frame) on_frame(std::move(**frame));
  }
}

}  // namespace sluice
