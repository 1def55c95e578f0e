// Prolog, Epilog and other programs of the site, one after the other, with a time limit.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "common/base/time.hpp"
#include "common/environment/environment.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/process/process_mark.hpp"

namespace sluice::noded {

// Programs that `patterns` (paths, or globs such as /etc/slurm/prolog.d/*) name, to be run in
// order.
struct ScriptRow {
  std::string of;  // for the log: "JobId=17: "
  std::vector<std::string> patterns;
  Environment environment;
  std::optional<Duration> limit;  // of each: one that takes longer is killed
  // The first that fails ends the row; its status as wait(2) gives it, 0 when all went well (or
  // there is none).
  std::function<void(int)> done;
  // Each begins when this was called with its process and is back. One whose agent dies before that
  // never begins, so that what is noted of it here is known before it does anything. Needs
  // `through`.
  std::function<void(pid_t)> before = {};
  // A program with its first arguments that waits for a byte on protocol::kStartDescriptor, and
  // executes what follows.
  std::vector<std::string> through = {};
};

class SiteScripts {
 public:
  SiteScripts(boost::asio::io_context& io, ChildProcesses& children)
      : io_(io), children_(children) {}

  void run(ScriptRow row);
  // The same after all that was to be run in turn before has ended (PrologFlags=Serial).
  void run_in_turn(ScriptRow row);

  // A program that an agent before this one started: `done` is called when it is gone. How it
  // ended, nobody knows. `limit` begins anew here.
  void await(const ProcessMark& left, std::optional<Duration> limit, std::function<void()> done);
  // It has the turn meanwhile.
  void await_in_turn(const ProcessMark& left, std::optional<Duration> limit,
                     std::function<void()> done);

 private:
  struct Row;
  struct Left;
  using Over = std::function<void()>;
  void next(const std::shared_ptr<Row>& row);
  [[nodiscard]] Result<pid_t> start(const std::shared_ptr<Row>& row, const std::string& path);
  // What a program that failed said is logged.
  static void ended(Row& row, const std::string& path, int status);
  void bound_output(const std::shared_ptr<Row>& row);
  // In the log, while the program runs: after a minute, then after twice as long each time.
  void tell_how_long(const std::shared_ptr<Row>& row, const std::string& path,
                     std::chrono::minutes told);
  void look(const std::shared_ptr<Left>& left);
  void in_turn(std::function<void(const Over&)> begin);
  void next_turn();

  boost::asio::io_context& io_;
  ChildProcesses& children_;
  std::deque<std::function<void()>> turns_;  // the first is under way
};

}  // namespace sluice::noded
