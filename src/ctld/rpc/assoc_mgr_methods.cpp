// sshare, scontrol show assoc_mgr.
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/empty.hpp"
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
  server.handle<protocol::ResetUsageRequest, protocol::Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        parts.engine.post({state::ResetUsage{identity_of(context), std::move(request)},
                           {},
                           answer_empty(std::move(responder))});
      });
}

}  // namespace sluice::ctld
