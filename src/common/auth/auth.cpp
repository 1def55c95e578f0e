#include "common/auth/auth.hpp"

#include <fmt/format.h>

#include "common/auth/auth_munge.hpp"
#include "common/auth/auth_slurm.hpp"
#include "common/auth/crypto.hpp"

namespace sluice::net {

RequestDigest digest_request(std::string_view receiver, std::string_view method,
                             std::string_view request) {
  return {sha256_of({receiver, method, request})};
}

std::string sign_answer(std::string_view answer_key, std::string_view reply) {
  return hmac_sha256(answer_key, reply);
}

Status check_digest(const Proof& proof, const RequestDigest& digest) {
  if (!proof.digest || same_secret(*proof.digest, digest.bytes)) return {};
  return failure(ErrorCode::kAuthentication,
                 "the token belongs to another request, or to one to another daemon");
}

Result<Identity> AuthProvider::verify(std::string_view token, const RequestDigest& digest) {
  Result<Proof> proof = open(token);
  if (!proof) return tl::unexpected<Error>(std::move(proof.error()));
  if (Status same = check_digest(*proof, digest); !same) {
    return failure(ErrorCode::kAuthentication, fmt::format("{}: {}", name(), same.error().text));
  }
  return std::move(proof->identity);
}

Result<KeyedToken> AuthProvider::create_keyed_token(const RequestDigest&) {
  return failure(ErrorCode::kAuthentication,
                 fmt::format("{}: no signed answer can be asked for here", name()));
}

Result<std::shared_ptr<AuthProvider>> make_auth(const AuthOptions& options) {
  if (options.type == "auth/munge") {
    return make_munge_auth(options.munge_socket, options.cluster, options.slurm_user,
                           options.lifetime);
  }
  if (options.type != "auth/slurm") {
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("AuthType={}: must be auth/munge or auth/slurm", options.type));
  }
  Result<ClusterKey> key = ClusterKey::load(options.key_file, options.slurm_user);
  if (key) return make_key_auth(*key, options.cluster, options.key_lifetime());
  const bool not_for_us =
      key.error().code == ErrorCode::kAccessDenied || key.error().code == ErrorCode::kPathMissing;
  if (not_for_us && !options.token_socket.empty())
    return make_socket_auth(options.token_socket, options.own_token_socket);
  return failure(ErrorCode::kInvalidConfig, key.error().text);
}

}  // namespace sluice::net
