// auth/slurm: own tokens. Daemons hold the cluster's key and make tokens themselves; commands ask
// a daemon of their host (rpc/token_server.hpp).
#pragma once

#include "common/auth/auth.hpp"
#include "common/auth/token.hpp"

namespace sluice::net {

[[nodiscard]] std::shared_ptr<AuthProvider> make_key_auth(const ClusterKey& key,
                                                          const std::string& cluster,
                                                          Duration lifetime = kTokenLifetime);
// Cannot verify: for commands. `own`: only root or this user is believed to give tokens there.
[[nodiscard]] std::shared_ptr<AuthProvider> make_socket_auth(std::string socket_path,
                                                             bool own = false);

}  // namespace sluice::net
