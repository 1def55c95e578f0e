// What the controller must learn: ends of steps, cleaned jobs and prologs. All of it goes through
// the tree, and is repeated until the controller has it on disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/node_reports.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/fanout.hpp"
#include "noded/reports/gatherer.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class Reporter {
 public:
  struct Handlers {
    // the own report of this step's end is safe
    std::function<void(const protocol::StepKey&)> on_taken;
    std::function<void()> on_kept;  // own ends of steps came that will be kept for a while
  };
  Reporter(NodeState& node, net::AsyncClient& controller,
           const std::shared_ptr<net::NodeClients>& nodes, Handlers handlers);

  // The end of this step is told to the node of this name; without a route, to the controller.
  void set_route(const protocol::StepKey& step, const std::string& parent);
  // The nodes of the job are the tree for what is told of it.
  void set_route(const JobRun& job, const std::string& node_list);
  void add(protocol::StepEnded report);
  void add(protocol::JobCleaned report);  // told when the ends of the job's steps are known
  void add(protocol::PrologEnded report);
  // Of nodes below this one; `answer` is called when they are safe.
  void add_gathered(std::vector<protocol::StepEnded> reports, std::function<void()> answer);
  void add_gathered(std::vector<protocol::JobCleaned> reports, std::function<void()> answer);
  void add_gathered(std::vector<protocol::PrologEnded> reports, std::function<void()> answer);
  // Nothing is sent before the first registration; it and every later one calls this.
  void resume();

 private:
  [[nodiscard]] bool holds_end_in(JobId job) const;
  void add_ready();

  NodeState& node_;
  Gatherer<protocol::StepEnded> steps_;
  Gatherer<protocol::JobCleaned> cleaned_;
  Gatherer<protocol::PrologEnded> prologs_;
  std::vector<protocol::JobCleaned> held_;  // until the ends of their steps are known
};

}  // namespace sluice::noded
