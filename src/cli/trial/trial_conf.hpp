// The slurm.conf of a trial cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/trial/trial_cluster.hpp"
#include "cli/trial/trial_processes.hpp"

namespace sluice::cli {

struct TrialPlace {
  std::string host;         // short host name
  std::string user;         // name of the user who starts it
  uint32_t first_port = 0;  // the controller's; the nodes' follow, and the accounting daemon's
};

// Why the folder cannot be written down in slurm.conf, or its sockets cannot be made; nothing when
// it can.
[[nodiscard]] std::optional<std::string> fault_of_trial_dir(const std::string& dir);

// Whether `text` is the slurm.conf of a cluster that has the folder for itself: sluice up wrote it,
// or its state is there.
[[nodiscard]] bool is_conf_of_trial(const std::string& text, const TrialFolder& folder);

// Pure: the text of DIR/slurmdbd.conf.
[[nodiscard]] std::string trial_dbd_conf(const TrialOptions& options, const TrialPlace& place);
// Pure: the text of DIR/slurm.conf.
[[nodiscard]] std::string trial_conf(const TrialOptions& options, const TrialPlace& place);

}  // namespace sluice::cli
