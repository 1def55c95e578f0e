// Where daemons listen: at every address of their host, or with
// CommunicationParameters=NoCtldInAddrAny (the controller) and NoInAddrAny (agents and commands) at
// the one by which slurm.conf names them.
#pragma once

#include <string>

#include "common/model/cluster_config.hpp"

namespace sluice::net {

// HOST:PORT. `own_host` tells which of several controllers this is.
[[nodiscard]] std::string controller_listen_address(const ClusterConfig& config,
                                                    const std::string& own_host);
[[nodiscard]] std::string agent_listen_address(const ClusterConfig& config, const NodeConfig& self);

// Some controller of slurm.conf is not at an address of loopback: what is said to it goes over a
// network.
[[nodiscard]] bool is_asked_over_a_network(const ClusterConfig& config);

// NoInAddrAny is set.
[[nodiscard]] bool listens_at_one_address(const ClusterConfig& config);

}  // namespace sluice::net
