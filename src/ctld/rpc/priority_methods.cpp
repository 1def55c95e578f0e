// sprio: what the priorities of waiting jobs are made of.
#include <memory>
#include <utility>

#include "common/protocol/priority.hpp"
#include "ctld/query/priority_query.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {

void add_priority_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle_stream<protocol::QueryPrioritiesRequest, protocol::PriorityChunk>(
      [&parts](const auto& context, auto request, auto writer) {
        const state::ClusterSnapshot state = parts.publisher.newest()->state;
        auto query =
            std::make_shared<PriorityQuery>(std::move(request), context.identity.uid, state,
                                            parts.scheduler.policies(*state), parts.clock());
        writer.pull([query] { return query->next(); });
      },
      net::kSlow);
}

}  // namespace sluice::ctld
