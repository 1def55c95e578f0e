#include "dbd/identity.hpp"

#include <utility>

#include "common/auth/auth_config.hpp"
#include "common/auth/jwt.hpp"
#include "common/net/tls_config.hpp"

namespace sluice::dbd {

Result<std::shared_ptr<net::AuthProvider>> open_auth(const DbdConfig& config) {
  net::AuthOptions options = auth_options(config);
  options.token_socket.clear();  // it verifies tokens, and has to have the key itself
  auto provider = net::make_auth(options);
  net::JwtSettings jwt = jwt_settings(config);
  if (!provider || jwt.key_file.empty()) return provider;
  if (auto usable = net::load_jwt_key(jwt); !usable) return tl::unexpected(usable.error());
  return net::accept_jwt(std::move(*provider), [jwt = std::move(jwt)] { return jwt; });
}

Result<std::shared_ptr<net::TlsIdentity>> open_tls(const DbdConfig& config) {
  if (!net::is_tls(config.tls_type)) return nullptr;
  return net::TlsIdentity::open(net::accounting_tls_files(config.path, config.tls_parameters),
                                config.slurm_user_id);
}

}  // namespace sluice::dbd
