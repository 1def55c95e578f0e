#include "common/step/byte_connection.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice {

std::shared_ptr<ByteConnection> ByteConnection::make(Socket socket, Handlers handlers) {
  return std::shared_ptr<ByteConnection>(
      new ByteConnection(std::move(socket), std::move(handlers)));
}

ByteConnection::ByteConnection(Socket socket, Handlers handlers)
    : socket_(std::move(socket)), handlers_(std::move(handlers)) {}

void ByteConnection::start() {
  connected_ = true;
  read();
  write();
}

void ByteConnection::connect(const boost::asio::generic::stream_protocol::endpoint& place) {
  socket_.async_connect(place, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!self->open_) return;
    if (error) return self->end(self->handlers_.on_lost);
    self->start();
  });
}

void ByteConnection::send(std::string_view bytes) {
  if (!open_) return;
  queue_.append(bytes);
  write();
}

void ByteConnection::finish() {
  finishing_ = true;
  write();
}

void ByteConnection::close() {
  open_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void ByteConnection::end(const std::function<void()>& handler) {
  if (!open_) return;
  close();
  handler();
}

void ByteConnection::read() {
  if (!open_ || !connected_ || reading_ || (handlers_.may_read && !handlers_.may_read())) return;
  reading_ = true;
  socket_.async_read_some(
      boost::asio::buffer(buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->reading_ = false;
        if (!self->open_) return;
        if (error) return self->end(self->handlers_.on_lost);
        self->handlers_.on_bytes({self->buffer_.data(), bytes});
        self->read();
      });
}

void ByteConnection::write() {
  if (!open_ || !connected_ || writing_) return;
  if (queue_.size() == 0) {
    if (finishing_) end(handlers_.on_finished);
    return;
  }
  writing_ = true;
  socket_.async_write_some(
      boost::asio::buffer(queue_.next()),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->writing_ = false;
        if (!self->open_) return;
        if (error) return self->end(self->handlers_.on_lost);
        self->queue_.taken(bytes);
        self->write();
      });
}

}  // namespace sluice
