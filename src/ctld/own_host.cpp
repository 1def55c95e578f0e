#include "ctld/own_host.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "common/os/host_name.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/net/address.hpp"
#include "common/net/rpc_client.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/query.hpp"

namespace sluice::ctld {
namespace {

std::string full_host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

// By its name, or else by its address.
std::optional<size_t> own_position(const ClusterConfig& config) {
  const std::string own = short_host_name();
  for (size_t at = 0; at < config.controllers.size(); ++at) {
    if (short_name(config.controllers[at].name) == own) return at;
  }
  for (size_t at = 0; at < config.controllers.size(); ++at) {
    const ControllerHost& host = config.controllers[at];
    if (host.name == "localhost" || net::is_own_address(host.address)) return at;
  }
  if (!config.slurmctld_addr.empty() && net::is_own_address(config.slurmctld_addr)) return 0;
  return std::nullopt;
}

}  // namespace

bool controller_answers(const ClusterConfig& config, const std::string& host) {
  net::RpcClient client({.addresses = {fmt::format("{}:{}", host, config.slurmctld_port)},
                         .receiver = std::string(net::kController),
                         .tls = net::tls_trust(config).value_or(nullptr),
                         .connect_timeout = config.tcp_timeout});
  return client.call<protocol::PingReply>(protocol::PingRequest{}, config.tcp_timeout).has_value();
}

Status may_control_here(const ClusterConfig& config) {
  const auto own = own_position(config);
  if (!own) {
    return failure(ErrorCode::kAccessDenied,
                   fmt::format("This host ({}/{}) not a valid controller: it is no SlurmctldHost",
                               short_host_name(), full_host_name()));
  }
  if (config.controllers.size() == 1) return {};
  std::string others;
  for (size_t at = 0; at < config.controllers.size(); ++at) {
    const ControllerHost& host = config.controllers[at];
    if (at == *own) continue;
    others += (others.empty() ? "" : ", ") + host.name;
    // one of several controllers of this host would find the port in use
    if (net::is_own_address(host.address) || !controller_answers(config, host.address)) continue;
    return failure(
        ErrorCode::kAlreadyDone,
        fmt::format("the controller on {} answers: only one runs at a time. End it there "
                    "(scontrol shutdown slurmctld) before this one is started",
                    host.name));
  }
  log::info(
      "SlurmctldHost: {} is in charge; no other takes over by itself: start slurmctld on one of them ({}) when this one is gone",
      config.controllers[*own].name, others);
  return {};
}

}  // namespace sluice::ctld
