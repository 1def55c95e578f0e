// Registration: again and again until the controller answers, and anew when asked. What the answer
// says (identity of the cluster, key, configuration, orphans) is taken over. While work runs here,
// an agent that nobody asks any more registers by itself: the cluster may have it no more.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "common/protocol/noded.hpp"
#include "common/rpc/async_client.hpp"
#include "noded/node/node_features.hpp"
#include "noded/node/node_state.hpp"
#include "noded/node/retry.hpp"
#include "noded/node/told_causes.hpp"

namespace sluice::noded {

class Registrar {
 public:
  struct Handlers {
    std::function<void(protocol::RegisterNodeRequest&)> fill;  // steps and jobs
    // or turned away: `removed`
    std::function<void(const protocol::RegisterNodeReply&)> on_registered;
    std::function<bool()> has_work;
  };
  Registrar(NodeState& node, net::AsyncClient& controller, NodeFeatures& features,
            Handlers handlers);

  // Registers now. While a registration is under way another follows it.
  void start();

 private:
  void send();
  void send(protocol::RegisterNodeRequest request);
  struct Asked {
    SteadyTime at;
    SteadyTime answered;
    std::optional<Duration> told;  // what the registration said of this host's clock
  };
  void compare_clocks(std::optional<Duration> told);
  void failed(const Error& error);
  void registered(protocol::RegisterNodeReply reply, const Asked& asked);
  Status take_key(const protocol::RegisterNodeReply& reply);
  void keep_identity();
  void follow_hosts();
  void watch_silence();

  NodeState& node_;
  net::AsyncClient& controller_;
  NodeFeatures& features_;
  Handlers handlers_;
  std::vector<std::string> first_addresses_;  // of the controller, as this agent's start had them
  Retry retry_;
  ToldCauses told_;  // since it registered last
  boost::asio::steady_timer silence_;
  boost::asio::steady_timer clock_;  // while this host's is too wrong
  std::string last_difference_;      // that was noted
  bool busy_ = false;
  bool again_ = false;
};

// The cluster id that the spool remembers; empty when there is none.
[[nodiscard]] std::string read_cluster_id(const std::string& spool_dir);
// Of this very folder, made where there is none yet; empty: it cannot be written.
[[nodiscard]] std::string spool_id(const std::string& spool_dir);
// Likewise the cluster's public key, in hexadecimal digits.
[[nodiscard]] std::string read_credential_key(const std::string& spool_dir);
[[nodiscard]] Status write_cluster_id(const std::string& spool_dir, const std::string& id);

}  // namespace sluice::noded
