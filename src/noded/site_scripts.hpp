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
#include "common/tables/environment.hpp"
#include "noded/child_processes.hpp"

namespace sluice::noded {

class SiteScripts {
 public:
  SiteScripts(boost::asio::io_context& io, ChildProcesses& children)
      : io_(io), children_(children) {}

  // Runs the programs that `patterns` (paths, or globs such as /etc/slurm/prolog.d/*) name, in
  // order. The first that fails ends the row; `done` gets its status as wait(2) gives it, 0 when
  // all went well (or there is none). One that takes longer than `limit` is killed.
  void run(const std::vector<std::string>& patterns,
           const Environment& env,
           std::optional<Duration> limit,
           std::function<void(int)> done);
  // The same after all that was to be run in turn before has ended (PrologFlags=Serial).
  void run_in_turn(const std::vector<std::string>& patterns,
                   const Environment& env,
                   std::optional<Duration> limit,
                   std::function<void(int)> done);

 private:
  struct Row;
  void next(const std::shared_ptr<Row>& row);
  void next_turn();

  boost::asio::io_context& io_;
  ChildProcesses& children_;
  std::deque<std::function<void()>> turns_;  // the first is under way
};

}  // namespace sluice::noded
