#include "cli/srun/session_options.hpp"

#include <cstdlib>

#include <unistd.h>

#include "common/os/host_name.hpp"
#include "common/base/text.hpp"
#include "common/syntax/file_pattern.hpp"

namespace sluice::cli::srun {

SessionOptions session_options(const StepSpec& spec, const SubmitSettings& settings,
                               const ClusterConfig& config) {
  SessionOptions options;
  options.verbose = settings.verbose;
  options.quiet = settings.quiet;
  options.no_kill = spec.no_kill;
  options.disable_status = settings.disable_status;
  options.quit_on_interrupt = settings.quit_on_interrupt;
  options.kill_on_bad_exit =
      spec.kill_on_bad_exit == UINT32_MAX ? config.kill_on_bad_exit : spec.kill_on_bad_exit != 0;
  options.kill_on_oom = spec.oom_kill_step == Toggle::kDefault
                            ? has_option(config.task_plugin_param, "OOMKillStep")
                            : spec.oom_kill_step == Toggle::kYes;
  options.ignored_signals = settings.ignored_signals;
  options.wait_seconds = spec.wait_seconds != UINT32_MAX
                             ? spec.wait_seconds
                             : static_cast<uint32_t>(to_seconds(config.wait_time));
  options.pty = spec.pty;
  options.work_dir = spec.work_dir.str();
  options.label = spec.label;
  options.unbuffered = spec.unbuffered;
  options.lets_begin = spec.waits_for_srun;
  options.for_debugger = settings.debugger_test;
  return options;
}

namespace {

// The array that the job is a task of, as the environment in it tells; null: of none.
std::shared_ptr<const ArrayInfo> surrounding_array(JobId job) {
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    return to_number<uint32_t>(text != nullptr ? text : "");
  };
  const auto id = number("SLURM_ARRAY_JOB_ID"), task = number("SLURM_ARRAY_TASK_ID");
  if (!id || !task || number("SLURM_JOB_ID") != job) return nullptr;
  ArrayInfo array;
  array.array_job = *id;
  array.task = *task;
  return std::make_shared<const ArrayInfo>(std::move(array));
}

}  // namespace

Status open_streams(const protocol::CreateStepReply& step, const StepSpec& spec,
                    const Submission& given, const ClusterConfig& config, SessionOptions& options) {
  const std::string host = short_host_name();
  PatternFields fields;
  fields.step = step.id;
  fields.array = surrounding_array(step.id.job);
  fields.job_name = spec.name;
  fields.user_name = given.job.user_name;
  fields.host = host;
  const bool append = spec.open_mode == OpenMode::kAppend ||
                      (spec.open_mode == OpenMode::kDefault && config.job_file_append);
  const Result<int> out = open_output(spec.std_out, fields, append, STDOUT_FILENO, "stdout");
  if (!out) return tl::unexpected<Error>(out.error());
  // Without a name of its own, standard error goes where output goes when that is a file, or what
  // one task writes.
  const bool of_one_task = to_number<uint32_t>(spec.std_out.view()).has_value();
  const bool follows = spec.std_err.empty() && (*out != STDOUT_FILENO || of_one_task);
  const int fallback = follows ? *out : STDERR_FILENO;
  const Result<int> err = spec.std_err == spec.std_out
                              ? Result<int>(*out == STDOUT_FILENO ? STDERR_FILENO : *out)
                              : open_output(spec.std_err, fields, append, fallback, "stderr");
  if (!err) return tl::unexpected<Error>(err.error());
  const Result<int> in = open_input(spec.std_in, fields);
  if (!in) return tl::unexpected<Error>(in.error());
  options.input = *in;
  options.output = *out;
  options.error = *err;
  options.input_task = to_number<uint32_t>(spec.std_in.view());
  return {};
}

}  // namespace sluice::cli::srun
