#include "common/step/stream_connection.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice {

// The buffer is not cleared: pages that nothing is read into are never touched.
StreamConnection::StreamConnection(Socket socket, size_t room)
    : stream_(std::move(socket)),
      room_(room),
      buffer_(std::make_unique_for_overwrite<char[]>(room)) {}

void StreamConnection::read() {
  if (!open_ || !ready_ || reading_ || !may_read()) return;
  reading_ = true;
  stream_.read_some(
      boost::asio::buffer(buffer_.get(), room_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->reading_ = false;
        if (!self->open_) return;
        if (error) return self->on_error(error);
        self->on_bytes({self->buffer_.get(), bytes});
        self->read();
      });
}

void StreamConnection::write() {
  if (!open_ || !ready_ || writing_ || queued_bytes() == 0) return;
  writing_ = true;
  stream_.write_some(
      boost::asio::buffer(queue_.next()),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->writing_ = false;
        if (!self->open_) return;
        if (error) return self->on_error(error);
        self->queue_.taken(bytes);
        if (self->queued_bytes() > 0) return self->write();
        self->on_sent();
      });
}

void StreamConnection::shut() {
  open_ = false;
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
}

}  // namespace sluice
