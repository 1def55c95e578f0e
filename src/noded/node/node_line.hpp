// Which node this agent is, and where its line comes from: slurm.conf, the controller (a node of
// scontrol create, or a FUTURE one that this host becomes: -F), or the agent's own command line
// (-Z).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::noded {

struct NodeLineOptions {
  std::string name;                   // -N; empty: the node whose NodeHostname is this host's name
  bool brings_line = false;           // -Z
  std::string line;                   // --conf
  std::optional<std::string> future;  // -F: the feature that the node is to have; empty: any
  Duration patience = std::chrono::seconds(60);  // for a controller that does not answer
};

// This node's line, which `config` has then, too. Starts no thread. Errors: no or several nodes, or
// no answer. With -F the controller has given the node to this host then.
[[nodiscard]] Result<NodeConfig> find_node_line(ClusterConfig& config,
                                                const NodeLineOptions& options);

// The FUTURE nodes that `host` may become, in order: as many sockets, cores and threads, and the
// feature if one is asked for. Only that one which it has become before, where there is such a one.
// `name`: no other; empty: any.
[[nodiscard]] std::vector<std::string> future_nodes(const std::vector<protocol::NodeRecord>& nodes,
                                                    const NodeHardware& host,
                                                    const std::string& feature,
                                                    const std::string& name);

// "host:port" of each controller, in their order.
[[nodiscard]] std::vector<std::string> controller_addresses(const ClusterConfig& config);

// The name under which this host is configured when none was given: the one node whose NodeHostname
// is this host's name. Errors name what is missing or ambiguous.
[[nodiscard]] Result<std::string> own_node_name(const ClusterConfig& config,
                                                const std::string& host_name);

}  // namespace sluice::noded
