// Asks for a step, waiting while others use the job's resources.
#pragma once

#include <functional>

#include "cli/shared/client.hpp"
#include "common/tables/submit_options.hpp"

namespace sluice::cli {

struct StepRequestOptions {
  bool immediate = false;
  bool quiet = false;
  std::function<bool()> interrupted;  // asked between tries; true: give up
};

// Says what Slurm says of failures and waiting. An empty error's text: everything was said.
[[nodiscard]] Result<protocol::CreateStepReply> create_step(
    Client& client, const protocol::CreateStepRequest& request, const StepRequestOptions& options);

// This host's address for the step's daemons. `granted` is the job's first node, empty when only
// its environment tells of it.
[[nodiscard]] std::string address_for_daemons(const ClusterConfig& config,
                                              const std::string& granted);

}  // namespace sluice::cli
