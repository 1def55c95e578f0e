// The reading end of a task's standard output or error: a pipe or the master of a pty.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "stepd/io/line_assembler.hpp"

namespace sluice::stepd {

class OutputStream : public std::enable_shared_from_this<OutputStream> {
 public:
  struct Handlers {
    LineAssembler::Emit on_bytes;
    std::function<void()> on_end;  // once; nobody can write any more
  };
  // Owns `fd`. With `lines` only whole lines are given (and the rest at the end).
  OutputStream(boost::asio::io_context& io, int fd, bool lines, Handlers handlers);

  // Nothing is read before, or while paused.
  void resume();
  void pause() { paused_ = true; }
  // Gives up: on_end comes with what was read so far.
  void stop();
  [[nodiscard]] bool ended() const { return ended_; }
  // The pty's master, to write input and set its size.
  [[nodiscard]] boost::asio::posix::stream_descriptor& descriptor() { return descriptor_; }

 private:
  void read();
  [[nodiscard]] bool take();  // false: no more comes
  void end();

  boost::asio::posix::stream_descriptor descriptor_;
  LineAssembler assembler_;
  Handlers handlers_;
  bool paused_ = true;
  bool reading_ = false;
  bool ended_ = false;
};

}  // namespace sluice::stepd
