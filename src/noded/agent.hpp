// The node agent: it registers with the controller, takes its orders, runs prologs, step daemons
// and epilogs, and reports. Everything happens on one thread (run()); requests from the network are
// posted to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "noded/config_cache.hpp"

namespace sluice::noded {

struct AgentOptions {
  std::string node_name;
  std::string config_path;
  std::string sbin_dir;                         // where slurmstepd is
  bool clean = false;                           // forget what the spool remembers
  bool rebooted = false;                        // as if the host had just been started
  std::shared_ptr<const NodeConfig> node_line;  // -Z: what it registers with; else null
  bool claims_future = false;                   // -F: it was given a FUTURE node's name
  // --conf-server: config_path is in a cache, which is filled already
  std::optional<ConfigCache::Start> cache;
  std::function<void()> end_process;  // the controller asked for it; called on any thread
};

class Agent {
 public:
  // Listens, finds the steps that run, and begins to register. Errors: the node is not configured,
  // its port is taken, its spool cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(ClusterConfig config,
                                                            AgentOptions options);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();  // steps go on

  // Reads slurm.conf again, or fetches it where it came from the controller; errors leave the old
  // one in force.
  Status reconfigure();

 private:
  class Graph;
  explicit Agent(std::unique_ptr<Graph> graph);
  std::unique_ptr<Graph> graph_;
};

}  // namespace sluice::noded
