// One message to many nodes through a tree: each node handles it and passes it on to its part.
// A node that cannot be reached fails alone; its part is spread anew over the nodes below it.
// Delivery is at least once: a node whose parent died in the middle may get the message twice, so
// methods sent this way must be idempotent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/protocol/fanout.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/rpc_server.hpp"

namespace sluice::net {

using protocol::FanoutReply;
using protocol::FanoutRequest;
using protocol::FanoutResult;
using protocol::FanoutTarget;

// Splits `targets` into at most `width` runs of nearly equal length, in order; the first node of
// a run heads it. A width below 1 counts as 1.
[[nodiscard]] std::vector<std::span<const FanoutTarget>> split_tree(
    std::span<const FanoutTarget> targets, uint32_t width);

// How many levels a tree of `count` nodes has; 0 for none.
[[nodiscard]] uint32_t tree_depth(size_t count, uint32_t width);

// How long a part of the tree with that many levels may take. An hour at most: who sends may be a
// user, and what waits for an answer is kept meanwhile.
[[nodiscard]] Duration tree_timeout(Duration node_timeout, uint32_t levels);

// Connections to nodes, made on first use and kept; the longest unused go when there are many.
class NodeClients {
 public:
  // `common`: what all connections share; address and receiver are each node's own.
  explicit NodeClients(ClientOptions common, size_t most_connections = 1024);
  [[nodiscard]] std::shared_ptr<AsyncClient> get(const FanoutTarget& node);

 private:
  struct Entry {
    std::shared_ptr<AsyncClient> client;
    uint64_t used = 0;
  };
  const ClientOptions common_;
  size_t most_connections_;
  std::mutex mutex_;
  uint64_t clock_ = 0;
  std::unordered_map<std::string, Entry> entries_;  // by address and node
};

class Fanout : public std::enable_shared_from_this<Fanout> {
 public:
  using Done = std::function<void(FanoutReply)>;
  // Sends one request to one node; for tests. The default uses NodeClients.
  using Send = std::function<void(const FanoutTarget& node, const FanoutRequest&, Duration,
                                  std::function<void(Result<FanoutReply>)>)>;

  [[nodiscard]] static std::shared_ptr<Fanout> create(std::shared_ptr<NodeClients> clients);
  [[nodiscard]] static std::shared_ptr<Fanout> create(Send send);

  // Sends to all targets; `done` runs once, with a result for each.
  void send(FanoutRequest request, Done done);

  // Makes a node take part: `server` answers FanoutRequest by running the inner method itself and
  // passing the message on to the rest. Only root and SlurmUser may send.
  void serve(RpcServer& server);

 private:
  explicit Fanout(Send send) : send_(std::move(send)) {}
  struct Gather;
  void spread(const std::shared_ptr<Gather>& gather, std::vector<FanoutTarget> targets);
  void send_part(const std::shared_ptr<Gather>& gather, std::vector<FanoutTarget> part);
  Send send_;
};

}  // namespace sluice::net
