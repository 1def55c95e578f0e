// The writing end of a task's standard input: what srun sent waits here until the task takes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/step/send_queue.hpp"

namespace sluice::stepd {

class InputStream : public std::enable_shared_from_this<InputStream> {
 public:
  // Owns `fd`. `on_room` is called each time everything was taken.
  InputStream(boost::asio::io_context& io, int fd, std::function<void()> on_room);
  // No-op when the task does not read any more.
  void write(std::string_view bytes);
  // The end of the input; with `as_terminal` a Ctrl-D instead of a closed pipe.
  void finish(bool as_terminal);
  void close();
  [[nodiscard]] size_t queued_bytes() const { return queue_.size(); }

 private:
  void flush();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> on_room_;
  SendQueue queue_;
  bool writing_ = false;
  bool finishing_ = false;
  bool open_ = true;
};

}  // namespace sluice::stepd
