// `scontrol write config`: a slurm.conf that gives this configuration again.
#pragma once

#include <string>
#include <string_view>

#include "common/model/cluster_config.hpp"

namespace sluice::tables {

// Keys that are not set stand there as comments, with their defaults. Nodes and partitions are as
// they are now, those that scontrol changed included. `when` goes into the heading.
[[nodiscard]] std::string write_config(const ClusterConfig& config, std::string_view when);

}  // namespace sluice::tables
