// sbatch: submits a batch script.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/commands.hpp"
#include "cli/options/batch_script.hpp"
#include "cli/submit_advice.hpp"
#include "cli/shared/client.hpp"
#include "cli/step/defined_options.hpp"
#include "cli/options/het_request.hpp"
#include "cli/step/job_watch.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/step/submit_call.hpp"
#include "cli/options/submit_env.hpp"
#include "common/names/errors.hpp"
#include "common/environment/memory_bind.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

struct Batch {
  std::vector<Submission> components;  // one, or those of a heterogeneous job
  std::string script;
  [[nodiscard]] const SubmitSettings& settings() const { return components.front().settings; }
};

int report_faults(const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) print_error("sbatch", fault);
  return error_exit();
}

// What the command line gives with this option, of whichever component.
std::optional<std::string> typed_value(const std::vector<OptionParser>& parsers,
                                       std::string_view option) {
  for (const OptionParser& parser : parsers) {
    if (auto value = parser.argument(option)) return value;
  }
  return std::nullopt;
}

// Options of each component: those of its part of the command line, of its part of the script's
// directives, and of the environment. When the script has more parts than the command line, the
// last one of that counts for the rest.
std::optional<int> read_directives(const std::string& script, const std::string& shown,
                                   std::vector<OptionParser>& parsers) {
  const ScriptComponents in_script = script_components(script);
  if (in_script.old_word) {
    std::fputs(
        "sbatch: Warning: the \"packjob\" component separator is being deprecated. "
        "Please, use \"hetjob\" instead.\n",
        stderr);
  }
  while (parsers.size() < in_script.count) {
    const OptionParser last = parsers.back();
    parsers.push_back(last);
  }
  for (size_t i = 0; i < parsers.size(); ++i) {
    if (const auto status = parsers[i].read_script(script, shown, i)) return status;
  }
  return std::nullopt;
}

// What is about the job as a whole and was not said of the first component is taken from the last
// one that the command line says it of; then each component has it of the one before.
std::optional<int> apply_options(std::vector<OptionParser>& parsers, const JobSpec& common,
                                 Batch& batch) {
  for (OptionParser& parser : parsers) parser.read_environment();
  for (size_t i = parsers.size(); --i > 0;) parsers[0].inherit_from_behind(parsers[i]);
  for (size_t i = 0; i < parsers.size(); ++i) {
    if (i > 0) parsers[i].inherit(parsers[i - 1]);
    Submission& submission = batch.components.emplace_back();
    submission.job = common;
    if (const auto status = parsers[i].apply(submission)) return status;
    if (submission.settings.verbose > 0) parsers[i].print_defined(submission);
  }
  return std::nullopt;
}

// Options, script and its directives; an exit status when there is nothing to submit.
std::optional<int> read_request(int argc, char** argv, Batch& batch) {
  std::vector<OptionParser> parsers;
  if (const auto status = read_components(kSbatch, argc, argv, parsers)) return status;
  const std::vector<std::string> operands = parsers.back().operands();
  const auto wrapped = typed_value(parsers, "wrap");
  JobSpec job;
  std::string path;
  if (wrapped && !operands.empty()) {
    return report_faults({"Script arguments not permitted with --wrap option"});
  }
  for (const OptionParser& parser : parsers) {
    // before a script is waited for that is not meant to come
    Submission tried;
    if (const auto status = parser.apply(tried)) return status;
  }
  if (wrapped) {
    batch.script = wrap_script(*wrapped);
    job.name = "wrap";
  } else {
    const std::string folder = typed_value(parsers, "chdir").value_or("");
    Result<std::string> script = read_script(operands.empty() ? "" : operands[0], folder, path);
    if (!script) return report_faults({script.error().text});
    if (const auto faults = script_faults(*script); !faults.empty()) return report_faults(faults);
    batch.script = std::move(*script);
    job.name = operands.empty() ? "sbatch" : operands[0].substr(operands[0].rfind('/') + 1);
    job.command = path;
    for (size_t i = 1; i < operands.size(); ++i) job.arguments.emplace_back(operands[i]);
    const std::string shown = operands.empty() ? "stdin" : operands[0];
    if (const auto status = read_directives(batch.script, shown, parsers)) return status;
  }
  return apply_options(parsers, job, batch);
}

