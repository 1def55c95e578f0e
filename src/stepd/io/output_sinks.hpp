// Files that the daemon itself writes the tasks' output to (srun --label). A regular file takes it
// at once. A FIFO or a terminal takes what its reader lets it: what is not taken waits here, and
// the event loop goes on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>

namespace sluice::stepd {

class OutputSinks {
 public:
  struct Handlers {
    std::function<void()> on_room;     // everything that waited for one was taken
    std::function<void(int)> on_lost;  // with the errno: something could not be written
  };
  OutputSinks(boost::asio::io_context& io, Handlers handlers)
      : io_(io), handlers_(std::move(handlers)) {}
  ~OutputSinks();
  OutputSinks(const OutputSinks&) = delete;
  OutputSinks& operator=(const OutputSinks&) = delete;

  // To say before anything is written to it. `fd` stays the caller's, and open as long as this
  // object; tasks must not have it, as writing to it does not wait from now on. No-op when it was
  // said before.
  void add(int fd);
  [[nodiscard]] bool has(int fd) const { return sinks_.contains(fd); }
  // To one that was added.
  void write(int fd, std::string_view bytes);
  // More waits than should: do not read on for it. False for what was not added.
  [[nodiscard]] bool congested(int fd) const;
  // Something waits to be taken.
  [[nodiscard]] bool waiting() const;
  // What waits is lost, and what still comes for the same files.
  void drop();

 private:
  struct Slow;
  using SlowPtr = std::shared_ptr<Slow>;
  void flush(const SlowPtr& slow);
  void broken(Slow& slow, int error);

  boost::asio::io_context& io_;
  Handlers handlers_;
  std::map<int, SlowPtr> sinks_;  // null: a regular file, or a device that takes all
};

}  // namespace sluice::stepd
