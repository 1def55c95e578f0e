// What sinfo, scontrol and others ask the controller about nodes and partitions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/gres.hpp"
#include "common/model/node.hpp"
#include "common/model/partition_config.hpp"

namespace sluice::protocol {

struct QueryNodesRequest {
  static constexpr std::string_view kMethod = "Controller/QueryNodes";
  using Reply = struct QueryNodesReply;
  std::string nodes;  // host list; empty: all
  // What the answer is for: with PrivateData the other part may be missing from it.
  bool nodes_only = false;
  bool partitions_only = false;
  // -a: those that the user is not shown otherwise, and their nodes
  bool hidden_partitions = false;
  bool powered_down = false;  // scontrol -F: nodes of a cloud that are off, too
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &QueryNodesRequest::nodes);
    field(2, "nodes_only", &QueryNodesRequest::nodes_only);
    field(3, "partitions_only", &QueryNodesRequest::partitions_only);
    field(4, "hidden_partitions", &QueryNodesRequest::hidden_partitions);
    field(5, "powered_down", &QueryNodesRequest::powered_down);
  }
};
struct NodeRecord {
  Node node;
  NodeSoft soft;
  uint32_t used_cpus = 0;
  uint64_t used_memory_mib = 0;
  uint32_t running_jobs = 0;
  uint32_t completing_jobs = 0;
  NodeBaseState shown_base = NodeBaseState::kUnknown;  // with ALLOCATED, MIXED worked out
  NodeFlags shown_flags = 0;
  std::vector<std::string> partitions;
  GresShares used_gres;
  std::string reservation;  // that holds now
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeRecord::node);
    field(2, "soft", &NodeRecord::soft);
    field(3, "used_cpus", &NodeRecord::used_cpus);
    field(4, "used_memory_mib", &NodeRecord::used_memory_mib);
    field(5, "running_jobs", &NodeRecord::running_jobs);
    field(6, "completing_jobs", &NodeRecord::completing_jobs);
    field(7, "shown_base", &NodeRecord::shown_base);
    field(8, "shown_flags", &NodeRecord::shown_flags);
    field(9, "partitions", &NodeRecord::partitions);
    field(10, "used_gres", &NodeRecord::used_gres);
    field(300, "reservation", &NodeRecord::reservation);
  }
};
struct PartitionRecord {
  PartitionConfig config;
  std::string node_list;
  uint32_t total_cpus = 0;
  uint32_t total_nodes = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &PartitionRecord::config);
    field(2, "node_list", &PartitionRecord::node_list);
    field(3, "total_cpus", &PartitionRecord::total_cpus);
    field(4, "total_nodes", &PartitionRecord::total_nodes);
  }
};
struct QueryNodesReply {  // also serves sinfo: both in one answer
  std::vector<NodeRecord> nodes;
  std::vector<PartitionRecord> partitions;
  Time now = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &QueryNodesReply::nodes);
    field(2, "partitions", &QueryNodesReply::partitions);
    field(3, "now", &QueryNodesReply::now);
  }
};

}  // namespace sluice::protocol
