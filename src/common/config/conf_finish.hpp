// The last step of reading slurm.conf: defaults, names worked out, and the checks that need the
// whole file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/conf_parse.hpp"

namespace sluice::tables {

// Names of nodes that are worked out when all nodes are known, and where they stand.
struct PendingNames {
  ConfLine line;
  std::string names;
};

// A configuration whose lines are all read.
struct ConfDraft {
  ParsedConfig parsed;
  std::string file;                          // for what no line says
  std::map<std::string, ConfLine> set_at;    // where each global key was set last
  std::vector<ConfLine> node_places;         // the NodeName lines
  std::vector<size_t> node_lines;            // of each node: its line in node_places
  std::vector<ConfLine> partition_lines;     // beside config.partitions
  std::vector<PendingNames> node_set_lines;  // beside config.node_sets
  std::vector<PendingNames> down_lines;      // beside config.down_nodes
};

// Goes on after an error, and puts all into `errors`.
void finish_config(ConfDraft& draft, std::vector<std::string>& errors);

// What a partition gives jobs with GPUs, as JobDefaults= says it:
// "DefCpuPerGPU=2,DefMemPerGPU=100".
[[nodiscard]] std::string job_defaults_text(const PartitionConfig& partition);

}  // namespace sluice::tables
