// Reads srun's standard input and hands it on; works for terminals, pipes and plain files.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::cli {

class StepStdin {
 public:
  struct Handlers {
    std::function<void(std::string_view)> on_bytes;  // empty: the end
    std::function<bool()> has_room;                  // false: read later
  };
  // Reads nothing before start(). `fd` stays the caller's.
  StepStdin(boost::asio::io_context& io, int fd, Handlers handlers);
  void start();
  void stop();

 private:
  void wait();
  void read();
  boost::asio::io_context& io_;
  int fd_;
  Handlers handlers_;
  std::unique_ptr<boost::asio::posix::stream_descriptor> descriptor_;  // null: always readable
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

}  // namespace sluice::cli
