// RebootProgram: the controller wants this host to be started again.
#pragma once

#include "common/protocol/admin.hpp"
#include "noded/child_processes.hpp"
#include "noded/node_state.hpp"

namespace sluice::noded {

class Reboot {
 public:
  Reboot(NodeState& node, ChildProcesses& children) : node_(node), children_(children) {}

  // Does nothing when the host was started after the order, or the program was run for it already.
  void run(const protocol::RebootNodeRequest& order);

 private:
  NodeState& node_;
  ChildProcesses& children_;
  Time last_ = kNoTime;  // order that was carried out
};

}  // namespace sluice::noded
