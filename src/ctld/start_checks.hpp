// slurmctld -t: what would stop the start on this host, beside what stands in the files: keys and
// certificates that cannot be used, folders that are not there, files that SlurmUser may not read,
// a port that another program has, and what would have it wait.
#pragma once

#include <string>
#include <vector>

#include "common/config_files/check.hpp"

namespace sluice::ctld {

// One sentence for each. What this process may not look at itself, not being root, is not spoken
// of.
struct StartFindings {
  std::vector<std::string> errors;    // the start fails
  std::vector<std::string> warnings;  // it makes anew what may have been meant to be there
};
[[nodiscard]] StartFindings start_findings(const ClusterConfig& config);

// These and net::auth_warnings(), with which it starts and cannot do all of its work, beside what
// was found in the files; what would be said of a key twice is said once.
void add_start_checks(ConfigCheck& check);

}  // namespace sluice::ctld
