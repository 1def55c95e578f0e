#include "common/net/client_endpoints.hpp"

#include "common/net/clock.hpp"

namespace sluice::net {
namespace {

constexpr Duration kEndless = std::chrono::hours(24 * 365);

}  // namespace

Result<std::string> ClientEndpoints::token_for(std::string_view method, std::string_view request) const {
  if (options_.auth == nullptr) return std::string();
  return options_.auth->create_token(digest_request(options_.receiver, method, request));
}

SteadyTime deadline_after(Duration timeout) {
  return timeout >= kEndless ? kNoDeadline : steady_now() + timeout;
}

Error no_address() {
  return {ErrorCode::kUnreachable, "no address to connect to"};
}

}  // namespace sluice::net
