#include "dbd/start_errors.hpp"

#include <unistd.h>

#include "common/auth/auth_config.hpp"
#include "common/auth/jwt.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/tls_identity.hpp"
#include "dbd/archive/purge_rules.hpp"
#include "dbd/store/file_access.hpp"

namespace sluice::dbd {
namespace {

Status check_tls(const DbdConfig& config) {
  if (!net::is_tls(config.tls_type)) return {};
  const auto identity = net::TlsIdentity::open(
      net::accounting_tls_files(config.path, config.tls_parameters), config.slurm_user_id);
  return identity ? Status{} : tl::unexpected<Error>(identity.error());
}

Status check_identity(const DbdConfig& config) {
  net::AuthOptions options = auth_options(config);
  options.token_socket.clear();
  if (const auto made = net::make_auth(options); !made) return tl::unexpected<Error>(made.error());
  const net::JwtSettings jwt = jwt_settings(config);
  if (jwt.key_file.empty()) return {};
  const auto usable = net::load_jwt_key(jwt);
  return usable ? Status{} : tl::unexpected<Error>(usable.error());
}

}  // namespace

std::vector<Error> start_errors(const DbdConfig& config) {
  std::vector<Error> out;
  const auto add = [&out](const Status& status) {
    if (!status) out.push_back(status.error());
  };
  add(may_serve_here(config));
  if (const auto rules = purge_rules(config)) add(check_archive_folder(config, *rules));
  const bool may_look = ::geteuid() == 0 || ::geteuid() == config.slurm_user_id;
  if (!may_look) return out;
  add(check_identity(config));
  add(check_tls(config));
  const bool has_file =
      config.storage.engine == Engine::kSqlite && ::access(config.storage.name.c_str(), F_OK) == 0;
  if (has_file) add(may_use_file(config.storage.name));
  return out;
}

}  // namespace sluice::dbd
