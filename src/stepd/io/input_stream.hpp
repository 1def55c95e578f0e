// The writing end of a task's standard input: what srun sent waits here until the task takes it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace sluice::stepd {

using InputBlock = std::shared_ptr<const std::string>;

// Counts what waits for a step's tasks. A block that goes to many of them is held once.
class InputStore {
 public:
  // Freed when the last of at most `readers` tasks has taken it or ended.
  [[nodiscard]] InputBlock keep(std::string_view bytes, size_t readers) const;
  // Of all blocks, with what it costs to hold them.
  [[nodiscard]] size_t held_bytes() const { return *held_; }

 private:
  std::shared_ptr<size_t> held_ = std::make_shared<size_t>(0);  // blocks may outlive the store
};

class InputStream : public std::enable_shared_from_this<InputStream> {
 public:
  // Owns `fd`. `on_room` is called each time everything was taken.
  InputStream(boost::asio::io_context& io, int fd, std::function<void()> on_room);
  // Some bytes. No-op when the task does not read any more.
  void write(InputBlock block);
  // The end of the input; with `as_terminal` a Ctrl-D instead of a closed pipe.
  void finish(bool as_terminal);
  void close();
  [[nodiscard]] bool takes_more() const { return open_ && !finishing_; }

 private:
  void flush();
  void written(const boost::system::error_code& error, size_t bytes);

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> on_room_;
  std::deque<InputBlock> queue_;
  size_t taken_ = 0;  // of the first block
  bool writing_ = false;
  bool finishing_ = false;
  bool open_ = true;
};

}  // namespace sluice::stepd
