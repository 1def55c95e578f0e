// How srun and salloc get a job: submit, say what it waits for, wait until its nodes are ready.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "cli/shared/client.hpp"
#include "cli/step/job_watch.hpp"
#include "common/environment/output_env.hpp"
#include "common/protocol/ctld.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

struct Allocated {
  std::optional<int> exit_status;  // set: there is no job, and everything was said
  JobId job = kNoJob;
  protocol::JobWatchUpdate grant;  // the update that said it is ready
  bool waited = false;             // it had to queue
  Duration wait_time{0};
};

// `components`: further ones of a heterogeneous job. Runs the event loop meanwhile. Afterwards
// `watch` goes on following the job; the caller exchanges its handlers. SIGINT, SIGTERM, SIGHUP and
// SIGQUIT cancel the job while it waits.
[[nodiscard]] Allocated allocate(Client& client, boost::asio::io_context& io, JobWatch& watch,
                                 const Submission& submission, CommandSet command,
                                 const std::vector<JobSpec>& components = {});

// The job as environments tell of it.
[[nodiscard]] JobFacts facts_of(const Allocated& allocated, const JobSpec& spec,
                                const ClusterConfig& config);

// The same of each component of a heterogeneous job; `specs` in their order.
[[nodiscard]] std::vector<JobFacts> het_facts_of(const Allocated& allocated,
                                                 const std::vector<JobSpec>& specs,
                                                 const ClusterConfig& config);

// Gives the job back; waits for the controller for a while when it is away. False when the job was
// over already.
bool end_allocation(Client& client, JobId job, int32_t wait_status);

// As scancel: `target` is a job or a step.
Result<protocol::CountReply> cancel(Client& client, const std::string& target);

// `NAME: TEXT` on stderr.
void say(std::string_view command, std::string_view text);

}  // namespace sluice::cli
