// Starts programs from a process with threads, and learns of their end. One object a process, on
// one io_context thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <sys/types.h>

#include "common/base/result.hpp"

namespace sluice::noded {

struct SpawnRequest {
  std::string program;                           // a path
  std::vector<std::string> arguments;            // [0] is the name it sees
  std::vector<std::string> environment;          // KEY=VALUE
  std::vector<std::pair<int, int>> descriptors;  // (ours, its); 0-2 are /dev/null unless named
};

class ChildProcesses {
 public:
  using OnExit = std::function<void(int status)>;  // as wait(2) gives it

  explicit ChildProcesses(boost::asio::io_context& io);
  // In a session of its own, with default signals. The error's text is the system's.
  [[nodiscard]] Result<pid_t> spawn(const SpawnRequest& request, OnExit on_exit);

 private:
  void wait();
  void reap();

  boost::asio::signal_set signal_;
  std::map<pid_t, OnExit> children_;
};

}  // namespace sluice::noded
