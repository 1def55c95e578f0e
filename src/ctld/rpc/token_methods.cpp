// Tokens of auth/jwt, for users that come without the cluster's own proof of identity (SLURM_JWT).
#include "common/base/text.hpp"
#include "common/auth/auth_config.hpp"
#include "common/auth/jwt.hpp"
#include "common/protocol/user_token.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {
namespace {

constexpr uint32_t kUsualLifespan = 3600;  // seconds
constexpr uint32_t kMostLifespan = 365 * 24 * 3600;

Result<protocol::CreateUserTokenReply> create_token(
    ServiceParts& parts, const net::CallContext& context,
    const protocol::CreateUserTokenRequest& request) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const net::JwtSettings settings = net::jwt_settings(*state->config);
  if (settings.key_file.empty()) return failure(ErrorCode::kNotSupported);
  const std::string own =
      parts.users.find(context.identity.uid, context.identity.gid, parts.clock()).name;
  const std::string& user = request.user_name.empty() ? own : request.user_name;
  if (user.empty() || (user != own && !context.is_super_user()))
    return failure(ErrorCode::kInvalidUser);
  const std::vector<std::string> parameters = split_list(state->config->auth_alt_parameters);
  if (has_option(parameters, "disable_token_creation") && !context.is_super_user())
    return failure(ErrorCode::kAccessDenied);
  const uint32_t lifespan =
      request.lifespan_s == 0 ? kUsualLifespan : std::min(request.lifespan_s, kMostLifespan);
  const auto longest =
      to_number<uint32_t>(option_value(parameters, "max_token_lifespan").value_or(""));
  if (longest && lifespan > *longest && !context.is_super_user())
    return failure(ErrorCode::kInvalidTimeLimit);
  const auto key = net::load_jwt_key(settings);
  if (!key) return tl::unexpected(key.error());
  const Time now = parts.clock();
  return protocol::CreateUserTokenReply{
      net::make_jwt(*key, user, now, now + std::chrono::seconds(lifespan))};
}

}  // namespace

void add_token_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<protocol::CreateUserTokenRequest, protocol::CreateUserTokenReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(create_token(parts, context, request));
      },
      net::kSlow);
}

}  // namespace sluice::ctld
