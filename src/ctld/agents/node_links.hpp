// Orders to nodes: they go through the tree, signed where they start something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/auth/auth.hpp"
#include "common/rpc/fanout.hpp"
#include "common/wire/instances.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::ctld {

class NodeLinks {
 public:
  using Done = std::function<void(const std::vector<net::FanoutResult>&)>;

  NodeLinks(std::shared_ptr<net::AuthProvider> auth, std::shared_ptr<net::TlsTrust> tls);

  // Sends the same request to all nodes; `done` (may be empty) gets a result for each. `tree_width`
  // 0: TreeWidth.
  template <class Request>
  void send(const state::ClusterState& state, const Bitmap& nodes, const Request& request,
            const Done& done, uint32_t tree_width = 0) {
    send_bytes(state, nodes, {net::method_name<Request>(), wire::encode(request), tree_width},
               done);
  }

 private:
  struct Order {
    std::string_view method;
    std::string payload;
    uint32_t tree_width = 0;
  };
  void send_bytes(const state::ClusterState& state, const Bitmap& nodes, Order order,
                  const Done& done);

  std::shared_ptr<net::Fanout> fanout_;
};

// "host:port" of a node's agent, as registered or configured.
[[nodiscard]] std::string agent_address(const Node& node);

}  // namespace sluice::ctld
