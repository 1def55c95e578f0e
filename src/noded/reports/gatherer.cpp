#include "noded/reports/gatherer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/os/clock.hpp"
#include "common/os/wait_status.hpp"
#include "common/log/log.hpp"
#include "common/protocol/ctld.hpp"
#include "common/names/errors.hpp"

namespace sluice::noded {
namespace {

constexpr Duration kCallTime = std::chrono::seconds(20);
constexpr size_t kMostInOneCall = 500;
constexpr size_t kRememberedRoutes = 10000;
const net::FanoutTarget kToController{};

// When it happened has to be the same for what drains nodes only.
bool can_join(const protocol::StepEnded& a, const protocol::StepEnded& b) {
  return a.key == b.key && a.out_of_memory == b.out_of_memory && a.failure == b.failure &&
         a.users_error == b.users_error && a.drain_node == b.drain_node &&
         a.node_clean == b.node_clean && (!a.drain_node || a.happened == b.happened) &&
         a.srun_ended == b.srun_ended;
}

void join_into(protocol::StepEnded& sum, const protocol::StepEnded& more) {
  sum.exit_status = worse_of_reports(sum.exit_status, more.exit_status);
  const bool known = sum.happened != kNoTime && more.happened != kNoTime;
  sum.happened = known ? std::max(sum.happened, more.happened) : kNoTime;
  sum.usage.user_cpu += more.usage.user_cpu;
  sum.usage.system_cpu += more.usage.system_cpu;
  sum.usage.max_rss_kib = std::max(sum.usage.max_rss_kib, more.usage.max_rss_kib);
  sum.usage.max_vsize_kib = std::max(sum.usage.max_vsize_kib, more.usage.max_vsize_kib);
  sum.usage.read_bytes += more.usage.read_bytes;
  sum.usage.write_bytes += more.usage.write_bytes;
  if (more.usage.measured == nullptr) return;
  const UsageHistory before = sum.usage.measured ? *sum.usage.measured : UsageHistory();
  sum.usage.measured =
      std::make_shared<const UsageHistory>(sluice::sum_of(before, *more.usage.measured));
}

bool can_join(const protocol::JobCleaned& a, const protocol::JobCleaned& b) {
  const bool drains = a.epilog_status != 0 || a.kill_failed;
  return a.job == b.job && a.restart == b.restart && a.epilog_status == b.epilog_status &&
         a.kill_failed == b.kill_failed && (!drains || a.happened == b.happened);
}
void join_into(protocol::JobCleaned&, const protocol::JobCleaned&) {}

bool can_join(const protocol::PrologEnded& a, const protocol::PrologEnded& b) {
  return a.job == b.job && a.restart == b.restart && a.status == b.status &&
         (a.status == 0 || a.happened == b.happened);
}
void join_into(protocol::PrologEnded&, const protocol::PrologEnded&) {}

template <class Report>
std::vector<Report> join_all(std::vector<Report> reports) {
  std::vector<Report> joined;
  for (Report& report : reports) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const Report& other) { return can_join(other, report); });
    if (same == joined.end()) {
      joined.push_back(std::move(report));
      continue;
    }
    same->nodes += "," + report.nodes;
    join_into(*same, report);
  }
  for (Report& report : joined) {
    if (report.nodes.find(',') == std::string::npos) continue;
    if (auto names = expand_hosts(report.nodes)) {
      sort_hosts(*names);
      report.nodes = fold_hosts(*names);
    }
  }
  return joined;
}

}  // namespace

std::vector<protocol::StepEnded> join_reports(std::vector<protocol::StepEnded> reports) {
  return join_all(std::move(reports));
}
std::vector<protocol::JobCleaned> join_reports(std::vector<protocol::JobCleaned> reports) {
  return join_all(std::move(reports));
}
std::vector<protocol::PrologEnded> join_reports(std::vector<protocol::PrologEnded> reports) {
  return join_all(std::move(reports));
}

uint32_t parent_position(uint32_t index, uint32_t width) {
  width = std::max(width, 1U);
  return index < width ? UINT32_MAX : index / width - 1;
}

template <class Report>
Gatherer<Report>::Gatherer(NodeState& node, net::AsyncClient& controller,
                           std::shared_ptr<net::NodeClients> nodes, Handlers handlers)
    : node_(node),
      controller_(controller),
      nodes_(std::move(nodes)),
      handlers_(std::move(handlers)),
      routes_(kRememberedRoutes) {}

template <class Report>
void Gatherer<Report>::set_route(const Key& key, net::FanoutTarget node) {
  routes_.put(key, std::move(node));
}

template <class Report>
typename Gatherer<Report>::Way& Gatherer<Report>::way_to(const net::FanoutTarget& receiver) {
  auto& way = ways_[receiver];
  if (way == nullptr) way = std::make_unique<Way>(node_.io);
  return *way;
}

