#include "noded/node/node_line.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/os/host_name.hpp"
#include "common/os/is_away.hpp"
#include "common/auth/auth_config.hpp"
#include "common/net/rpc_client.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/protocol_version.hpp"
#include "common/protocol/noded.hpp"
#include "common/config/dynamic_nodes.hpp"
#include "noded/node/inventory.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {
namespace {

Result<net::ClientOptions> controller_options(const ClusterConfig& config) {
  auto auth = net::make_auth(net::auth_options(config));
  if (!auth) return tl::unexpected<Error>(auth.error());
  auto tls = net::tls_trust(config);
  if (!tls) return tl::unexpected<Error>(tls.error());
  return net::ClientOptions{.addresses = controller_addresses(config),
                            .receiver = std::string(net::kController),
                            .auth = *auth,
                            .tls = *tls,
                            .signed_answers = true,
                            .connect_timeout = config.tcp_timeout};
}

// Asks until there is an answer, or patience is at its end.
template <class Reply, class Request>
Result<Reply> ask(const ClusterConfig& config, const Request& request, Duration patience) {
  auto options = controller_options(config);
  if (!options) return tl::unexpected<Error>(options.error());
  net::RpcClient controller(std::move(*options));
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto reply = controller.call<Reply>(request, config.message_timeout);
    if (reply || !is_away(reply.error().code) || std::chrono::steady_clock::now() >= end)
      return reply;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

Result<std::string> name_in(const ClusterConfig& config, const std::string& wanted) {
  if (wanted.empty()) return own_node_name(config, short_host_name());
  if (find_node_config(config, wanted) != nullptr) return wanted;
  return failure(ErrorCode::kInvalidNodeName,
                 fmt::format("node {} is not in the configuration", wanted));
}

Result<NodeConfig> make_own_line(const ClusterConfig& config, const NodeLineOptions& options) {
  const std::string name = options.name.empty() ? short_host_name() : options.name;
  if (find_node_config(config, name) != nullptr) {
    return failure(ErrorCode::kDuplicateName,
                   fmt::format("node {} is in the configuration already: -Z is for others", name));
  }
  NodeHardware found = discover_hardware(config.tmp_fs, config.slurmd_parameters);
  found.host_name = short_host_name();
  return tables::registering_node(config, name, options.line, found);
}

bool is_own_future(const Node& node, const NodeHardware& host) {
  return (node.flags & kNodeDynamicFuture) != 0 && node.base != NodeBaseState::kFuture &&
         node.hardware != nullptr && node.hardware->host_name == host.host_name;
}

// In `config` it is this host, whoever the file takes it for.
NodeConfig take_line(ClusterConfig& config, NodeConfig line, const std::string& host_name) {
  line.hostname = host_name;
  line.address.clear();
  std::erase_if(config.nodes, [&](const NodeConfig& node) { return node.name == line.name; });
  config.nodes.push_back(line);
  return line;
}

// Several hosts may ask at once: who comes late gets the next one.
Result<NodeConfig> claim_future_node(ClusterConfig& config, const NodeLineOptions& options) {
  protocol::RegisterNodeRequest request;
  request.protocol_version = protocol::kProtocolVersion;
  request.hardware = discover_hardware(config.tmp_fs, config.slurmd_parameters);
  request.hardware.host_name = short_host_name();
  request.claims_future = request.only_claims = true;
  protocol::QueryNodesRequest all;
  all.hidden_partitions = true;
  const auto known = ask<protocol::QueryNodesReply>(config, all, options.patience);
  if (!known)
    return failure(known.error().code, "the controller cannot be asked: " + known.error().text);
  for (const std::string& name :
       future_nodes(known->nodes, request.hardware, *options.future, options.name)) {
    const auto record =
        std::ranges::find_if(known->nodes, [&](const auto& one) { return one.node.name == name; });
    request.name = name;
    request.hardware.port = record->node.config->port;
    const auto given = ask<protocol::RegisterNodeReply>(config, request, options.patience);
    if (given) return take_line(config, *record->node.config, request.hardware.host_name);
    if (given.error().code != ErrorCode::kInvalidState) return tl::unexpected<Error>(given.error());
  }
  return failure(ErrorCode::kInvalidNodeName, "no FUTURE node is as this host");
}

}  // namespace

std::vector<std::string> future_nodes(const std::vector<protocol::NodeRecord>& nodes,
                                      const NodeHardware& host, const std::string& feature,
                                      const std::string& name) {
  std::vector<std::string> free;
  for (const protocol::NodeRecord& record : nodes) {
    const Node& node = record.node;
    if (node.config == nullptr || (!name.empty() && node.name != name)) continue;
    if (is_own_future(node, host)) return {node.name};
    const NodeConfig& line = *node.config;
    const bool alike = line.sockets == host.sockets &&
                       line.cores_per_socket == host.cores_per_socket &&
                       line.threads_per_core == host.threads_per_core;
    const bool suits = feature.empty() || contains(line.features, feature);
    if (node.base == NodeBaseState::kFuture && alike && suits) free.push_back(node.name);
  }
  return free;
}

Result<NodeConfig> find_node_line(ClusterConfig& config, const NodeLineOptions& options) {
  if (options.brings_line) {
    Result<NodeConfig> line = make_own_line(config, options);
    if (line) config.nodes.push_back(*line);
    return line;
  }
  if (options.future) return claim_future_node(config, options);
  Result<std::string> name = name_in(config, options.name);
  if (name) return *find_node_config(config, *name);
  if (name.error().code != ErrorCode::kInvalidNodeName) return tl::unexpected<Error>(name.error());
  const auto known =
      ask<protocol::QueryConfigReply>(config, protocol::QueryConfigRequest{}, options.patience);
  if (!known) {
    return failure(known.error().code, fmt::format("{}, and the controller cannot be asked: {}",
                                                   name.error().text, known.error().text));
  }
  name = name_in(known->config, options.name);
  if (!name) return tl::unexpected<Error>(name.error());
  config.nodes.push_back(*find_node_config(known->config, *name));
  return config.nodes.back();
}

std::vector<std::string> controller_addresses(const ClusterConfig& config) {
  std::vector<std::string> addresses;
  for (const ControllerHost& host : config.controllers) {
    const std::string& name = config.slurmctld_addr.empty() ? host.address : config.slurmctld_addr;
    addresses.push_back(
        fmt::format("{}:{}", name.empty() ? host.name : name, config.slurmctld_port));
  }
  return addresses;
}

Result<std::string> own_node_name(const ClusterConfig& config, const std::string& host_name) {
  std::vector<std::string> found;
  for (const NodeConfig& node : config.nodes) {
    const std::string& host = node.hostname.empty() ? node.name : node.hostname;
    if (host.substr(0, host.find('.')) == host_name || node.name == host_name) {
      found.push_back(node.name);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return failure(ErrorCode::kInvalidNodeName,
                   fmt::format("Unable to determine this slurmd's NodeName: no node has "
                               "NodeHostname={}",
                               host_name));
  }
  return failure(
      ErrorCode::kDuplicateName,
      fmt::format("host {} has {} nodes: say which one with -N", host_name, found.size()));
}

}  // namespace sluice::noded
