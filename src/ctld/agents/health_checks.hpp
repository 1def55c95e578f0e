// HealthCheckInterval: tells the agents of the nodes in HealthCheckNodeState to run
// HealthCheckProgram, all at once or, with CYCLE, one after the other over the interval.
#pragma once

#include "common/base/bitmap.hpp"
#include "common/os/round_thread.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"

namespace sluice::ctld {

class HealthChecks {
 public:
  // All outlive this.
  HealthChecks(const engine::Publisher& publisher, NodeLinks& links);
  HealthChecks(const HealthChecks&) = delete;
  HealthChecks& operator=(const HealthChecks&) = delete;
  ~HealthChecks() = default;  // stop()

  void stop() { thread_.stop(); }

 private:
  void run();

  const engine::Publisher& publisher_;
  NodeLinks& links_;
  RoundThread thread_;
};

// The nodes whose turn is in the part [from, to) of a round, both between 0 and 1; without CYCLE
// all of them come at the end of it.
[[nodiscard]] Bitmap nodes_to_check(const state::ClusterState& state, double from, double to);

}  // namespace sluice::ctld
