#include "cli/step/step_stdin.hpp"

#include <cerrno>
#include <chrono>

#include <boost/asio/post.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

constexpr size_t kChunk = 32768;
constexpr auto kRoomCheck = std::chrono::milliseconds(5);

// epoll knows terminals, pipes and sockets; a plain file can always be read.
bool can_be_waited_for(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

StepStdin::StepStdin(boost::asio::io_context& io, int fd, Handlers handlers)
    : io_(io), fd_(fd), handlers_(std::move(handlers)), timer_(io) {}

void StepStdin::start() {
  if (can_be_waited_for(fd_)) {
    descriptor_ = std::make_unique<boost::asio::posix::stream_descriptor>(io_);
    boost::system::error_code error;
    const int own = ::dup(fd_);
    descriptor_->assign(own, error);
    if (error) {
      ::close(own);
      descriptor_.reset();
    }
  }
  wait();
}

void StepStdin::stop() {
  stopped_ = true;
  descriptor_.reset();
  timer_.cancel();
}

void StepStdin::wait() {
  if (stopped_) return;
  if (!handlers_.has_room()) {
    timer_.expires_after(kRoomCheck);
    timer_.async_wait([this](const auto& error) {
      if (!error) wait();
    });
    return;
  }
  if (!descriptor_) {
    boost::asio::post(io_, [this] {
      if (!stopped_) read();
    });
    return;
  }
  descriptor_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (stopped_ || error == boost::asio::error::operation_aborted) return;
                            read();  // what cannot be waited for (/dev/null) can be read at once
                          });
}

void StepStdin::read() {
  char buffer[kChunk];
  const ssize_t got = ::read(fd_, buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return wait();
  handlers_.on_bytes({buffer, got > 0 ? static_cast<size_t>(got) : 0});
  if (got > 0) wait();
}

}  // namespace sluice::cli
