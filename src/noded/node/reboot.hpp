// The controller wants this host to be started again (RebootProgram), or to have other features.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "common/protocol/admin.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/node/node_features.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class Reboot {
 public:
  struct Handlers {
    // an order has been carried out, well or not, or RebootProgram failed: no reboot follows
    std::function<void()> changed;
    // RebootProgram was started: with SlurmdParameters=shutdown_on_reboot
    std::function<void()> end_process;
  };
  Reboot(NodeState& node, ChildProcesses& children, NodeFeatures& features, Handlers handlers)
      : node_(node), children_(children), features_(features), handlers_(std::move(handlers)) {}

  // Does nothing when the host was started after the order, or it is being carried out already.
  void run(const protocol::RebootNodeRequest& order);

 private:
  void start_again(const protocol::RebootNodeRequest& order);
  // No reboot follows, which the controller is to know.
  void failed(int status);
  void ended(const std::string& program, int status);
  // The last order that RebootProgram was run for, also by an agent before this one: the host may
  // take its time.
  [[nodiscard]] Time last_started() const;
  [[nodiscard]] std::string file() const;

  NodeState& node_;
  ChildProcesses& children_;
  NodeFeatures& features_;
  Handlers handlers_;
  Time last_ = kNoTime;  // order that was carried out
};

}  // namespace sluice::noded