template <class Report>
net::FanoutTarget Gatherer<Report>::put(Pending pending) {
  const net::FanoutTarget* route = routes_.find(ReportKind<Report>::key(pending.report));
  net::FanoutTarget receiver = route == nullptr ? kToController : *route;
  way_to(receiver).queue.push_back(std::move(pending));
  return receiver;
}

template <class Report>
void Gatherer<Report>::add(std::vector<Report> reports) {
  add(std::move(reports), nullptr);
}

template <class Report>
void Gatherer<Report>::add_gathered(std::vector<Report> reports, std::function<void()> answer) {
  if (reports.empty()) return answer();
  const auto gathered = std::make_shared<Gathered>(Gathered{reports.size(), std::move(answer)});
  add(std::move(reports), gathered);
}

template <class Report>
void Gatherer<Report>::add(std::vector<Report> reports, const std::shared_ptr<Gathered>& gathered) {
  // all are queued before the first is sent: they travel together
  std::set<net::FanoutTarget> receivers;
  for (Report& report : reports) receivers.insert(put({std::move(report), gathered, false}));
  for (const net::FanoutTarget& receiver : receivers) send(receiver);
}

template <class Report>
bool Gatherer<Report>::holds(const std::function<bool(const Report&)>& which) const {
  return std::any_of(ways_.begin(), ways_.end(), [&which](const auto& way) {
    return std::any_of(way.second->queue.begin(), way.second->queue.end(),
                       [&which](const Pending& pending) { return which(pending.report); });
  });
}

template <class Report>
void Gatherer<Report>::resume() {
  for (const auto& [receiver, way] : ways_) {
    way->retry.cut_short();
    send(receiver);
  }
}

template <class Report>
void Gatherer<Report>::send(const net::FanoutTarget& receiver) {
  Way& way = way_to(receiver);
  if (way.sending > 0 || way.retry.waiting() || way.queue.empty() || !node_.verifier) return;
  way.sending = std::min(way.queue.size(), kMostInOneCall);
  std::vector<Report> reports;
  for (size_t i = 0; i < way.sending; ++i) reports.push_back(way.queue[i].report);
  // The controller may read it much later (it hangs, or stands still): it gets times of its own
  // clock, which are not counted from when it reads them.
  Time sent_at = now();
  const auto ahead = node_.controller_clock.ahead(sent_at, net::steady_now());
  if (receiver == kToController && ahead) {
    for (Report& report : reports) {
      if (report.happened != kNoTime) report.happened -= *ahead;
    }
    sent_at = kNoTime;
  }
  const typename ReportKind<Report>::Request request{node_.cluster_id,
                                                     join_reports(std::move(reports)), sent_at};
  const auto done = [this, mailbox = node_.mailbox,
                     receiver](const Result<protocol::Empty>& reply) {
    mailbox->post([this, receiver, error = reply ? Error{ErrorCode::kOk, {}} : reply.error()] {
      sent(receiver, error);
    });
  };
  if (receiver == kToController) controller_.call<protocol::Empty>(request, kCallTime, done);
  else nodes_->get(receiver)->template call<protocol::Empty>(request, kCallTime, done);
}

template <class Report>
void Gatherer<Report>::sent(const net::FanoutTarget& receiver, const Error& error) {
  Way& way = way_to(receiver);
  if (error.code == ErrorCode::kOk) {
    way.retry.succeeded();
    way.told.clear();
    taken(way);
    send(receiver);
    if (handlers_.on_progress) handlers_.on_progress();
    return;
  }
  if (way.told.is_due(error, net::steady_now()))
    log::error("{} did not take a report: {}",
               receiver == kToController ? net::kController : receiver.node, error_text(error));
  way.sending = 0;
  if (receiver != kToController) {
    // round the dead node, straight to the controller
    for (Pending& pending : std::exchange(way.queue, {})) {
      routes_.erase(ReportKind<Report>::key(pending.report));
      way_to(kToController).queue.push_back(std::move(pending));
    }
    return send(kToController);
  }
  bool more = false;
  for (Pending& pending : way.queue)
    more = (!std::exchange(pending.kept, true) && !pending.gathered) || more;
  if (more && handlers_.on_kept) handlers_.on_kept();
  way.retry.later([this] { send(kToController); });
}

template <class Report>
void Gatherer<Report>::taken(Way& way) {
  std::vector<Pending> done(
      std::make_move_iterator(way.queue.begin()),
      std::make_move_iterator(way.queue.begin() + static_cast<std::ptrdiff_t>(way.sending)));
  way.queue.erase(way.queue.begin(), way.queue.begin() + static_cast<std::ptrdiff_t>(way.sending));
  way.sending = 0;
  for (const Pending& pending : done) {
    if (!pending.gathered) {
      if (handlers_.on_taken) handlers_.on_taken(ReportKind<Report>::key(pending.report));
    } else if (--pending.gathered->left == 0) {
      pending.gathered->answer();
    }
  }
}

template class Gatherer<protocol::StepEnded>;
template class Gatherer<protocol::JobCleaned>;
template class Gatherer<protocol::PrologEnded>;

}  // namespace sluice::noded
