// auth/jwt: JSON Web Tokens (RFC 7519) signed with HMAC-SHA256 (HS256), as Slurm makes and takes
// them: `sun` is the user's name, `iat` and `exp` Unix seconds. Whoever holds one is that user
// until it expires; only the controller takes them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/auth/auth.hpp"

namespace sluice::net {

// The key of AuthAltParameters=jwt_key=…, or jwt_hs256.key in the folder for state. Empty:
// AuthAltTypes has no auth/jwt.
struct JwtSettings {
  std::string key_file;
  uint32_t slurm_user = 0;  // the key may be this user's
};

[[nodiscard]] std::string make_jwt(std::string_view key, std::string_view user, Time issued,
                                   Time expires);
// The user that it names. Errors: kAuthentication; the text says whether it was malformed, forged,
// expired or not yet valid.
[[nodiscard]] Result<std::string> read_jwt(std::string_view key, std::string_view token, Time now);

// The token for AuthProvider::open() of an `authorization` header as gRPC's clients send it
// ("Bearer TOKEN"); empty: it has none.
[[nodiscard]] std::string bearer_token(std::string_view header);

// Errors: as ClusterKey::load().
[[nodiscard]] Result<std::string> load_jwt_key(const JwtSettings& settings);

// What is in force when a token comes: it may change while tokens are taken. Any thread.
using LiveJwtSettings = std::function<JwtSettings()>;

// Takes such tokens, too, while `settings` has a key; what is not one is left to `other`.
[[nodiscard]] std::shared_ptr<AuthProvider> accept_jwt(std::shared_ptr<AuthProvider> other,
                                                       LiveJwtSettings settings);
// Sends this token (SLURM_JWT) with every request.
[[nodiscard]] std::shared_ptr<AuthProvider> use_jwt(std::string_view token);

}  // namespace sluice::net
