#include "common/step/frame_connection.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice {
namespace {

// a peer that reads nothing any more is not waited for
constexpr auto kLinger = std::chrono::seconds(2);

}  // namespace

std::shared_ptr<FrameConnection> FrameConnection::make(Socket socket, uint32_t max_frame) {
  return std::shared_ptr<FrameConnection>(new FrameConnection(std::move(socket), max_frame));
}

FrameConnection::FrameConnection(Socket socket, uint32_t max_frame)
    : stream_(std::move(socket)),
      reader_(max_frame),
      linger_timer_(stream_.socket().get_executor()) {
  boost::system::error_code ignored;
  stream_.socket().non_blocking(true, ignored);
}

void FrameConnection::secure(SecureStream::Side side, std::string_view secret) {
  stream_.secure(side, secret);
  shaking_hands_ = true;
}

void FrameConnection::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  if (shaking_hands_) shake_hands();
  else read();
}

void FrameConnection::shake_hands() {
  stream_.shake_hands([self = shared_from_this()](const boost::system::error_code& error) {
    if (!self->open_) return;
    if (error) {
      self->handshake_problem_ = SecureStream::why_no_handshake(error);
      return self->fail_with(error);
    }
    self->shaking_hands_ = false;
    self->read();
    self->write();
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
  open_ = false;
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
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
  linger_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
    if (!stopped) self->fail();
  });
  read();
}

void FrameConnection::fail() {
  if (!open_) return;
  const auto on_closed = std::move(handlers_.on_closed);
  close();
  if (on_closed) on_closed();
}

void FrameConnection::fail_with(const boost::system::error_code& error) {
  closed_by_peer_ = SecureStream::ended_by_peer(error);
  fail();
}

void FrameConnection::read() {
  if (!open_ || shaking_hands_ || reading_ || (paused_ && !lingering_)) return;
  reading_ = true;
  stream_.read_some(
      boost::asio::buffer(buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->reading_ = false;
        if (!self->open_) return;
        if (error) return self->fail_with(error);
        if (self->lingering_) return self->read();
        self->reader_.feed(std::string_view(self->buffer_.data(), bytes));
        self->hand_out();
        self->read();
      });
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

void FrameConnection::write() {
  if (!open_ || shaking_hands_ || writing_ || queued_bytes() == 0) return;
  writing_ = true;
  stream_.write_some(
      boost::asio::buffer(queue_.next()),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->writing_ = false;
        if (!self->open_) return;
        if (error) return self->fail_with(error);
        self->queue_.taken(bytes);
        if (self->queued_bytes() > 0) return self->write();
        if (self->finishing_) return self->all_sent();
        if (self->handlers_.on_drained) self->handlers_.on_drained();
      });
}

}  // namespace sluice
