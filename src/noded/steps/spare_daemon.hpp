// A step daemon that waits for its orders, so that a step does not wait for the start of a process.
// Nothing has begun in it: it reads its start message (common/protocol/stepd_start.hpp), and ends
// when the agent goes before that. On the agent's thread.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <sys/types.h>

#include "common/base/result.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class SpareDaemon {
 public:
  struct Taken {
    pid_t pid = -1;
    int link = -1;  // the caller's, to send the start message on
  };
  SpareDaemon(NodeState& node, ChildProcesses& children);
  SpareDaemon(const SpareDaemon&) = delete;
  SpareDaemon& operator=(const SpareDaemon&) = delete;
  ~SpareDaemon();

  // The one that waits, else a new one; `on_exit` learns of its end. The error's text says why
  // there is none.
  [[nodiscard]] Result<Taken> take(ChildProcesses::OnExit on_exit);
  // Soon lets one wait, for a minute; no-op where one does.
  void prepare();

 private:
  struct Daemon {
    Taken taken;
    ChildProcesses::OnExit on_exit;  // null: it waits
  };
  [[nodiscard]] Result<std::shared_ptr<Daemon>> start();
  void dismiss();  // the one that waits

  NodeState& node_;
  ChildProcesses& children_;
  boost::asio::steady_timer timer_;  // to start one, then to dismiss it
  std::shared_ptr<Daemon> waiting_;  // null: none
};

}  // namespace sluice::noded
