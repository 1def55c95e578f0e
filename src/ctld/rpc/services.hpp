// The controller's methods, by who calls them. Handlers run on the server's threads: queries answer
// from the newest durable snapshot, changes become commands and are answered by the publisher.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/thread_pool.hpp>

#include "common/net/signer.hpp"
#include "common/rpc/rpc_server.hpp"
#include "ctld/agents/liveness.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/engine/scheduler_loop.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/rpc/users.hpp"
#include "ctld/rpc/watches.hpp"

namespace sluice::ctld {

// What the handlers work with; all outlive the server.
struct ServiceParts {
  engine::Engine& engine;
  const engine::Publisher& publisher;
  const engine::SchedulerLoop& scheduler;
  journal::JournalReader& store;
  const net::CredentialSigner& signer;
  NodeLinks& links;
  Liveness& liveness;
  Watches& watches;
  Users& users;
  engine::Clock clock;
  Time boot_time = kNoTime;
  std::string host;
  std::function<Status()> reconfigure;  // reads the configuration again
  std::function<void(bool controller_only)> shutdown;
  boost::asio::thread_pool& slow_questions;  // one thread, for what takes long to answer
};

void add_submit_methods(net::RpcServer& server, ServiceParts& parts);  // SubmitJob, CreateStep, WatchJob …
void add_change_methods(net::RpcServer& server, ServiceParts& parts);  // Signal, JobAction, Update…
void add_query_methods(net::RpcServer& server, ServiceParts& parts);   // Query…, Ping, Explain …
void add_node_methods(net::RpcServer& server, ServiceParts& parts);    // RegisterNode, Report…
void add_usage_methods(net::RpcServer& server, ServiceParts& parts);   // QueryUsage
void add_broadcast_methods(net::RpcServer& server, ServiceParts& parts);  // BroadcastTicket

// --- helpers of the handlers ---------------------------------------------------------------------

[[nodiscard]] inline state::Identity identity_of(const net::CallContext& context) {
  return {context.identity.uid, context.identity.gid};
}
// Answers `responder` with what `make` makes of the core's reply, once that is durable.
template <class Reply, class Make>
[[nodiscard]] engine::Done answer(net::Responder<Reply> responder, Make make) {
  auto shared = std::make_shared<net::Responder<Reply>>(std::move(responder));
  return [shared, make](const Result<state::Reply>& reply, const state::ClusterSnapshot& after) {
    if (!reply) return shared->fail(reply.error());
    shared->complete(make(*reply, *after));
  };
}
[[nodiscard]] inline engine::Done answer_empty(net::Responder<protocol::Empty> responder) {
  return answer(std::move(responder),
                [](const state::Reply&, const state::ClusterState&) -> Result<protocol::Empty> { return protocol::Empty{}; });
}
[[nodiscard]] inline engine::Done answer_count(net::Responder<protocol::CountReply> responder) {
  return answer(std::move(responder),
                [](const state::Reply& reply, const state::ClusterState&) -> Result<protocol::CountReply> {
                  const auto* count = std::get_if<protocol::CountReply>(&reply);
                  return count != nullptr ? *count : protocol::CountReply{};
                });
}

}  // namespace sluice::ctld
