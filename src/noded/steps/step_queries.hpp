// Questions to step daemons that somebody waits for: which processes their steps have, and what
// these use. Each is answered within a second, whatever the daemons do. All on the agent's thread.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/result.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::noded {

class StepQueries {
 public:
  using OnPids = std::function<void(protocol::ListPidsReply)>;
  using OnStats = std::function<void(Result<protocol::StatStepReply>)>;
  explicit StepQueries(boost::asio::io_context& io) : io_(io) {}

  // Of these steps' daemons, which have been or will be asked; who does not answer has none.
  void wait_for_pids(std::set<protocol::StepKey> steps, OnPids done);
  // kTimedOut where the daemon does not answer.
  void wait_for_stats(const protocol::StepKey& step, OnStats done);

  // An answer is for everybody who waits for one.
  void came(const protocol::StepKey& step, const protocol::ListPidsReply& pids);
  void came(const protocol::StepKey& step, const protocol::StatStepReply& stats);

 private:
  struct Pids;
  struct Stats;

  boost::asio::io_context& io_;
  std::vector<std::shared_ptr<Pids>> pids_;
  std::vector<std::shared_ptr<Stats>> stats_;
};

}  // namespace sluice::noded
