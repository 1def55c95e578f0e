// Where slurm.conf says that identity is proved: AuthType, AuthInfo=socket=…, and for auth/slurm the
// key beside slurm.conf (slurm.key) that daemons read and users do not.
#pragma once

#include "common/model/cluster_config.hpp"
#include "common/net/auth.hpp"
#include "common/net/jwt.hpp"

namespace sluice::net {

[[nodiscard]] AuthOptions auth_options(const ClusterConfig& config);
// AuthAltTypes=auth/jwt and its key.
[[nodiscard]] JwtSettings jwt_settings(const ClusterConfig& config);

}  // namespace sluice::net
