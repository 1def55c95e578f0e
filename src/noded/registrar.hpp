// Registration: again and again until the controller answers, and anew when asked. What the answer
// says (identity of the cluster, key, configuration, orphans) is taken over.
#pragma once

#include <functional>


#include "common/protocol/noded.hpp"
#include "common/rpc/async_client.hpp"
#include "noded/node_features.hpp"
#include "noded/node_state.hpp"
#include "noded/retry.hpp"

namespace sluice::noded {

class Registrar {
 public:
  struct Handlers {
    std::function<void(protocol::RegisterNodeRequest&)> fill;  // steps and jobs
    std::function<void(const protocol::RegisterNodeReply&)> on_registered;
  };
  Registrar(NodeState& node, net::AsyncClient& controller, NodeFeatures& features, Handlers handlers);

  // Registers now. While a registration is under way another follows it.
  void start();

 private:
  void send();
  void send(protocol::RegisterNodeRequest request);
  void failed(const Error& error);
  void registered(protocol::RegisterNodeReply reply);

  NodeState& node_;
  net::AsyncClient& controller_;
  NodeFeatures& features_;
  Handlers handlers_;
  Retry retry_;
  bool busy_ = false;
  bool again_ = false;
};

// The cluster id that the spool remembers; empty when there is none.
[[nodiscard]] std::string read_cluster_id(const std::string& spool_dir);
[[nodiscard]] Status write_cluster_id(const std::string& spool_dir, const std::string& id);

}  // namespace sluice::noded
