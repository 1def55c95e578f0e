// `scontrol show config` from a configuration.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::tables {

// What the running controller adds to its configuration; times as text, ready to be shown.
struct ConfigReport {
  std::string as_of;
  std::string boot_time;
  JobId next_job_id = 1;
  std::vector<std::string> ping_lines;  // `Slurmctld(primary) at vm is UP`, as `scontrol ping` says
};

[[nodiscard]] std::string render_config(const ClusterConfig& config, const ConfigReport& report);

}  // namespace sluice::tables
