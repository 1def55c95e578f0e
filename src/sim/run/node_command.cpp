#include "sim/run/node_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::sim {
namespace {

// Devices of shared resources are those of "gpu".
std::vector<GresDevices> devices_of(const NodeConfig& node) {
  std::vector<GresDevices> devices;
  for (const GresItem& item : gres_items(node.gres).value_or(std::vector<GresItem>())) {
    GresDevices made{.name = item.name.str(), .type = item.type.str(), .count = item.count};
    if (made.name == "gpu") {
      for (uint64_t unit = 0; unit < item.count; ++unit)
        made.files.push_back(fmt::format("/dev/{}{}{}", made.name, made.type, unit));
    }
    devices.push_back(std::move(made));
  }
  return devices;
}

Result<NodeConfig> node_of(std::string_view values, NodeConfig node) {
  for (const std::string& pair : split_list(values)) {
    const size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    const auto number = to_number<uint32_t>(equals == std::string::npos
                                                ? std::string_view()
                                                : std::string_view(pair).substr(equals + 1));
    if (!number || *number == 0)
      return failure(fmt::format("--nodes: \"{}\" is not KEY=NUMBER", pair));
    if (iequals(key, "CPUs")) {
      node.cpus = node.cores_per_socket = *number;
      node.boards = node.sockets = node.threads_per_core = 1;
    } else if (iequals(key, "RealMemory")) {
      node.real_memory_mib = *number;
    } else {
      return failure(fmt::format("--nodes: {} is neither CPUs nor RealMemory", key));
    }
  }
  return node;
}

}  // namespace

state::RegisterNode registration(const NodeConfig& node, uint32_t boots, Time now) {
  state::RegisterNode command;
  protocol::RegisterNodeRequest& request = command.node;
  request.name = node.name;
  NodeHardware& found = request.hardware;
  found.host_name = node.hostname;
  found.address = node.address;
  found.port = node.port;
  found.cpus = node.cpus;
  found.boards = node.boards;
  found.sockets = node.sockets;
  found.cores_per_socket = node.cores_per_socket;
  found.threads_per_core = node.threads_per_core;
  found.real_memory_mib = node.real_memory_mib;
  found.tmp_disk_mib = node.tmp_disk_mib;
  found.boot_id = std::to_string(boots);
  found.boot_time = found.agent_start = now;
  found.devices = devices_of(node);
  return command;
}

Status replace_nodes(const std::vector<std::string>& texts, ClusterConfig& config) {
  constexpr uint32_t kMostNodes = 200'000;
  if (texts.empty()) return {};
  if (config.nodes.empty()) return failure("--nodes: the configuration has no node to go by");
  const NodeConfig first = config.nodes.front();
  std::vector<NodeConfig> nodes;
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    const auto count = to_number<uint32_t>(std::string_view(text).substr(0, colon));
    if (!count || *count == 0 || nodes.size() + *count > kMostNodes)
      return failure(
          fmt::format("--nodes: \"{}\" is not a number of nodes, at most {}", text, kMostNodes));
    const auto kind = node_of(
        colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1),
        first);
    if (!kind) return tl::unexpected(kind.error());
    nodes.insert(nodes.end(), *count, *kind);
  }
  std::vector<std::string> names;
  for (NodeConfig& node : nodes) {
    names.push_back(fmt::format("n{}", names.size() + 1));
    node.name = node.hostname = node.address = names.back();
    node.state = ConfiguredNodeState::kUnknown;
  }
  config.nodes = std::move(nodes);
  config.node_sets.clear();
  config.down_nodes.clear();
  config.switches.clear();
  config.topology_plugin = "topology/flat";
  config.max_node_count = std::max(config.max_node_count, static_cast<uint32_t>(names.size()));
  for (PartitionConfig& partition : config.partitions) {
    partition.nodes = names;
    partition.nodes_text = "ALL";
    partition.node_sets = {"ALL"};
  }
  return {};
}

}  // namespace sluice::sim
