// Where slurm.conf says that identity is proved: AuthType, AuthInfo=socket=…, and for auth/slurm
// the key that daemons read and users do not: $SLURM_SACK_KEY, else slurm.key beside slurm.conf.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/auth/auth.hpp"
#include "common/auth/jwt.hpp"

namespace sluice::net {

[[nodiscard]] AuthOptions auth_options(const ClusterConfig& config);
// The key of auth/slurm for a configuration at this path.
[[nodiscard]] std::string key_file_for(const std::string& config_path);
// What is wrong with who is to prove identity on this host: a munged that does not answer.
[[nodiscard]] std::vector<std::string> auth_warnings(const ClusterConfig& config);
// AuthAltTypes=auth/jwt and its key.
[[nodiscard]] JwtSettings jwt_settings(const ClusterConfig& config);

}  // namespace sluice::net
