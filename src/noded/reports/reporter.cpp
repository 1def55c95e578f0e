#include "noded/reports/reporter.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"

namespace sluice::noded {
namespace {

std::optional<net::FanoutTarget> target_of(const ClusterConfig& config, const std::string& name) {
  const NodeConfig* node = find_node_config(config, name);
  if (node == nullptr) return std::nullopt;
  return net::FanoutTarget{node->name, fmt::format("{}:{}", node->address, node->port)};
}

}  // namespace

Reporter::Reporter(NodeState& node, net::AsyncClient& controller,
                   const std::shared_ptr<net::NodeClients>& nodes, Handlers handlers)
    : node_(node),
      steps_(node, controller, nodes,
             {std::move(handlers.on_taken), [this] { add_ready(); }, std::move(handlers.on_kept)}),
      cleaned_(node, controller, nodes, {}),
      prologs_(node, controller, nodes, {}) {}

void Reporter::set_route(const protocol::StepKey& step, const std::string& parent) {
  if (auto target = target_of(*node_.config, parent)) steps_.set_route(step, std::move(*target));
}

void Reporter::set_route(const JobRun& job, const std::string& node_list) {
  const auto names = expand_hosts(node_list);
  if (!names) return;
  const auto here = std::find(names->begin(), names->end(), node_.name);
  if (here == names->end()) return;
  const uint32_t parent =
      parent_position(static_cast<uint32_t>(here - names->begin()), node_.config->tree_width);
  if (parent == UINT32_MAX) return;
  const auto target = target_of(*node_.config, (*names)[parent]);
  if (!target) return;
  cleaned_.set_route(job, *target);
  prologs_.set_route(job, *target);
}

void Reporter::add(protocol::StepEnded report) { steps_.add({std::move(report)}); }

void Reporter::add(protocol::JobCleaned report) {
  if (holds_end_in(report.job)) held_.push_back(std::move(report));
  else cleaned_.add({std::move(report)});
}

void Reporter::add(protocol::PrologEnded report) { prologs_.add({std::move(report)}); }

void Reporter::add_gathered(std::vector<protocol::StepEnded> reports,
                            std::function<void()> answer) {
  steps_.add_gathered(std::move(reports), std::move(answer));
}
// Who sent them has told the ends before.
void Reporter::add_gathered(std::vector<protocol::JobCleaned> reports,
                            std::function<void()> answer) {
  cleaned_.add_gathered(std::move(reports), std::move(answer));
}
void Reporter::add_gathered(std::vector<protocol::PrologEnded> reports,
                            std::function<void()> answer) {
  prologs_.add_gathered(std::move(reports), std::move(answer));
}

void Reporter::resume() {
  steps_.resume();
  cleaned_.resume();
  prologs_.resume();
}

bool Reporter::holds_end_in(JobId job) const {
  return steps_.holds(
      [job](const protocol::StepEnded& report) { return report.key.id.job == job; });
}

void Reporter::add_ready() {
  const auto ready = std::stable_partition(
      held_.begin(), held_.end(),
      [this](const protocol::JobCleaned& report) { return holds_end_in(report.job); });
  if (ready == held_.end()) return;
  std::vector<protocol::JobCleaned> reports(std::make_move_iterator(ready),
                                            std::make_move_iterator(held_.end()));
  held_.erase(ready, held_.end());
  cleaned_.add(std::move(reports));
}

}  // namespace sluice::noded
