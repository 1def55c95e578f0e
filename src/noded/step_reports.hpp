// The ends of steps on their way to the controller. Nodes of a wide step report to another node of
// it (a tree of TreeWidth), which passes on what it gathered as one report; a parent that does not
// answer is left out. Each way carries one call at a time, so reports that come meanwhile are
// joined.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/noded.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/fanout.hpp"
#include "noded/node_state.hpp"
#include "noded/retry.hpp"

namespace sluice::noded {

class StepReports {
 public:
  struct Handlers {
    std::function<void(const protocol::StepKey&)> on_taken;  // an own report is safe
    std::function<void()> on_progress;                       // something left a queue
    std::function<void()> on_kept;  // own reports came that will be kept for a while
  };
  StepReports(NodeState& node,
              net::AsyncClient& controller,
              std::shared_ptr<net::NodeClients> nodes,
              Handlers handlers);

  // Reports of this step go to `node`; without a route, to the controller.
  void set_route(const protocol::StepKey& key, net::FanoutTarget node);
  void add(protocol::StepEnded report);
  // Of nodes below this one; `answer` is called when they are safe.
  void add_gathered(std::vector<protocol::StepEnded> reports, std::function<void()> answer);
  [[nodiscard]] bool holds_any_of(JobId job) const;
  // Nothing is sent before the first registration; it and every later one calls this.
  void resume();

 private:
  struct Gathered {  // one request of a node below this one
    size_t left = 0;
    std::function<void()> answer;
  };
  struct Pending {
    protocol::StepEnded report;
    std::shared_ptr<Gathered> gathered;  // null: our own
    bool kept = false;                   // on_kept was called for it
  };
  struct Way {
    explicit Way(boost::asio::io_context& io) : retry(io) {}
    std::vector<Pending> queue;
    size_t sending = 0;  // of the front
    Retry retry;
  };
  Way& way_to(const net::FanoutTarget& receiver);
  net::FanoutTarget put(Pending pending);  // into the queue of its way, whose receiver it gives
  void send(const net::FanoutTarget& receiver);
  void sent(const net::FanoutTarget& receiver, const Error& error);
  void taken(Way& way);

  NodeState& node_;
  net::AsyncClient& controller_;
  std::shared_ptr<net::NodeClients> nodes_;
  Handlers handlers_;
  std::map<protocol::StepKey, net::FanoutTarget> routes_;
  std::map<net::FanoutTarget, std::unique_ptr<Way>> ways_;  // by receiver; without a name: the controller
};

// Joins reports of one step that say the same but for their nodes, exit status (the worst is kept)
// and usage (added up).
[[nodiscard]] std::vector<protocol::StepEnded> join_reports(
    std::vector<protocol::StepEnded> reports);

// Which position of a step's layout `index` reports to in a tree of `width`; UINT32_MAX: to the
// controller.
[[nodiscard]] uint32_t parent_position(uint32_t index, uint32_t width);

}  // namespace sluice::noded
