// Asks for a step, waiting while others use the job's resources.
#pragma once

#include <functional>

#include "cli/shared/client.hpp"
#include "cli/step/step_link.hpp"
#include "common/protocol/ctld.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

struct StepRequestOptions {
  bool immediate = false;
  bool quiet = false;
  bool or_overlap = false;  // beside other steps on their CPUs, where there are no free ones
  std::function<int()> interrupted;  // asked after each try; a signal: give up
};

// Says what Slurm says of failures and waiting. One request makes a step; several make the parts of
// one in several components of a heterogeneous job, all of them or none.
[[nodiscard]] Result<std::vector<protocol::CreateStepReply>> create_steps(
    Client& client, std::vector<protocol::CreateStepRequest> requests,
    const StepRequestOptions& options);
// Ends what was made and is not wanted after all.
void cancel_steps(Client& client, const std::vector<protocol::CreateStepReply>& steps);

// Opens the link at this host's address for the step's daemons. `granted` is the job's first node,
// empty when only its environment tells of it. No host in what is returned: this is the
// controller's host, which fills in what its nodes see of it.
[[nodiscard]] Result<IoEndpoint> listen_for_daemons(StepLink& link, const ClusterConfig& config,
                                                    const std::string& granted);

}  // namespace sluice::cli
