#include "common/step/byte_connection.hpp"

#include <utility>

namespace sluice {
namespace {

constexpr size_t kReadBytes = 32768;

}  // namespace

std::shared_ptr<ByteConnection> ByteConnection::make(Socket socket, Handlers handlers) {
  return std::shared_ptr<ByteConnection>(
      new ByteConnection(std::move(socket), std::move(handlers)));
}

ByteConnection::ByteConnection(Socket socket, Handlers handlers)
    : StreamConnection(std::move(socket), kReadBytes), handlers_(std::move(handlers)) {}

void ByteConnection::start() {
  ready_ = true;
  read();
  if (queued_bytes() == 0) on_sent();
  else write();
}

void ByteConnection::connect(const boost::asio::generic::stream_protocol::endpoint& place) {
  stream_.socket().async_connect(
      place, [this, self = shared_from_this()](const boost::system::error_code& error) {
        if (!open_) return;
        if (error) return on_error(error);
        start();
      });
}

void ByteConnection::send(std::string_view bytes) {
  if (!open_) return;
  queue_.append(bytes);
  write();
}

void ByteConnection::finish() {
  finishing_ = true;
  if (ready_ && queued_bytes() == 0) on_sent();
}

bool ByteConnection::may_read() const { return !handlers_.may_read || handlers_.may_read(); }

void ByteConnection::on_error(const boost::system::error_code& /*error*/) {
  end(handlers_.on_lost);
}

void ByteConnection::on_sent() {
  if (finishing_) end(handlers_.on_finished);
}

void ByteConnection::end(const std::function<void()>& handler) {
  if (!open_) return;
  close();
  handler();
}

}  // namespace sluice
