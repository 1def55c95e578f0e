// Where slurm.conf says that identity is proved: AuthType, AuthInfo=socket=…, and for auth/slurm the
// key beside slurm.conf (slurm.key) that daemons read and users do not.
#pragma once

#include "common/model/cluster_config.hpp"
#include "common/net/auth.hpp"
#include "common/net/token_server.hpp"

namespace sluice::net {

[[nodiscard]] AuthOptions auth_options(const ClusterConfig& config);

// Daemons of auth/slurm: hands out tokens on this host. Null for other kinds. Errors: an unusable key;
// kDuplicateName when another daemon of the host serves the socket already, which is as good.
[[nodiscard]] Result<std::unique_ptr<TokenServer>> serve_tokens(const AuthOptions& options);

}  // namespace sluice::net
