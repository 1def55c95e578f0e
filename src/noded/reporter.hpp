// What the controller must learn besides the ends of steps: cleaned jobs and prologs. Sent in
// batches, one call at a time of each kind, and repeated until the controller has it on disk.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/protocol/noded.hpp"
#include "common/rpc/async_client.hpp"
#include "noded/node_state.hpp"
#include "noded/retry.hpp"

namespace sluice::noded {

class Reporter {
 public:
  // `may_clean` says whether a job's cleaning may be told: not before the ends of its steps.
  Reporter(NodeState& node, net::AsyncClient& controller, std::function<bool(JobId)> may_clean);

  void add(protocol::JobCleaned report);
  void add(protocol::PrologDoneRequest report);
  // Nothing is sent before the first registration; it and every later one calls this.
  void resume();
  // Sends what may be sent by now.
  void send();

 private:
  void send_cleaned();
  void send_prolog();
  template <class Request>
  void call(const Request& request, bool& busy, std::function<void()> on_taken);
  NodeState& node_;
  net::AsyncClient& controller_;
  std::function<bool(JobId)> may_clean_;
  std::vector<protocol::JobCleaned> cleaned_;
  std::vector<protocol::PrologDoneRequest> prologs_;
  bool cleaned_busy_ = false;
  bool prologs_busy_ = false;
  Retry retry_;
};

}  // namespace sluice::noded
