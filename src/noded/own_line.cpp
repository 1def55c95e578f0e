#include "noded/own_line.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "common/base/host_name.hpp"
#include "common/net/auth_config.hpp"
#include "common/net/rpc_client.hpp"
#include "common/protocol/ctld.hpp"
#include "common/tables/dynamic_nodes.hpp"
#include "noded/inventory.hpp"
#include "noded/node_state.hpp"

namespace sluice::noded {
namespace {

bool may_answer_later(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kConnectionLost || code == ErrorCode::kTimedOut ||
         code == ErrorCode::kRetry;
}

// The configuration as the controller has it, with the nodes that no file names.
Result<ClusterConfig> ask_controller(const ClusterConfig& config, Duration patience) {
  auto auth = net::make_auth(net::auth_options(config));
  if (!auth) return tl::unexpected<Error>(auth.error());
  net::RpcClient controller({.addresses = controller_addresses(config),
                             .receiver = std::string(net::kController),
                             .auth = *auth,
                             .connect_timeout = config.tcp_timeout});
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto reply = controller.call<protocol::QueryConfigReply>(protocol::QueryConfigRequest{}, config.message_timeout);
    if (reply) return std::move(reply->config);
    if (!may_answer_later(reply.error().code) || std::chrono::steady_clock::now() >= end) {
      return tl::unexpected<Error>(reply.error());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

Result<std::string> name_in(const ClusterConfig& config, const std::string& wanted) {
  if (wanted.empty()) return own_node_name(config, short_host_name());
  if (find_node_config(config, wanted) != nullptr) return wanted;
  return failure(ErrorCode::kInvalidNodeName, fmt::format("node {} is not in the configuration", wanted));
}

Result<NodeConfig> make_own_line(const ClusterConfig& config, const OwnLineOptions& options) {
  const std::string name = options.name.empty() ? short_host_name() : options.name;
  if (find_node_config(config, name) != nullptr) {
    return failure(ErrorCode::kDuplicateName, fmt::format("node {} is in the configuration already: -Z is for others", name));
  }
  NodeHardware found = discover_hardware(config.tmp_fs, config.slurmd_parameters);
  found.host_name = short_host_name();
  return tables::registering_node(config, name, options.line, found);
}

}  // namespace

Result<NodeConfig> find_own_line(ClusterConfig& config, const OwnLineOptions& options) {
  if (options.brings_line) {
    Result<NodeConfig> line = make_own_line(config, options);
    if (line) config.nodes.push_back(*line);
    return line;
  }
  Result<std::string> name = name_in(config, options.name);
  if (name) return *find_node_config(config, *name);
  if (name.error().code != ErrorCode::kInvalidNodeName) return tl::unexpected<Error>(name.error());
  const Result<ClusterConfig> known = ask_controller(config, options.patience);
  if (!known) {
    return failure(known.error().code,
                   fmt::format("{}, and the controller cannot be asked: {}", name.error().text, known.error().text));
  }
  name = name_in(*known, options.name);
  if (!name) return tl::unexpected<Error>(name.error());
  config.nodes.push_back(*find_node_config(*known, *name));
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
