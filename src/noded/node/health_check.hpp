// HealthCheckProgram: run at the agent's start, and whenever the controller says so.
#pragma once

#include <functional>

#include "noded/node/node_state.hpp"
#include "noded/process/site_scripts.hpp"

namespace sluice::noded {

class HealthCheck {
 public:
  HealthCheck(NodeState& node, SiteScripts& scripts) : node_(node), scripts_(scripts) {}

  // Calls `done` (may be empty) when the program has ended, or at once when there is nothing to run
  // or it runs already. What it finds wrong is its own to report, with scontrol update.
  void run(std::function<void()> done);

 private:
  NodeState& node_;
  SiteScripts& scripts_;
  bool running_ = false;
};

}  // namespace sluice::noded
