#include "ctld/agents/node_links.hpp"

#include <fmt/format.h>

#include "common/log/log.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::ctld {

std::string agent_address(const Node& node) {
  const protocol::NodeAddress address = state::node_address(node);
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

NodeLinks::NodeLinks(std::shared_ptr<net::AuthProvider> auth, std::shared_ptr<net::TlsTrust> tls)
    : fanout_(net::Fanout::create(std::make_shared<net::NodeClients>(
          net::ClientOptions{.auth = std::move(auth), .tls = std::move(tls)}))) {}

void NodeLinks::send_bytes(const state::ClusterState& state, const Bitmap& nodes, Order order,
                           const Done& done) {
  net::FanoutRequest request;
  nodes.for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<uint32_t>(id));
    if (node != nullptr && node->config)
      request.targets.push_back({node->name, agent_address(*node)});
  });
  if (request.targets.empty()) return;
  request.method = order.method;
  request.payload = std::move(order.payload);
  request.tree_width = order.tree_width != 0 ? order.tree_width : state.config->tree_width;
  request.node_timeout = state.config->message_timeout;
  log::flag(log::DebugFlag::kAgent, "{} goes to {} nodes, {} bytes",
            net::short_method_name(request.method), request.targets.size(), request.payload.size());
  fanout_->send(std::move(request), [done](const net::FanoutReply& reply) {
    if (done) done(reply.results);
  });
}

}  // namespace sluice::ctld
