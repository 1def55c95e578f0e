#include "common/net/auth_config.hpp"

#include "common/base/host_name.hpp"
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

Result<std::unique_ptr<TokenServer>> serve_tokens(const AuthOptions& options) {
  if (options.type != "auth/slurm") return std::unique_ptr<TokenServer>();
  auto key = ClusterKey::load(options.key_file, options.slurm_user);
  if (!key) return tl::unexpected(key.error());
  return TokenServer::start(options.token_socket, std::make_shared<const TokenMaker>(
                                                      std::move(*key), options.cluster, short_host_name()));
}

}  // namespace sluice::net
