#include "common/net/auth_config.hpp"

#include "common/base/text.hpp"

namespace sluice::net {

AuthOptions auth_options(const ClusterConfig& config) {
  AuthOptions options;
  options.type = config.auth_type;
  options.cluster = config.cluster_name;
  options.slurm_user = config.slurm_user_id;
  const std::string socket = option_value(split_list(config.auth_info), "socket").value_or("");
  if (config.auth_type == "auth/munge") {
    options.munge_socket = socket;
  } else {
    options.token_socket = socket.empty() ? "/run/slurm/sack.socket" : socket;
  }
  const size_t slash = config.config_path.rfind('/');
  options.key_file =
      (slash == std::string::npos ? "." : config.config_path.substr(0, slash)) + "/slurm.key";
  return options;
}

}  // namespace sluice::net
