#include "ctld/agents/config_for_nodes.hpp"

namespace sluice::ctld {

void ConfigForNodes::use(const std::shared_ptr<const ClusterConfig>& config) {
  if (whole_ == config) return;
  whole_ = config;
  common_ = *config;
  common_.nodes.clear();
  common_.partitions.clear();
  by_name_.clear();
  by_host_.clear();
  for (size_t at = 0; at < config->nodes.size(); ++at) {
    const NodeConfig& node = config->nodes[at];
    by_name_.emplace(node.name, at);
    std::vector<size_t>& here = by_host_[node.hostname];
    if (here.size() < 2) here.push_back(at);
  }
}

ClusterConfig ConfigForNodes::of(const std::shared_ptr<const ClusterConfig>& config,
                                 const std::string& node) {
  const std::lock_guard lock(mutex_);
  use(config);
  ClusterConfig out = common_;
  const auto own = by_name_.find(node);
  if (own == by_name_.end()) return out;
  out.nodes.push_back(config->nodes[own->second]);
  for (const size_t other : by_host_[out.nodes.front().hostname]) {
    // names of files say which one it is then
    if (other != own->second && out.nodes.size() < 2) out.nodes.push_back(config->nodes[other]);
  }
  return out;
}

}  // namespace sluice::ctld
