// Configuration for nodes and commands that have none: any user of the cluster may have it, as any
// user of a host may read its slurm.conf.
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/protocol/config_files.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/protocol_version.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {
namespace {

protocol::PingReply ping(const ServiceParts& parts) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const ClusterConfig& config = *state->config;
  protocol::PingReply reply{parts.host, kSlurmVersion, "primary"};
  reply.cluster = config.cluster_name;
  reply.auth_type = config.auth_type;
  reply.auth_socket = option_value(split_list(config.auth_info), "socket").value_or("");
  reply.slurm_user = config.slurm_user_id;
  reply.protocol_version = protocol::kProtocolVersion;
  return reply;
}

Result<protocol::FetchConfigReply> fetch_config(const ServiceParts& parts) {
  const auto files = parts.sent_files.get().sent;
  if (files != nullptr) return *files;
  return failure(
      ErrorCode::kDisabled,
      "the controller does not send its configuration: SlurmctldParameters=enable_configless is not set there");
}

}  // namespace

void add_config_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<PingRequest, PingReply>(
      [&parts](const auto&, auto, auto responder) { responder.reply(ping(parts)); },
      net::kForAnyone);
  server.handle<FetchConfigRequest, FetchConfigReply>(
      [&parts](const auto&, auto, auto responder) { responder.complete(fetch_config(parts)); });
}

}  // namespace sluice::ctld
