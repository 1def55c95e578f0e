// NodeName lines to nodes, and names of nodes to what they stand for.
#include "common/config/conf_nodes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"

namespace sluice::tables {
namespace {

// Sockets when only CPUs is said: as many as fill it.
uint32_t sockets_for(uint32_t cpus, uint32_t cores, uint32_t threads) {
  for (const uint32_t each : {cores * threads, cores}) {
    if (each != 0 && cpus % each == 0) return cpus / each;
  }
  return 1;
}

Status derive_layout(const NodeLine& line, NodeConfig& node) {
  if (line.sockets_set && line.sockets_per_board_set) {
    return failure("Sockets and SocketsPerBoard exclude each other");
  }
  node.boards = line.boards_set.value_or(1);
  node.cores_per_socket = line.cores_set.value_or(1);
  node.threads_per_core = line.threads_set.value_or(1);
  const uint32_t per_socket = node.cores_per_socket * node.threads_per_core;
  if (line.sockets_set) node.sockets = *line.sockets_set;
  else if (line.sockets_per_board_set) node.sockets = *line.sockets_per_board_set * node.boards;
  else if (line.cpus_set) {
    node.sockets = sockets_for(*line.cpus_set, node.cores_per_socket, node.threads_per_core);
  } else {
    node.sockets = node.boards;
  }
  node.cpus = line.cpus_set.value_or(node.sockets * per_socket);
  const uint32_t cores = node.sockets * node.cores_per_socket;
  if (node.cpus != node.sockets && node.cpus != cores && node.cpus != node.sockets * per_socket) {
    return failure(
        fmt::format("CPUs={} is not valid; allowed: Sockets ({}), Sockets*CoresPerSocket ({}) or "
                    "Sockets*CoresPerSocket*ThreadsPerCore ({})",
                    node.cpus, node.sockets, cores, node.sockets * per_socket));
  }
  if (node.sockets % node.boards != 0) {
    return failure(
        fmt::format("Sockets={} is not a multiple of Boards={}", node.sockets, node.boards));
  }
  if (Status ok = check_system_cores(node); !ok) return ok;
  if (node.mem_spec_limit_mib >= node.real_memory_mib && node.mem_spec_limit_mib != 0) {
    return failure(fmt::format("MemSpecLimit={} leaves nothing of RealMemory={} to jobs",
                               node.mem_spec_limit_mib, node.real_memory_mib));
  }
  return {};
}

// A list that gives each of `count` nodes its own part, or all of them the same.
struct PerNode {
  std::vector<std::string> values;
  [[nodiscard]] std::string at(size_t i, const std::string& otherwise) const {
    if (values.empty()) return otherwise;
    return values.size() == 1 ? values.front() : values[i];
  }
};

Result<PerNode> per_node(std::string_view key, std::string_view text, size_t count) {
  PerNode list;
  if (text.empty()) return list;
  Result<std::vector<std::string>> values = expand_hosts(text);
  if (!values) return failure(fmt::format("{}: {}", key, values.error().text));
  if (values->size() != 1 && values->size() != count) {
    return failure(fmt::format("{}=\"{}\" has {} values for {} nodes; allowed: 1 or {}", key, text,
                               values->size(), count, count));
  }
  list.values = std::move(*values);
  return list;
}

Result<uint32_t> port_number(const std::string& text) {
  if (text.empty()) return 0;
  const std::optional<uint32_t> port = to_number<uint32_t>(text);
  if (port && *port >= 1 && *port <= 65535) return *port;
  return failure(fmt::format(
      "Port=\"{}\" is not valid; allowed: a port from 1 to 65535, or a range such as [7001-7008]",
      text));
}

}  // namespace

Result<std::vector<NodeConfig>> nodes_of_line(const NodeLine& line) {
  const Result<std::vector<std::string>> names = expand_hosts(line.names);
  if (!names) return tl::unexpected(names.error());
  const size_t count = names->size();
  NodeConfig shared = static_cast<const NodeConfig&>(line);
  if (Status status = derive_layout(line, shared); !status) return tl::unexpected(status.error());

  const Result<PerNode> hostnames = per_node("NodeHostname", line.hostnames, count);
  const Result<PerNode> addresses = per_node("NodeAddr", line.addresses, count);
  const Result<PerNode> broadcasts = per_node("BcastAddr", line.broadcast_addresses, count);
  // a range of ports needs no brackets: 6821-6823
  const bool bare =
      !line.ports.empty() && line.ports.find_first_not_of("0123456789-,") == std::string::npos;
  const Result<PerNode> ports = per_node("Port", bare ? "[" + line.ports + "]" : line.ports, count);
  for (const auto* list : {&hostnames, &addresses, &broadcasts, &ports}) {
    if (!*list) return tl::unexpected(list->error());
  }
  std::vector<NodeConfig> nodes(count, shared);
  for (size_t i = 0; i < count; ++i) {
    NodeConfig& node = nodes[i];
    node.name = (*names)[i];
    node.hostname = hostnames->at(i, node.name);
    node.address = addresses->at(i, node.hostname);
    node.broadcast_address = broadcasts->at(i, {});
    const Result<uint32_t> port = port_number(ports->at(i, {}));
    if (!port) return tl::unexpected(port.error());
    node.port = *port;
  }
  return nodes;
}

Status check_gres_types(const ClusterConfig& config, const NodeConfig& node) {
  for (const std::string& item : split_list(node.gres)) {  // gpu:a100:2
    const std::string name = item.substr(0, item.find_first_of(":=("));
    if (std::find(config.gres_types.begin(), config.gres_types.end(), name) ==
        config.gres_types.end()) {
      return failure(
          ErrorCode::kInvalidConfig,
          fmt::format("Gres=\"{}\" names \"{}\", which is not in GresTypes", node.gres, name));
    }
  }
  return {};
}

NodeNames::NodeNames(const ClusterConfig& config) : config_(config) {
  index_.reserve(config.nodes.size());
  for (size_t i = 0; i < config.nodes.size(); ++i) index_.emplace(config.nodes[i].name, i);
}

bool NodeNames::has_node(std::string_view name) const { return index_.contains(name); }

Result<std::vector<std::string>> NodeNames::resolve(std::string_view text,
                                                    std::vector<std::string>* sets) const {
  std::vector<bool> chosen(config_.nodes.size(), false);
  const auto choose = [&](const std::string& name) {
    const auto found = index_.find(name);
    if (found == index_.end()) return false;
    chosen[found->second] = true;
    return true;
  };
  std::vector<std::string> unknown;
  std::string list(text);
  std::ranges::replace(list, ' ', ',');  // Nodes="n1 n2"
  for (const std::string& entry : split_hosts(list)) {
    if (iequals(entry, "ALL")) {
      chosen.assign(chosen.size(), true);
      if (sets) sets->emplace_back("ALL");
      continue;
    }
    const auto set = std::find_if(config_.node_sets.begin(), config_.node_sets.end(),
                                  [&](const NodeSetConfig& one) { return one.name == entry; });
    if (set != config_.node_sets.end()) {
      for (const std::string& name : set->nodes) choose(name);
      if (sets) sets->push_back(entry);
      continue;
    }
    const Result<std::vector<std::string>> names = expand_hosts(entry);
    if (!names) return tl::unexpected(names.error());
    for (const std::string& name : *names) {
      if (!choose(name)) unknown.push_back(name);
    }
  }
  if (!unknown.empty())
    return failure(
        fmt::format("unknown node{} \"{}\"", unknown.size() == 1 ? "" : "s", fold_hosts(unknown)));
  std::vector<std::string> nodes;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) nodes.push_back(config_.nodes[i].name);
  }
  return nodes;
}

