// slurmctld -t and sluice check: a whole configuration looked at without a daemon and without
// privileges.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice {

struct ConfigCheck {
  std::string path;
  std::vector<std::string> errors;  // with any of these slurmctld does not start
  // what has no effect, and what this host lacks: addresses, programs, keys, groups
  std::vector<std::string> warnings;
  ClusterConfig config;  // as far as it can be read
};

[[nodiscard]] ConfigCheck check_config(const std::string& path);

// The lines to print: "error: …", "warning: …", and in the end "PATH: 2 errors, 1 warning".
[[nodiscard]] std::string check_text(const ConfigCheck& check);

// Those of the warnings for which no name service is asked, without unusable programs: the log says
// them, too, when the controller starts and when it reads its configuration again.
[[nodiscard]] std::vector<std::string> host_warnings(const ClusterConfig& config);
// Of AllowGroups that are no groups of this host, for which name services are asked. Any thread.
[[nodiscard]] std::vector<std::string> unknown_groups(const ClusterConfig& config);

// What the log says of it, too, when the controller starts; empty: there are partitions.
[[nodiscard]] std::string warning_without_partitions(const ClusterConfig& config);

}  // namespace sluice
