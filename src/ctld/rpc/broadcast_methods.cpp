// sbcast and srun --bcast: the right to send a file to the nodes of a job.
#include "common/base/hostlist.hpp"
#include "common/protocol/broadcast.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using protocol::BroadcastTicketReply;
using protocol::BroadcastTicketRequest;

// Why no file can be sent to it.
Status check_running(const Job* job) {
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (job->state == JobState::kPending) return failure(ErrorCode::kJobPending);
  const bool runs = job->allocation != nullptr && !is_completing(*job) &&
                    (job->state == JobState::kRunning || job->state == JobState::kSuspended);
  return runs ? Status() : failure(ErrorCode::kAlreadyDone);
}

BroadcastTicketReply sign(ServiceParts& parts, const protocol::BroadcastTicket& ticket) {
  BroadcastTicketReply reply;
  reply.ticket = wire::encode(ticket);
  reply.signature = parts.signer.sign(protocol::signed_ticket(reply.ticket));
  std::vector<std::string> names;
  for (const protocol::NodeAddress& node : ticket.nodes) names.push_back(node.name);
  reply.node_list = fold_hosts(names);
  return reply;
}

// sbcast -Z: nodes without a job.
Result<BroadcastTicketReply> make_ticket_outside(ServiceParts& parts, const CallContext& context,
                                                 const BroadcastTicketRequest& request) {
  if (!context.is_super_user()) return failure(ErrorCode::kAccessDenied);
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const auto nodes = state::resolve_nodes(*state, request.node_list);
  if (!nodes || nodes->none()) return failure(ErrorCode::kInvalidNodeName);
  const UserEntry user =
      parts.users.find(context.identity.uid, context.identity.gid, parts.clock());
  protocol::BroadcastTicket ticket;
  nodes->for_each([&](size_t id) {
    ticket.nodes.push_back(state::node_address(state->nodes.at(static_cast<NodeId>(id))));
  });
  ticket.cluster_id = state->cluster_id;
  ticket.uid = context.identity.uid;
  ticket.gid = context.identity.gid;
  ticket.user_name = user.name;
  ticket.issued = parts.clock();
  return sign(parts, ticket);
}

Result<BroadcastTicketReply> make_ticket(ServiceParts& parts, const CallContext& context,
                                         const BroadcastTicketRequest& request) {
  if (request.job == kNoJob && !request.node_list.empty())
    return make_ticket_outside(parts, context, request);
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const Job* job = state->jobs.find(request.job);
  if (job != nullptr && job->spec->uid != context.identity.uid && !context.is_super_user()) {
    return failure(ErrorCode::kAccessDenied);
  }
  if (auto ok = check_running(job); !ok) return tl::unexpected(ok.error());
  protocol::BroadcastTicket ticket;
  if (request.step == protocol::kWholeJob) {
    ticket.nodes = state::allocation_addresses(*state, *job);
  } else {
    const Step* step = state::find_step(*job, request.step);
    if (step == nullptr) return failure(ErrorCode::kInvalidJobId);
    for (const StepNode& part : step->layout->nodes) {
      if (const Node* node = state->nodes.find(part.node))
        ticket.nodes.push_back(state::node_address(*node));
    }
  }
  ticket.cluster_id = state->cluster_id;
  ticket.job = job->id;
  ticket.restart = job->restart_count;
  ticket.uid = job->spec->uid;
  ticket.gid = job->spec->gid;
  ticket.user_name = job->spec->user_name.str();
  ticket.issued = parts.clock();
  return sign(parts, ticket);
}

}  // namespace

void add_broadcast_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<BroadcastTicketRequest, BroadcastTicketReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(make_ticket(parts, context, request));
      },
      net::kSlow);
}

}  // namespace sluice::ctld
