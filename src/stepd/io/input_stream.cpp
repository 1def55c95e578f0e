#include "stepd/io/input_stream.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice::stepd {
namespace {

// Of a block and of its place in one queue, about.
constexpr size_t kBlockBytes = 128;
constexpr size_t kPlaceBytes = sizeof(InputBlock);
constexpr char kEndOfTransmission = '\x04';

}  // namespace

InputBlock InputStore::keep(std::string_view bytes, size_t readers) const {
  const size_t cost = bytes.size() + kBlockBytes + readers * kPlaceBytes;
  const auto release = [held = held_, cost](const std::string* block) {
    *held -= cost;
    delete block;
  };
  InputBlock block(new std::string(bytes), release);
  *held_ += cost;
  return block;
}

InputStream::InputStream(boost::asio::io_context& io, int fd, std::function<void()> on_room)
    : descriptor_(io, fd), on_room_(std::move(on_room)) {
  boost::system::error_code ignored;
  descriptor_.non_blocking(true, ignored);
}

void InputStream::write(InputBlock block) {
  if (!takes_more()) return;
  queue_.push_back(std::move(block));
  flush();
}

void InputStream::finish(bool as_terminal) {
  if (as_terminal) return write(std::make_shared<const std::string>(1, kEndOfTransmission));
  finishing_ = true;
  if (queue_.empty()) close();
}

void InputStream::close() {
  open_ = false;
  boost::system::error_code ignored;
  descriptor_.close(ignored);  // nothing is written from here on
  queue_.clear();
  on_room_ = {};
}

void InputStream::flush() {
  if (!open_ || writing_ || queue_.empty()) return;
  writing_ = true;
  descriptor_.async_write_some(
      boost::asio::buffer(std::string_view(*queue_.front()).substr(taken_)),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->writing_ = false;
        if (self->open_) self->written(error, bytes);
      });
}

void InputStream::written(const boost::system::error_code& error, size_t bytes) {
  taken_ += bytes;
  if (taken_ == queue_.front()->size()) {
    queue_.pop_front();
    taken_ = 0;
  }
  const auto on_room = on_room_;
  if (error) close();  // the task closed its end or is gone
  if (!queue_.empty()) return flush();
  if (finishing_ && open_) close();
  if (on_room) on_room();
}

}  // namespace sluice::stepd
