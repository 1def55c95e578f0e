#include "common/config/dynamic_nodes.hpp"

#include <utility>

#include "common/model/system_cores.hpp"
#include "common/config/conf_assign.hpp"
#include "common/config/conf_nodes.hpp"

namespace sluice::tables {
namespace {

Status read_pairs(const std::vector<ConfPair>& pairs, NodeLine& line) {
  // slurm.conf's are warned of; here there is nobody to tell
  std::vector<std::string> without_effect;
  return assign_line(ConfLine{}, pairs, 0, node_keys(), line, without_effect);
}

// The line's nodes, with what finish_config() would do for those of the file.
Result<std::vector<NodeConfig>> finish_line(const ClusterConfig& config, const NodeLine& line,
                                            DynamicNode kind) {
  Result<std::vector<NodeConfig>> nodes = nodes_of_line(line);
  if (!nodes) return failure(ErrorCode::kInvalidConfig, nodes.error().text);
  if (nodes->empty()) return failure(ErrorCode::kInvalidConfig, "NodeName names no node");
  for (NodeConfig& node : *nodes) {
    if (iequals(node.name, "ALL") || iequals(node.name, "DEFAULT")) {
      return failure(ErrorCode::kInvalidConfig,
                     fmt::format("no node can be named \"{}\"", node.name));
    }
    if (node.port == 0) node.port = config.slurmd_port;
    follow_core_order(config, node);
    node.dynamic = kind;
    if (Status ok = check_gres_types(config, node); !ok) return tl::unexpected<Error>(ok.error());
  }
  return nodes;
}

bool says_layout(const NodeLine& line) {
  return line.cpus_set || line.boards_set || line.sockets_set || line.sockets_per_board_set ||
         line.cores_set || line.threads_set;
}

}  // namespace

Result<std::vector<NodeConfig>> created_nodes(const ClusterConfig& config,
                                              const std::map<std::string, std::string>& values) {
  std::vector<ConfPair> pairs;
  std::string state;
  for (const auto& [key, value] : values) {
    if (iequals(key, "State")) state = value;
    else pairs.push_back({key, value});
  }
  NodeLine line;
  if (Status ok = read_pairs(pairs, line); !ok) return tl::unexpected<Error>(ok.error());
  if (iequals(state, "FUTURE")) line.state = ConfiguredNodeState::kFuture;
  else if (iequals(state, "CLOUD")) line.state = ConfiguredNodeState::kCloud;
  else
    return failure(ErrorCode::kInvalidState,
                   "Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol");
  return finish_line(config, line, DynamicNode::kCreated);
}

Result<NodeConfig> registering_node(const ClusterConfig& config, const std::string& name,
                                    const std::string& text, const NodeHardware& found) {
  Result<std::vector<ConfPair>> pairs = conf_pairs(ConfLine{{}, 0, text});
  if (!pairs) return tl::unexpected<Error>(pairs.error());
  for (const ConfPair& pair : *pairs) {
    if (iequals(pair.key, "NodeName") || iequals(pair.key, "State")) {
      return failure(ErrorCode::kInvalidConfig,
                     fmt::format("option '{}=' not allowed in --conf", pair.key));
    }
  }
  NodeLine line;
  line.real_memory_mib = found.real_memory_mib;
  if (Status ok = read_pairs(*pairs, line); !ok) return tl::unexpected<Error>(ok.error());
  line.names = name;
  if (line.hostnames.empty()) line.hostnames = found.host_name;
  if (!says_layout(line)) {
    line.cpus_set = found.cpus;
    line.boards_set = found.boards;
    line.sockets_set = found.sockets;
    line.cores_set = found.cores_per_socket;
    line.threads_set = found.threads_per_core;
  }
  Result<std::vector<NodeConfig>> nodes = finish_line(config, line, DynamicNode::kRegistered);
  if (!nodes) return tl::unexpected<Error>(nodes.error());
  if (nodes->size() != 1)
    return failure(ErrorCode::kInvalidConfig, fmt::format("\"{}\" is not one node", name));
  NodeConfig node = std::move(nodes->front());
  if (line.addresses.empty()) node.address.clear();
  return node;
}

}  // namespace sluice::tables
