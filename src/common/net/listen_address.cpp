#include "common/net/listen_address.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::net {
namespace {

constexpr std::string_view kEverywhere = "0.0.0.0";

// The first that is not empty.
template <class... Texts>
std::string_view first_of(const Texts&... texts) {
  std::string_view found;
  ((found.empty() ? found = texts : found), ...);
  return found;
}

}  // namespace

std::string controller_listen_address(const ClusterConfig& config, const std::string& own_host) {
  std::string_view host = kEverywhere;
  if (has_option(config.communication_parameters, "NoCtldInAddrAny") &&
      !config.controllers.empty()) {
    const auto own = std::ranges::find(config.controllers, own_host, &ControllerHost::name);
    const ControllerHost& self =
        own == config.controllers.end() ? config.controllers.front() : *own;
    host = first_of(config.slurmctld_addr, self.address, self.name);
  }
  return fmt::format("{}:{}", host, config.slurmctld_port);
}

std::string agent_listen_address(const ClusterConfig& config, const NodeConfig& self) {
  const std::string_view host = listens_at_one_address(config)
                                    ? first_of(self.address, self.hostname, self.name)
                                    : kEverywhere;
  return fmt::format("{}:{}", host, self.port);
}

bool is_asked_over_a_network(const ClusterConfig& config) {
  const auto is_remote = [](std::string_view host) {
    return !host.starts_with("127.") && host != "localhost" && host != "::1";
  };
  if (!config.slurmctld_addr.empty()) return is_remote(config.slurmctld_addr);
  return std::ranges::any_of(config.controllers, [&](const ControllerHost& one) {
    return is_remote(first_of(one.address, one.name));
  });
}

bool listens_at_one_address(const ClusterConfig& config) {
  return has_option(config.communication_parameters, "NoInAddrAny");
}

}  // namespace sluice::net