std::vector<std::string> NodeNames::with_features(const std::vector<std::string>& features) const {
  std::vector<std::string> nodes;
  for (const NodeConfig& node : config_.nodes) {
    const bool any = std::any_of(features.begin(), features.end(), [&](const std::string& one) {
      return std::find(node.features.begin(), node.features.end(), one) != node.features.end();
    });
    if (any) nodes.push_back(node.name);
  }
  return nodes;
}

void follow_features(ClusterConfig& config) {
  const NodeNames names(config);
  bool grown = false;
  for (NodeSetConfig& set : config.node_sets) {
    std::vector<std::string> all = set.nodes;
    for (std::string& name : names.with_features(set.features)) all.push_back(std::move(name));
    auto nodes = names.resolve(join(all, ","), nullptr);
    if (!nodes || nodes->size() == set.nodes.size()) continue;
    set.nodes = std::move(*nodes);
    grown = true;
  }
  if (!grown) return;
  for (PartitionConfig& partition : config.partitions) {
    if (auto nodes = names.resolve(partition.nodes_text, nullptr))
      partition.nodes = std::move(*nodes);
  }
  for (DownNodesConfig& down : config.down_nodes) {
    if (auto nodes = names.resolve(down.nodes_text, nullptr)) down.nodes = std::move(*nodes);
  }
}

}  // namespace sluice::tables
