// sbcast: a block comes from the user to one agent, goes to all nodes of his ticket, and is
// written.
#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "common/base/errno_text.hpp"
#include "common/auth/token.hpp"
#include "common/wire/codec.hpp"
#include "noded/requests.hpp"

namespace sluice::noded {
namespace {

using net::CallContext;
using net::Responder;
using namespace protocol;  // NOLINT(google-build-using-namespace)

// The ticket, when the controller signed it and it is one of this cluster. The server logs who has
// none.
Result<BroadcastTicket> checked_ticket(const RequestParts& parts, const std::string& bytes,
                                       const std::string& signature) {
  if (!parts.node.verifier) return failure(ErrorCode::kRetry, "the node is not registered yet");
  if (auto ok = parts.node.verifier->verify(signed_ticket(bytes), signature); !ok)
    return failure(ErrorCode::kInvalidCredential);
  auto ticket = wire::decode<BroadcastTicket>(bytes);
  if (ticket && ticket->cluster_id != parts.node.cluster_id)
    return failure(ErrorCode::kWrongCluster);
  return ticket;
}

// A ticket begins nothing when it is old, or its job is over here.
Status check_start(const RequestParts& parts, const BroadcastTicket& ticket,
                   const BroadcastBlock& block) {
  const auto is_here = [&](const NodeAddress& node) { return node.name == parts.node.name; };
  if (std::ranges::none_of(ticket.nodes, is_here)) return failure(ErrorCode::kInvalidNodeName);
  if (parts.jobs.is_over(ticket.job, ticket.restart)) return failure(ErrorCode::kAlreadyDone);
  if (parts.broadcasts.is_under_way(ticket, block.transfer)) return {};
  const Duration age = now() - ticket.issued;
  const bool holds = age <= kTicketLifetime + net::kClockTolerance && age >= -net::kClockTolerance;
  return holds ? Status()
               : failure(ErrorCode::kInvalidCredential, "Invalid job credential: it has expired");
}

void write_block(RequestParts& parts, const WriteBlockRequest& request,
                 const std::shared_ptr<Responder<BlockReply>>& answer) {
  const auto ticket = checked_ticket(parts, request.ticket, request.signature);
  if (!ticket) return answer->fail(ticket.error());
  if (auto ok = check_start(parts, *ticket, request.block); !ok) return answer->fail(ok.error());
  parts.broadcasts.write(*ticket, request.block,
                         [answer](const BlockReply& reply) { answer->reply(reply); });
}

SendBlockReply failures_of(const net::FanoutReply& results) {
  SendBlockReply reply;
  for (const net::FanoutResult& result : results.results) {
    BlockFailure failed{result.node, 0, result.text};
    if (result.code == ErrorCode::kOk) {
      const auto block = wire::decode<BlockReply>(result.reply);
      if (block && block->error == 0) continue;
      if (block) failed = {result.node, block->error, block->text};
    } else if (failed.text.empty()) {
      failed.text = fmt::format("error {}", static_cast<uint32_t>(result.code));
    }
    reply.failed.push_back(std::move(failed));
  }
  return reply;
}

void send_block(RequestParts& parts, uint32_t caller, bool super_user, SendBlockRequest request,
                const std::shared_ptr<Responder<SendBlockReply>>& answer) {
  const auto ticket = checked_ticket(parts, request.ticket, request.signature);
  if (!ticket) return answer->fail(ticket.error());
  if (!super_user && caller != ticket->uid) return answer->fail(ErrorCode::kAccessDenied);
  const BroadcastBlock& block = request.block;
  if (block.data.size() > kMaxBlockBytes + kMaxBlockBytes / 64 ||
      block.raw_bytes > kMaxBlockBytes) {
    return answer->fail(ErrorCode::kBadRequest);
  }
  auto targets = block_targets(ticket->nodes, request.only);
  if (!targets) return answer->fail(targets.error());
  net::FanoutRequest message;
  message.targets = std::move(*targets);
  message.method = net::method_name<WriteBlockRequest>();
  message.payload = wire::encode(WriteBlockRequest{
      std::move(request.ticket), std::move(request.signature), std::move(request.block)});
  message.tree_width = request.tree_width != 0 ? request.tree_width : parts.node.config->tree_width;
  message.node_timeout =
      request.timeout > Duration(0) ? request.timeout : parts.node.config->message_timeout;
  parts.fanout->send(std::move(message), [answer](const net::FanoutReply& results) {
    answer->reply(failures_of(results));
  });
}

}  // namespace

// The agent has one thread: this takes it no longer than the ticket is.
Result<std::vector<net::FanoutTarget>> block_targets(const std::vector<NodeAddress>& nodes,
                                                     const std::vector<std::string>& only) {
  if (only.size() > nodes.size())
    return failure(ErrorCode::kBadRequest, "more nodes are named than the ticket has");
  const std::unordered_set<std::string_view> wanted(only.begin(), only.end());
  std::vector<net::FanoutTarget> targets;
  for (const NodeAddress& node : nodes) {
    if (!only.empty() && !wanted.contains(node.name)) continue;
    targets.push_back({node.name, fmt::format("{}:{}", node.host, node.port)});
  }
  return targets;
}

void add_broadcast_requests(net::RpcServer& server, RequestParts& parts) {
  server.handle<SendBlockRequest, SendBlockReply>(
      [&parts](const CallContext& context, SendBlockRequest request,
               Responder<SendBlockReply> responder) {
        auto answer = std::make_shared<Responder<SendBlockReply>>(std::move(responder));
        parts.node.mailbox->post([&parts, uid = context.identity.uid,
                                  super_user = context.is_super_user(), answer,
                                  request = std::move(request)]() mutable {
          send_block(parts, uid, super_user, std::move(request), answer);
        });
      },
      net::kLong);
  server.handle<WriteBlockRequest, BlockReply>(
      [&parts](const CallContext& context, WriteBlockRequest request,
               Responder<BlockReply> responder) {
        if (!context.is_super_user() && !context.identity.is_user(parts.slurmd_user)) {
          return responder.fail(ErrorCode::kAccessDenied);
        }
        auto answer = std::make_shared<Responder<BlockReply>>(std::move(responder));
        parts.node.mailbox->post([&parts, answer, request = std::move(request)] {
          write_block(parts, request, answer);
        });
      },
      net::kLong);
}

}  // namespace sluice::noded
