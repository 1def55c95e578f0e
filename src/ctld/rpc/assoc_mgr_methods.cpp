// sshare, scontrol show assoc_mgr.
#include "common/protocol/assoc_mgr.hpp"
#include "ctld/query/assoc_mgr_query.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {

void add_assoc_mgr_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<protocol::QueryAssocMgrRequest, protocol::AssocMgrReply>(
      [&parts](const auto& context, auto request, auto responder) {
        const state::ClusterSnapshot state = parts.publisher.newest()->state;
        responder.reply(assoc_mgr(*state, request, context.identity.uid, parts.clock()));
      },
      net::kSlow);
}

}  // namespace sluice::ctld
