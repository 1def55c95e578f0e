// Which nodes answer: a ping through the tree now and then, and what the answers say. Load and free
// memory are soft; a node that begins or ends to answer, or is silent for SlurmdTimeout, becomes a
// command for the core.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "common/os/round_thread.hpp"
#include "common/model/node.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/agents/roll_call.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"

namespace sluice::ctld {

class Liveness {
 public:
  // All outlive this. Nodes have SlurmdTimeout from now on to answer for the first time. The engine
  // is told when all that can have registered.
  Liveness(engine::Engine& engine, const engine::Publisher& publisher, NodeLinks& links,
           engine::Clock clock);
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  ~Liveness();  // stop()
  void start();

  void heard_of(NodeId node);  // it has registered
  // By NodeId; shorter than the node table for nodes never heard of.
  [[nodiscard]] std::vector<NodeSoft> soft() const;
  void stop();

 private:
  // What nodes said of themselves, and when by a clock that nobody sets. Shared: an answer to a
  // ping that comes when this is gone finds it still. Any thread.
  class Heard {
   public:
    void set(NodeId node, Time time);
    void set(NodeId node, const NodeSoft& soft);
    [[nodiscard]] std::vector<NodeSoft> all() const;
    // The name of its host is not known. True the first time since it spoke last.
    [[nodiscard]] bool is_newly_unresolved(NodeId node);
    // It does not believe that this is its controller. True the first time since it spoke last.
    [[nodiscard]] bool is_newly_refused(NodeId node);
    [[nodiscard]] std::set<NodeId> refused() const;
    // When each spoke last; SteadyTime() for one that did not.
    [[nodiscard]] std::vector<SteadyTime> times() const;

   private:
    NodeSoft& entry(NodeId node);  // of one that speaks now; mutex_ held
    mutable std::mutex mutex_;
    std::vector<NodeSoft> soft_;
    std::vector<SteadyTime> times_;
    std::set<NodeId> unresolved_, refused_;
  };
  void run();
  void ping(const state::ClusterSnapshot& state);
  void ping(const state::ClusterSnapshot& state, const Bitmap& nodes, bool register_again);
  void judge(const state::ClusterState& asked, const state::ClusterState& state);

  engine::Engine& engine_;
  const engine::Publisher& publisher_;
  NodeLinks& links_;
  const engine::Clock clock_;  // to be shown; a silence is measured by one that nobody sets
  SteadyTime since_;           // the thread's own, as the next one: from here on silences count
  std::map<NodeId, SteadyTime> expected_;      // since when each node is to have an agent
  const std::shared_ptr<RollCall> roll_call_;  // shared for the same reason
  const std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  RoundThread thread_;
};

}  // namespace sluice::ctld
