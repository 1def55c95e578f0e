// Sending a submission: retries while the controller is away, and Slurm's words when it fails.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "cli/shared/client.hpp"
#include "common/protocol/ctld.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

// Sends `request` until the controller answers or has been away for too long. A request carries its
// own id, so that one whose answer was lost is not done twice. `interrupted` is asked often while
// it waits to ask again, and ends that.
[[nodiscard]] Result<protocol::SubmitJobReply> submit_job(
    Client& client, const protocol::SubmitJobRequest& request, CommandSet command,
    const std::function<bool()>& interrupted = {});

// Prints what went wrong: the error's own text where it has one, then `COMMAND: error: WHAT:
// SENTENCE` (WHAT is "Batch job submission failed", …).
void report_failure(std::string_view command, std::string_view what, const Error& error);

// Further lines of the controller for the user.
void print_messages(std::string_view command, const std::vector<std::string>& messages);

// `sbatch: Job N to start at …`; the exit status.
int print_test(std::string_view command, const Result<protocol::SubmitJobReply>& reply);

// Prints an option problem; the exit status.
int report_problem(std::string_view command, const OptionProblem& problem);

// Reads a host file, checks the options against one another and prints what was changed; an exit
// status when they do not fit.
[[nodiscard]] std::optional<int> complete_request(Submission& submission, CommandSet command);

// What follows from slurm.conf, and from files and users of this host: prints what is wrong with
// it. An exit status when the command is to end. `job.batch` is set before.
[[nodiscard]] std::optional<int> complete_with_config(Submission& submission,
                                                      const ClusterConfig& config,
                                                      std::string_view command);

}  // namespace sluice::cli
