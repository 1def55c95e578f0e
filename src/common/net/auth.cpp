#include "common/net/auth.hpp"

#include <fmt/format.h>

#include "common/net/auth_munge.hpp"
#include "common/net/auth_slurm.hpp"
#include "common/net/crypto.hpp"

namespace sluice::net {

RequestDigest digest_request(std::string_view receiver, std::string_view method, std::string_view request) {
  return {sha256_of({receiver, method, request})};
}

std::string sign_answer(std::string_view answer_key, std::string_view reply) { return hmac_sha256(answer_key, reply); }

Result<KeyedToken> AuthProvider::create_keyed_token(const RequestDigest&) {
  return failure(ErrorCode::kAuthentication, fmt::format("{}: no signed answer can be asked for here", name()));
}

Result<std::shared_ptr<AuthProvider>> make_auth(const AuthOptions& options) {
  if (options.type == "auth/munge") {
    return make_munge_auth(options.munge_socket, options.cluster, options.slurm_user, options.lifetime);
  }
  if (options.type != "auth/slurm") {
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("AuthType={}: must be auth/munge or auth/slurm", options.type));
  }
  Result<ClusterKey> key = ClusterKey::load(options.key_file, options.slurm_user);
  if (key) return make_key_auth(*key, options.cluster, options.key_lifetime());
  const bool not_for_us =
      key.error().code == ErrorCode::kAccessDenied || key.error().code == ErrorCode::kPathMissing;
  if (not_for_us && !options.token_socket.empty()) return make_socket_auth(options.token_socket);
  return failure(ErrorCode::kInvalidConfig, key.error().text);
}

}  // namespace sluice::net
