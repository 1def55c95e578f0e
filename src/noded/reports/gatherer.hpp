// Reports on their way to the controller: ends of steps, cleaned jobs, ends of prologs. Nodes of a
// wide step or job report to another node of it (a tree of TreeWidth), which passes on what it
// gathered as one report; a parent that does not answer is left out. Each way carries one call at a
// time, so reports that come meanwhile are joined.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/node_reports.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/fanout.hpp"
#include "noded/node/node_state.hpp"
#include "noded/node/recent_map.hpp"
#include "noded/node/retry.hpp"
#include "noded/node/told_causes.hpp"

namespace sluice::noded {

using JobRun = std::pair<JobId, uint32_t>;  // job, restart

// What all nodes of one tree report about, and what carries the reports.
template <class Report>
struct ReportKind;
template <>
struct ReportKind<protocol::StepEnded> {
  using Key = protocol::StepKey;
  using Request = protocol::ReportStepsRequest;
  static Key key(const protocol::StepEnded& report) { return report.key; }
};
template <>
struct ReportKind<protocol::JobCleaned> {
  using Key = JobRun;
  using Request = protocol::ReportCleanedRequest;
  static Key key(const protocol::JobCleaned& report) { return {report.job, report.restart}; }
};
template <>
struct ReportKind<protocol::PrologEnded> {
  using Key = JobRun;
  using Request = protocol::ReportPrologsRequest;
  static Key key(const protocol::PrologEnded& report) { return {report.job, report.restart}; }
};

template <class Report>
class Gatherer {
 public:
  using Key = typename ReportKind<Report>::Key;
  struct Handlers {                            // each may be empty
    std::function<void(const Key&)> on_taken;  // an own report is safe
    std::function<void()> on_progress;         // something left a queue
    std::function<void()> on_kept;             // own reports came that will be kept for a while
  };
  Gatherer(NodeState& node, net::AsyncClient& controller, std::shared_ptr<net::NodeClients> nodes,
           Handlers handlers);

  // Reports about this go to `node`; without a route, to the controller.
  void set_route(const Key& key, net::FanoutTarget node);
  void add(std::vector<Report> reports);
  // Of nodes below this one; `answer` is called when they are safe.
  void add_gathered(std::vector<Report> reports, std::function<void()> answer);
  // An own or gathered one that is not safe yet.
  [[nodiscard]] bool holds(const std::function<bool(const Report&)>& which) const;
  // Nothing is sent before the first registration; it and every later one calls this.
  void resume();

 private:
  struct Gathered {  // one request of a node below this one
    size_t left = 0;
    std::function<void()> answer;
  };
  struct Pending {
    Report report;
    std::shared_ptr<Gathered> gathered;  // null: our own
    bool kept = false;                   // on_kept was called for it
  };
  struct Way {
    explicit Way(boost::asio::io_context& io) : retry(io) {}
    std::vector<Pending> queue;
    size_t sending = 0;  // of the front
    Retry retry;
    ToldCauses told;  // since a report was taken
  };
  Way& way_to(const net::FanoutTarget& receiver);
  void add(std::vector<Report> reports, const std::shared_ptr<Gathered>& gathered);
  net::FanoutTarget put(Pending pending);  // into the queue of its way, whose receiver it gives
  void send(const net::FanoutTarget& receiver);
  void sent(const net::FanoutTarget& receiver, const Error& error);
  void taken(Way& way);

  NodeState& node_;
  net::AsyncClient& controller_;
  std::shared_ptr<net::NodeClients> nodes_;
  Handlers handlers_;
  RecentMap<Key, net::FanoutTarget> routes_;  // nodes below this one may report later than it does
  // by receiver; without a name: the controller
  std::map<net::FanoutTarget, std::unique_ptr<Way>> ways_;
};
extern template class Gatherer<protocol::StepEnded>;
extern template class Gatherer<protocol::JobCleaned>;
extern template class Gatherer<protocol::PrologEnded>;

// Joins reports about one step or job that say the same but for their nodes; of a step also those
// that differ in exit status (the worst is kept) and usage (added up).
[[nodiscard]] std::vector<protocol::StepEnded> join_reports(
    std::vector<protocol::StepEnded> reports);
[[nodiscard]] std::vector<protocol::JobCleaned> join_reports(
    std::vector<protocol::JobCleaned> reports);
[[nodiscard]] std::vector<protocol::PrologEnded> join_reports(
    std::vector<protocol::PrologEnded> reports);

// Which position of a step's layout `index` reports to in a tree of `width`; UINT32_MAX: to the
// controller.
[[nodiscard]] uint32_t parent_position(uint32_t index, uint32_t width);

}  // namespace sluice::noded
