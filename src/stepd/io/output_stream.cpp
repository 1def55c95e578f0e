#include "stepd/io/output_stream.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

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

// The bytes lie on the stack, as a buffer in each stream would be memory that every fork of a task
// copies.
bool OutputStream::take() {
  std::array<char, 32768> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t bytes = ::read(descriptor_.native_handle(), buffer.data(), buffer.size());
  if (bytes < 0) return errno == EINTR || errno == EAGAIN;
  if (bytes == 0) return false;
  assembler_.feed(std::string_view(buffer.data(), static_cast<size_t>(bytes)), handlers_.on_bytes);
  return true;
}

void OutputStream::read() {
  if (paused_ || reading_ || ended_) return;
  reading_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->reading_ = false;
                           if (self->ended_) return;
                           // end of file, or a pty without a process (EIO)
                           if (error || !self->take()) return self->end();
                           self->read();
                         });
}

}  // namespace sluice::stepd
