// What the agent answers over the network. Every handler posts to the agent's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/rpc/fanout.hpp"
#include "common/rpc/rpc_server.hpp"
#include "noded/broadcasts.hpp"
#include "noded/node/health_check.hpp"
#include "noded/jobs/jobs.hpp"
#include "noded/node/node_state.hpp"
#include "noded/node/reboot.hpp"
#include "noded/node/registrar.hpp"
#include "noded/reports/reporter.hpp"
#include "noded/steps/steps.hpp"

namespace sluice::noded {

struct RequestParts {  // all outlive the server
  NodeState& node;
  Steps& steps;
  Jobs& jobs;
  Registrar& registrar;
  Reporter& reporter;
  HealthCheck& health;
  Reboot& reboot;
  std::function<void()> end_process;
  uint32_t slurmd_user = 0;  // uid of SlurmdUser
  Broadcasts& broadcasts;
  std::shared_ptr<net::Fanout> fanout;
};

void add_requests(net::RpcServer& server, RequestParts& parts);
// Those of sbcast.
void add_broadcast_requests(net::RpcServer& server, RequestParts& parts);

// Where a block goes: all nodes of the ticket, or those of them that are named. kBadRequest: more
// are named than it has.
[[nodiscard]] Result<std::vector<net::FanoutTarget>> block_targets(
    const std::vector<protocol::NodeAddress>& nodes, const std::vector<std::string>& only);

// `scontrol show slurmd`
[[nodiscard]] std::vector<std::string> describe_agent(
    const NodeState& node, const Steps& steps, std::optional<uint32_t> only_of = std::nullopt);

}  // namespace sluice::noded
