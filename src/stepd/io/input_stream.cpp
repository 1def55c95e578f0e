#include "stepd/io/input_stream.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice::stepd {
namespace {

constexpr char kEndOfTransmission = '\x04';

}  // namespace

InputStream::InputStream(boost::asio::io_context& io, int fd, std::function<void()> on_room)
    : descriptor_(io, fd), on_room_(std::move(on_room)) {
  boost::system::error_code ignored;
  descriptor_.non_blocking(true, ignored);
}

void InputStream::write(std::string_view bytes) {
  if (!open_ || finishing_) return;
  queue_.append(bytes);
  flush();
}

void InputStream::finish(bool as_terminal) {
  if (as_terminal) return write(std::string_view(&kEndOfTransmission, 1));
  finishing_ = true;
  if (!writing_ && queued_bytes() == 0) close();
}

void InputStream::close() {
  open_ = false;
  queue_.drop();
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  on_room_ = {};
}

void InputStream::flush() {
  if (!open_ || writing_ || queued_bytes() == 0) return;
  writing_ = true;
  descriptor_.async_write_some(
      boost::asio::buffer(queue_.next()),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->writing_ = false;
        if (!self->open_) return;
        self->queue_.taken(bytes);
        const auto on_room = self->on_room_;
        if (error) self->close();  // the task closed its end or is gone
        if (self->queued_bytes() > 0) return self->flush();
        if (self->finishing_) self->close();
        if (on_room) on_room();
      });
}

}  // namespace sluice::stepd
