#include "noded/step_reports.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/wait_status.hpp"
#include "common/log/log.hpp"
#include "common/protocol/ctld.hpp"
#include "common/tables/errors.hpp"

namespace sluice::noded {
namespace {

constexpr Duration kCallTime = std::chrono::seconds(20);
constexpr size_t kMostInOneCall = 500;
const net::FanoutTarget kToController{};

bool can_join(const protocol::StepEnded& a, const protocol::StepEnded& b) {
  return a.key == b.key && a.out_of_memory == b.out_of_memory && a.failure == b.failure &&
         a.users_error == b.users_error && a.drain_node == b.drain_node && a.node_clean == b.node_clean &&
         a.happened == b.happened && a.srun_ended == b.srun_ended;
}

void join_into(protocol::StepEnded& sum, const protocol::StepEnded& more) {
  sum.nodes += "," + more.nodes;
  sum.exit_status = worse_of_reports(sum.exit_status, more.exit_status);
  sum.usage.user_cpu += more.usage.user_cpu;
  sum.usage.system_cpu += more.usage.system_cpu;
  sum.usage.max_rss_kib = std::max(sum.usage.max_rss_kib, more.usage.max_rss_kib);
  sum.usage.max_vsize_kib = std::max(sum.usage.max_vsize_kib, more.usage.max_vsize_kib);
  sum.usage.read_bytes += more.usage.read_bytes;
  sum.usage.write_bytes += more.usage.write_bytes;
}

}  // namespace

std::vector<protocol::StepEnded> join_reports(std::vector<protocol::StepEnded> reports) {
  std::vector<protocol::StepEnded> joined;
  for (protocol::StepEnded& report : reports) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const auto& other) { return can_join(other, report); });
    if (same == joined.end())
      joined.push_back(std::move(report));
    else
      join_into(*same, report);
  }
  for (protocol::StepEnded& report : joined) {
    if (report.nodes.find(',') == std::string::npos) continue;
    if (auto names = expand_hosts(report.nodes)) {
      sort_hosts(*names);
      report.nodes = fold_hosts(*names);
    }
  }
  return joined;
}

uint32_t parent_position(uint32_t index, uint32_t width) {
  width = std::max(width, 1U);
  return index < width ? UINT32_MAX : index / width - 1;
}

StepReports::StepReports(NodeState& node,
                         net::AsyncClient& controller,
                         std::shared_ptr<net::NodeClients> nodes,
                         Handlers handlers)
    : node_(node),
      controller_(controller),
      nodes_(std::move(nodes)),
      handlers_(std::move(handlers)) {}

void StepReports::set_route(const protocol::StepKey& key, net::FanoutTarget node) {
  routes_[key] = std::move(node);
}

StepReports::Way& StepReports::way_to(const net::FanoutTarget& receiver) {
  auto& way = ways_[receiver];
  if (way == nullptr) way = std::make_unique<Way>(node_.io);
  return *way;
}

net::FanoutTarget StepReports::put(Pending pending) {
  const auto route = routes_.find(pending.report.key);
  net::FanoutTarget receiver = route == routes_.end() ? kToController : route->second;
  way_to(receiver).queue.push_back(std::move(pending));
  return receiver;
}

void StepReports::add(protocol::StepEnded report) {
  send(put({std::move(report), nullptr, false}));
}

void StepReports::add_gathered(std::vector<protocol::StepEnded> reports,
                               std::function<void()> answer) {
  if (reports.empty()) return answer();
  const auto gathered = std::make_shared<Gathered>(Gathered{reports.size(), std::move(answer)});
  std::set<net::FanoutTarget> receivers;  // all are queued before the first is sent: they travel together
  for (protocol::StepEnded& report : reports)
    receivers.insert(put({std::move(report), gathered, false}));
  for (const net::FanoutTarget& receiver : receivers)
    send(receiver);
}

bool StepReports::holds_any_of(JobId job) const {
  return std::any_of(ways_.begin(), ways_.end(), [job](const auto& way) {
    return std::any_of(way.second->queue.begin(), way.second->queue.end(),
                       [job](const Pending& pending) { return pending.report.key.id.job == job; });
  });
}

void StepReports::resume() {
  for (const auto& [receiver, way] : ways_) {
    way->retry.cut_short();
    send(receiver);
  }
}

void StepReports::send(const net::FanoutTarget& receiver) {
  Way& way = way_to(receiver);
  if (way.sending > 0 || way.retry.waiting() || way.queue.empty() || !node_.verifier) return;
  way.sending = std::min(way.queue.size(), kMostInOneCall);
  std::vector<protocol::StepEnded> reports;
  for (size_t i = 0; i < way.sending; ++i)
    reports.push_back(way.queue[i].report);
  const protocol::ReportStepsRequest request{node_.cluster_id, join_reports(std::move(reports)), now()};
  const auto done = [this, mailbox = node_.mailbox, receiver](const Result<protocol::Empty>& reply) {
    mailbox->post([this, receiver, error = reply ? Error{ErrorCode::kOk, {}} : reply.error()] {
      sent(receiver, error);
    });
  };
  if (receiver == kToController)
    controller_.call<protocol::Empty>(request, kCallTime, done);
  else
    nodes_->get(receiver)->call<protocol::Empty>(request, kCallTime, done);
}

void StepReports::sent(const net::FanoutTarget& receiver, const Error& error) {
  Way& way = way_to(receiver);
  if (error.code == ErrorCode::kOk) {
    way.retry.succeeded();
    taken(way);
    send(receiver);
    return handlers_.on_progress();
  }
  log::error("{} did not take a report: {}", receiver == kToController ? net::kController : receiver.node,
             error_text(error));
  way.sending = 0;
  if (receiver != kToController) {
    // round the dead node, straight to the controller
    for (Pending& pending : std::exchange(way.queue, {})) {
      routes_.erase(pending.report.key);
      put(std::move(pending));
    }
    return send(kToController);
  }
  bool more = false;
  for (Pending& pending : way.queue) more = (!std::exchange(pending.kept, true) && !pending.gathered) || more;
  if (more) handlers_.on_kept();
  way.retry.later([this] { send(kToController); });
}

void StepReports::taken(Way& way) {
  std::vector<Pending> done(
      std::make_move_iterator(way.queue.begin()),
      std::make_move_iterator(way.queue.begin() + static_cast<std::ptrdiff_t>(way.sending)));
  way.queue.erase(way.queue.begin(), way.queue.begin() + static_cast<std::ptrdiff_t>(way.sending));
  way.sending = 0;
  for (const Pending& pending : done) {
    if (pending.gathered) {
      if (--pending.gathered->left == 0) pending.gathered->answer();
      continue;
    }
    routes_.erase(pending.report.key);
    handlers_.on_taken(pending.report.key);
  }
}

}  // namespace sluice::noded
