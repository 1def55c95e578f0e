// sbatch: submits a batch script.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/commands.hpp"
#include "cli/shared/batch_script.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/option_parser.hpp"
#include "cli/shared/submit_call.hpp"
#include "cli/shared/submit_env.hpp"

namespace sluice::cli {
namespace {

struct Batch {
  Submission submission;
  std::string script;
};

int report_faults(const std::vector<std::string>& faults) {
  for (const std::string& fault : faults)
    print_error("sbatch", fault);
  return error_exit();
}

// Options, script and its directives; an exit status when there is nothing to submit.
std::optional<int> read_request(int argc, char** argv, Batch& batch) {
  OptionParser parser(kSbatch);
  if (const auto status = parser.read_arguments(argc, argv)) return status;
  const std::vector<std::string> operands = parser.operands();
  const auto wrapped = parser.argument("wrap");
  JobSpec& job = batch.submission.job;
  std::string path;
  if (wrapped && !operands.empty()) {
    return report_faults({"Script arguments not permitted with --wrap option"});
  }
  if (wrapped) {
    batch.script = wrap_script(*wrapped);
    job.name = "wrap";
  } else {
    Result<std::string> script = read_script(operands.empty() ? "" : operands[0], path);
    if (!script) return report_faults({script.error().text});
    if (const auto faults = script_faults(*script); !faults.empty()) return report_faults(faults);
    batch.script = std::move(*script);
    job.name = operands.empty() ? "sbatch" : operands[0].substr(operands[0].rfind('/') + 1);
    job.command = path;
    for (size_t i = 1; i < operands.size(); ++i)
      job.arguments.emplace_back(operands[i]);
    const std::string shown = operands.empty() ? "stdin" : operands[0];
    if (const auto status = parser.read_script(batch.script, shown)) return status;
  }
  parser.read_environment();
  if (const auto status = parser.apply(batch.submission)) return status;
  if (batch.submission.settings.verbose > 0) parser.print_defined();
  return std::nullopt;
}

// The status that sbatch -W ends with: the job's own, 1 when a signal ended it.
int exit_status_of(int32_t wait_status) {
  if (WIFSIGNALED(wait_status)) return 1;
  return WEXITSTATUS(wait_status);
}

int wait_for_end(Client& client, JobId job) {
  protocol::WatchJobRequest request;
  request.job = job;
  int32_t worst = 0;
  bool ended = false;
  while (!ended) {
    const Status status = client.watch_job(request, [&](protocol::JobWatchUpdate&& update) {
      if (!is_terminal(update.state)) return true;
      ended = true;
      worst = std::max(worst, update.exit_status);
      if (update.state != JobState::kCompleted && worst == 0) worst = 1 << 8;
      return true;  // the stream ends by itself; an array has more to say until then
    });
    if (status || ended) break;
    if (status.error().code == ErrorCode::kInvalidJobId) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the controller is away: ask again
  }
  return exit_status_of(worst);
}

int submit(Client& client, const Batch& batch, const Environment& environment) {
  const SubmitSettings& settings = batch.submission.settings;
  protocol::SubmitJobRequest request;
  request.spec = batch.submission.job;
  request.script = batch.script;
  request.environment = environment.to_block();
  request.test_only = settings.test_only;
  const Result<protocol::SubmitJobReply> reply = submit_job(client, request, kSbatch);
  if (settings.test_only) return print_test("sbatch", reply);
  if (!reply) {
    report_failure("sbatch", "Batch job submission failed", reply.error());
    return error_exit();
  }
  if (!settings.quiet) print_messages("sbatch", reply->messages);
  const std::string cluster = batch.submission.job.clusters.str();
  std::string said;
  if (settings.parsable) {
    said = cluster.empty() ? fmt::format("{}\n", reply->job)
                           : fmt::format("{};{}\n", reply->job, cluster);
  } else {
    said = cluster.empty()
               ? fmt::format("Submitted batch job {}\n", reply->job)
               : fmt::format("Submitted batch job {} on cluster {}\n", reply->job, cluster);
  }
  if (!settings.quiet) std::fputs(said.c_str(), stdout);
  std::fflush(stdout);
  return settings.wait_for_end ? wait_for_end(client, reply->job) : 0;
}

}  // namespace

int sbatch_main(int argc, char** argv) {
  Batch batch;
  if (const auto status = read_request(argc, argv, batch)) return *status;
  if (const auto status = complete_request(batch.submission, kSbatch)) return *status;
  Result<Environment> environment =
      exported_environment(batch.submission.settings, current_environment());
  if (!environment) return report_faults({environment.error().text});
  set_caller_variables(*environment);
  const std::string& gpus = batch.submission.settings.gpus_per_node;
  if (!gpus.empty()) environment->set("SLURM_GPUS_PER_NODE", gpus);
  set_request_variables(batch.submission.step, *environment);
  Result<Client> client = Client::open();
  if (!client) return report("sbatch", client.error());
  JobSpec& job = batch.submission.job;
  job.batch = true;
  fill_caller(batch.submission, client->config(), argc, argv);
  if (const OptionResult there = resolve_outside(batch.submission, client->config()); !there) {
    return report_problem("sbatch", there.error());
  }
  return submit(*client, batch, *environment);
}

}  // namespace sluice::cli
