#include "stepd/output_stream.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice::stepd {

OutputStream::OutputStream(boost::asio::io_context& io, int fd, bool lines, Handlers handlers)
    : descriptor_(io, fd), assembler_(lines), handlers_(std::move(handlers)) {
  boost::system::error_code ignored;
  descriptor_.non_blocking(true, ignored);
}

void OutputStream::resume() {
  paused_ = false;
  read();
}

void OutputStream::stop() {
  if (ended_) return;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  end();
}

void OutputStream::end() {
  if (ended_) return;
  ended_ = true;
  assembler_.finish(handlers_.on_bytes);
  const Handlers handlers = std::exchange(handlers_, {});
  if (handlers.on_end) handlers.on_end();
}

void OutputStream::read() {
  if (paused_ || reading_ || ended_) return;
  reading_ = true;
  descriptor_.async_read_some(
      boost::asio::buffer(buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->reading_ = false;
        if (self->ended_) return;
        if (error) return self->end();  // end of file, or a pty without a process (EIO)
        self->assembler_.feed(std::string_view(self->buffer_.data(), bytes),
                              self->handlers_.on_bytes);
        self->read();
      });
}

}  // namespace sluice::stepd
