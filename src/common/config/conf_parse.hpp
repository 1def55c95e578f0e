// Lines of slurm.conf (and cgroup.conf, gres.conf, mpi.conf) to a checked ClusterConfig. Pure: the
// same lines give the same configuration and the same messages.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/config/conf_syntax.hpp"

namespace sluice::tables {

struct ParsedConfig {
  ClusterConfig config;
  std::vector<std::string> warnings;  // with file and line; nothing that stops a start
};

// How much of the configuration is wanted: a command that only needs to find the controller skips
// the lines of nodes and partitions, which a large cluster has thousands of.
enum class ConfigScope { kAll, kGlobalKeys };

// The error names file, line, key and what is allowed. Users' ids are left at 0, config_path empty.
[[nodiscard]] Result<ParsedConfig> parse_slurm_conf(const std::vector<ConfLine>& lines,
                                                    ConfigScope scope = ConfigScope::kAll);
// For a check of the whole: every error is put into `errors`, and what can be made of the rest
// comes back.
[[nodiscard]] ParsedConfig parse_all_of_slurm_conf(const std::vector<ConfLine>& lines,
                                                   std::vector<std::string>& errors);

// The other files add to what slurm.conf gave.
[[nodiscard]] Status parse_cgroup_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);
[[nodiscard]] Status parse_gres_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);
// Of use with TopologyPlugin=topology/tree only.
[[nodiscard]] Status parse_topology_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);
[[nodiscard]] Status parse_container_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);
// Of use with NodeFeaturesPlugins=node_features/helpers only. The nodes get the features that their
// helpers manage.
[[nodiscard]] Status parse_helpers_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);
[[nodiscard]] Status parse_mpi_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed);

}  // namespace sluice::tables
