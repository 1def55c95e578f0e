#include "common/net/client_endpoints.hpp"

#include <fmt/format.h>

#include "common/os/clock.hpp"
#include "common/auth/crypto.hpp"

namespace sluice::net {
namespace {

constexpr Duration kEndless = std::chrono::hours(24 * 365);

}  // namespace

Result<KeyedToken> ClientEndpoints::token_for(std::string_view method,
                                              std::string_view request) const {
  if (options_.auth == nullptr) return KeyedToken{};
  const RequestDigest digest = digest_request(options_.receiver, method, request);
  if (options_.signed_answers) return options_.auth->create_keyed_token(digest);
  auto token = options_.auth->create_token(digest);
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  return KeyedToken{std::move(*token), {}};
}

Status check_answer(const std::string& answer_key, std::string_view reply,
                    std::string_view signature, const std::string& address) {
  if (answer_key.empty() || same_secret(sign_answer(answer_key, reply), signature)) return {};
  return failure(
      ErrorCode::kAuthentication,
      fmt::format(
          "{}: the answer {}: whoever gave it is not this cluster's controller, or was changed on its way",
          address, signature.empty() ? "is not signed" : "has a wrong signature"));
}

SteadyTime deadline_after(Duration timeout) {
  return timeout >= kEndless ? kNoDeadline : steady_now() + timeout;
}

Error no_address() { return {ErrorCode::kUnreachable, "no address to connect to"}; }

}  // namespace sluice::net
