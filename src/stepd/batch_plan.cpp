// The plan of a batch script: one process, its script in the spool, its output in files.
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/step/step_spool.hpp"
#include "common/environment/output_env.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {
namespace {

// The spool folder's fault, and so the node's.
tl::unexpected<Error> system_failure(std::string_view what, const std::string& path) {
  if (errno == ENOSPC) return failure(ErrorCode::kStorageFull, protocol::kSpoolIsFull);
  return failure(ErrorCode::kStorageFull, fmt::format("{} {}: {}", what, path, errno_text(errno)));
}

// Where others run, the script is the job's user's alone and its folder is not: he is not to fill
// the node's spool.
Status give_to_user(const PlanInput& input, int script, const std::string& folder) {
  constexpr mode_t kScriptMode = 0500, kFolderMode = 0711;
  bool good = ::fchmod(script, kScriptMode) == 0 && ::chmod(folder.c_str(), kFolderMode) == 0;
  if (good && input.user.switches) {
    good = ::fchown(script, input.user.uid, input.user.gid) == 0 &&
           // one that was left there was the user's
           ::lchown(folder.c_str(), ::geteuid(), ::getegid()) == 0;
  }
  if (!good) return system_failure("cannot protect", folder);
  return {};
}

Result<std::string> write_script(const PlanInput& input) {
  const std::string folder = batch_folder(input.start.spool_dir, input.launch.key.id.job);
  // what a run left that was broken off is another user's, where numbers of jobs begin again
  remove_batch_folder(input.start.spool_dir, input.launch.key.id.job);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("cannot make", folder);
  }
  const std::string path = folder + "/" + kBatchScriptName;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (fd < 0) return system_failure("cannot create", path);
  const std::string& script = input.launch.script;
  const ssize_t size = ::write(fd, script.data(), script.size());
  const bool written = size == static_cast<ssize_t>(script.size());
  if (size >= 0 && !written) errno = ENOSPC;  // the rest had no room
  const Status done =
      written ? give_to_user(input, fd, folder) : system_failure("cannot write", path);
  ::close(fd);
  if (!done) return tl::unexpected<Error>(done.error());
  return path;
}

std::string path_of(const PlanInput& input, std::string_view pattern) {
  return absolute_path(expand_file_pattern(pattern, pattern_fields(input)),
                       input.launch.job_spec->work_dir);
}

Result<int> opened(Result<int> fd, std::string_view stream, std::string_view path) {
  if (fd) return fd;
  return failure(ErrorCode::kPathMissing, open_failure_text(stream, path, fd.error()));
}

Result<int> open_input(const PlanInput& input, OutputFiles& files) {
  const JobSpec& spec = *input.launch.job_spec;
  if (spec.std_in.empty()) return files.null_device();
  const std::string path = path_of(input, spec.std_in);
  return opened(files.input(path), "stdin", path);
}

Result<int> open_output(const PlanInput& input, OutputFiles& files, std::string_view pattern,
                        std::string_view stream) {
  const std::string path = path_of(input, pattern);
  return opened(files.output(path), stream, path);
}

}  // namespace

Result<StepPlan> plan_batch(const PlanInput& input, OutputFiles& files) {
  const JobSpec& spec = *input.launch.job_spec;
  const bool array = input.launch.array != nullptr && input.launch.array->task != kNoTask;
  const std::string_view out_pattern =
      spec.std_out.empty() ? default_output_pattern(array) : spec.std_out.view();
  auto script = write_script(input);
  if (!script) return tl::unexpected<Error>(script.error());
  auto in = open_input(input, files);
  if (!in) return tl::unexpected<Error>(in.error());
  auto out = open_output(input, files, out_pattern, "stdout");
  if (!out) return tl::unexpected<Error>(out.error());
  auto err = spec.std_err.empty() ? out : open_output(input, files, spec.std_err, "stderr");
  if (!err) return tl::unexpected<Error>(err.error());

  StepPlan plan;
  plan.message_fd = *err;
  TaskPlan& task = plan.tasks.emplace_back();
  TaskSetup& setup = task.setup;
  setup.user = input.user;
  setup.work_dir = spec.work_dir.empty() ? "/" : spec.work_dir.str();
  setup.umask = spec.umask;
  setup.limits = setup.sent_limits = spec.limits;
  setup.env = Environment::from_block(input.launch.environment);
  set_batch_variables(input.launch, {input.start.node_name, 0, input.start.config_path}, setup.env);
  set_gpu_variables(input, 0, setup);
  setup.program = *script;
  setup.arguments = spec.arguments;
  setup.arguments.insert(setup.arguments.begin(), *script);
  setup.std_in = *in;
  setup.std_out = *out;
  setup.std_err = *err;
  setup.user_env = spec.get_user_env;
  if (const auto binding = binding_of(input)) setup.cpus = cpus_of_task(input, *binding, 0);
  setup.mount_namespace = input.start.mount_namespace;
  setup.site_prolog = input.start.task_prolog;
  return plan;
}

}  // namespace sluice::stepd
