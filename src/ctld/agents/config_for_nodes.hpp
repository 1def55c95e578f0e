// What of the configuration a node needs that registers: all but the lines of nodes and partitions
// that are not its own. The whole to each of N nodes would be N² lines.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// Any thread. What is the same for all nodes is kept until the configuration is another one.
class ConfigForNodes {
 public:
  // With the node's line, and that of one other node of its host, where there are more; none: it
  // has no line.
  [[nodiscard]] ClusterConfig of(const std::shared_ptr<const ClusterConfig>& config,
                                 const std::string& node);

 private:
  void use(const std::shared_ptr<const ClusterConfig>& config);

  std::mutex mutex_;
  std::shared_ptr<const ClusterConfig> whole_;  // these are guarded by mutex_
  ClusterConfig common_;
  std::unordered_map<std::string, size_t> by_name_;               // in whole_'s nodes
  std::unordered_map<std::string, std::vector<size_t>> by_host_;  // the first two of each host
};

}  // namespace sluice::ctld
