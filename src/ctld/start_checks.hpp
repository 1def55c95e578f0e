// slurmctld -t: what would stop the start on this host, beside what stands in the files: keys and
// certificates that cannot be used, folders that are not there, files that SlurmUser may not read,
// a port that another program has.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

// One sentence for each. What this process may not look at itself, not being root, is not spoken
// of.
[[nodiscard]] std::vector<std::string> start_errors(const ClusterConfig& config);

}  // namespace sluice::ctld