// The status that sbatch -W ends with: the job's own, 1 when a signal ended it.
int exit_status_of(int32_t wait_status) {
  if (WIFSIGNALED(wait_status)) return 1;
  return WEXITSTATUS(wait_status);
}

int wait_for_end(Client& client, JobId job) {
  protocol::WatchJobRequest request;
  request.job = job;
  int32_t worst = 0;  // of all tasks of an array
  while (true) {
    const Status status = client.watch_job(request, [&](protocol::JobWatchUpdate&& update) {
      if (!is_terminal(update.state)) return true;
      worst = std::max(worst, update.exit_status);
      const bool never_ran = update.state == JobState::kCancelled && update.allocation == nullptr;
      if (update.state != JobState::kCompleted && !never_ran && worst == 0) worst = 1 << 8;
      return true;  // the stream ends by itself; an array has more to say until then
    });
    if (status) break;
    if (status.error().code == ErrorCode::kAccessDenied) {
      print_error("sbatch",
                  fmt::format("Unable to wait for job {}: {}", job, error_text(status.error())));
      return error_exit();
    }
    if (ends_watch(status.error().code)) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the controller is away: ask again
  }
  return exit_status_of(worst);
}

// What sbatch itself is to do holds for all components, whichever of them says it.
void gather_settings(Batch& batch) {
  SubmitSettings& all = batch.components.front().settings;
  for (const Submission& component : batch.components) {
    all.test_only = all.test_only || component.settings.test_only;
    all.parsable = all.parsable || component.settings.parsable;
    all.quiet = all.quiet || component.settings.quiet;
    all.wait_for_end = all.wait_for_end || component.settings.wait_for_end;
  }
}

int submit(Client& client, const Batch& batch, const Environment& environment) {
  const SubmitSettings& settings = batch.settings();
  protocol::SubmitJobRequest request;
  request.spec = batch.components.front().job;
  for (size_t i = 1; i < batch.components.size(); ++i)
    request.components.push_back(batch.components[i].job);
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
  const std::string cluster = request.spec.clusters.str();
  std::string said;
  if (settings.parsable) {
    said = cluster.empty() ? fmt::format("{}\n", reply->job)
                           : fmt::format("{};{}\n", reply->job, cluster);
  } else {
    said = cluster.empty()
               ? fmt::format("Submitted batch job {}\n", reply->job)
               : fmt::format("Submitted batch job {} on cluster {}\n", reply->job, cluster);
  }
  if (!settings.quiet || settings.parsable) std::fputs(said.c_str(), stdout);
  std::fflush(stdout);
  if (!settings.quiet && !settings.parsable && cluster.empty())
    tell_advice(client.config(), reply->job);
  return settings.wait_for_end ? wait_for_end(client, reply->job) : 0;
}

}  // namespace

int sbatch_main(int argc, char** argv) {
  if (!has_working_folder("sbatch")) return 255;
  Batch batch;
  if (const auto status = read_request(argc, argv, batch)) return *status;
  gather_settings(batch);
  for (Submission& component : batch.components) {
    if (const auto status = complete_request(component, kSbatch)) return *status;
  }
  Result<Environment> environment = exported_environment(batch.settings(), current_environment());
  if (!environment) return report_faults({environment.error().text});
  set_caller_variables(*environment);
  const std::string& gpus = batch.settings().gpus_per_node;
  if (!gpus.empty()) environment->set("SLURM_GPUS_PER_NODE", gpus);
  const StepSpec& steps = batch.components.front().step;
  set_request_variables(steps, *environment);
  if (!steps.mem_bind.empty())
    set_batch_memory_bind(parse_memory_bind(steps.mem_bind), *environment);
  Result<Client> client = Client::open();
  if (!client) return report("sbatch", client.error());
  set_cluster_variable(client->config(), *environment);
  for (Submission& component : batch.components) {
    component.job.batch = true;
    fill_caller(component, client->config(), argc, argv);
    say_propagated("sbatch", component);
    say_plugins("sbatch", component.settings.verbose, client->config());
    if (const auto status = complete_with_config(component, client->config(), "sbatch"))
      return *status;
  }
  return submit(*client, batch, *environment);
}

}  // namespace sluice::cli
