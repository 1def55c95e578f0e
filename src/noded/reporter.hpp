// What the controller must learn: ends of steps, cleaned jobs, prologs. Sent in batches, one call at a
// time of each kind, and repeated until the controller has it on disk.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "common/net/rpc_client.hpp"
#include "common/protocol/noded.hpp"
#include "noded/node_state.hpp"

namespace sluice::noded {

class Reporter {
 public:
  struct Handlers {
    std::function<void(const protocol::StepKey&)> on_step_taken;
    std::function<void(JobId, uint32_t restart)> on_clean_taken;
  };
  Reporter(NodeState& node, net::RpcClient& controller, Handlers handlers);

  void add(protocol::StepEnded report);
  void add(protocol::JobCleaned report);
  void add(protocol::PrologDoneRequest report);
  // Nothing is sent before the first registration; it and every later one calls this.
  void resume();

 private:
  void send();
  void send_steps();
  void send_cleaned();
  void send_prolog();
  template <class Request>
  void call(const Request& request, bool& busy, std::function<void()> on_taken);
  void retry_later();

  NodeState& node_;
  net::RpcClient& controller_;
  Handlers handlers_;
  std::vector<protocol::StepEnded> steps_;
  std::vector<protocol::JobCleaned> cleaned_;
  std::vector<protocol::PrologDoneRequest> prologs_;
  bool steps_busy_ = false;
  bool cleaned_busy_ = false;
  bool prologs_busy_ = false;
  bool waiting_ = false;
  Duration pause_{0};
  boost::asio::steady_timer timer_;
};

}  // namespace sluice::noded
