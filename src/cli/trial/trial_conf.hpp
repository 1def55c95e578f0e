// The slurm.conf of a trial cluster.
#pragma once

#include <cstdint>
#include <string>

#include "cli/trial/trial_cluster.hpp"

namespace sluice::cli {

struct TrialPlace {
  std::string host;        // short host name
  std::string user;        // name of the user who starts it
  uint32_t first_port = 0;  // the controller's; the nodes' follow
};

// Pure: the text of DIR/slurm.conf.
[[nodiscard]] std::string trial_conf(const TrialOptions& options, const TrialPlace& place);

}  // namespace sluice::cli
