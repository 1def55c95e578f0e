// NodeName lines to nodes, and names of nodes to what they stand for.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/keys/conf_keys.hpp"

namespace sluice::tables {

// The nodes of one line, ranges expanded and counts derived; a port that the line does not give is
// 0. The error's text has no place in it.
[[nodiscard]] Result<std::vector<NodeConfig>> nodes_of_line(const NodeLine& line);

// GresTypes names all generic resources of the node.
[[nodiscard]] Status check_gres_types(const ClusterConfig& config, const NodeConfig& node);

// Names of nodes, and what Nodes= of partitions and sets means.
class NodeNames {
 public:
  // The configuration's nodes and sets must not change while this is used.
  explicit NodeNames(const ClusterConfig& config);

  [[nodiscard]] bool has_node(std::string_view name) const;
  // The nodes that a list of host lists, names of sets and ALL stands for, in cluster order. Names
  // of sets (and ALL) are added to `sets` when that is given.
  [[nodiscard]] Result<std::vector<std::string>> resolve(std::string_view text,
                                                         std::vector<std::string>* sets) const;
  // The nodes that have any of the features.
  [[nodiscard]] std::vector<std::string> with_features(
      const std::vector<std::string>& features) const;

 private:
  const ClusterConfig& config_;
  std::unordered_map<std::string_view, size_t> index_;
};

// Nodes have got features since the node sets were worked out: they are in the sets of these now,
// and in partitions of such sets.
void follow_features(ClusterConfig& config);

}  // namespace sluice::tables
