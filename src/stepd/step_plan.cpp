#include "stepd/step_plan.hpp"

#include <cerrno>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/names/broadcast_names.hpp"
#include "common/environment/output_env.hpp"
#include "stepd/binding/bind_list.hpp"
#include "stepd/binding/memory_binding.hpp"
#include "stepd/multi_prog.hpp"

namespace sluice::stepd {
namespace {

// Tasks share the texts of their variables and arguments; each has its own list of them, which is
// not charged to the job before the tasks begin.
constexpr size_t kMostTaskTexts = size_t{4} << 20;

// How one of a task's three streams is connected.
enum class Route { kStream, kNull, kFile };

struct StreamTarget {
  Route route = Route::kStream;
  std::string path;  // of kFile
};

// What StepSpec::std_in, std_out or std_err means for one task; see protocol/stepd.hpp.
StreamTarget target_of(std::string_view text, const PatternFields& fields, bool listened,
                       std::string_view folder) {
  if (text.empty() || text == "all") return {listened ? Route::kStream : Route::kNull, {}};
  if (text == "none") return {Route::kNull, {}};
  if (const auto task = to_number<uint32_t>(text)) {
    return {*task == fields.task && listened ? Route::kStream : Route::kNull, {}};
  }
  if (listened && !pattern_is_per_node(text)) return {Route::kStream, {}};
  return {Route::kFile, absolute_path(expand_file_pattern(text, fields), folder)};
}

NodeFacts node_facts(const PlanInput& input) {
  return {input.start.node_name, input.start.node_index, input.start.config_path};
}

Result<int> opened(Result<int> fd, std::string_view stream, const std::string& path) {
  if (fd) return fd;
  return failure(fd.error().code, open_failure_text(stream, path, fd.error()));
}

// Builds the plan of one step, task by task.
class StepPlanner {
 public:
  StepPlanner(const PlanInput& input, OutputFiles& files)
      : input_(input), files_(files), step_(*input.launch.step) {}

  Result<StepPlan> make() {
    const StepNode& here = input_.launch.layout.nodes[input_.start.node_index];
    plan_.whole_lines =
        !step_.unbuffered && (step_.label || whole_layout(input_.launch).num_tasks > 1);
    common_ = Environment::from_block(input_.launch.environment);
    const Environment given = common_;
    set_step_variables(input_.launch, node_facts(input_), common_);
    if (step_.preserve_env) {
      for (const std::string_view name :
           {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NPROCS"}) {
        if (given.has(name)) common_.set(name, given.get(name));
      }
    }
    if (Status ok = check_sizes(here); !ok) return tl::unexpected<Error>(ok.error());
    auto binding = binding_of(input_);
    if (!binding) return tl::unexpected<Error>(binding.error());
    binding_ = std::move(*binding);
    set_binding_variables(input_, binding_, common_);
    memory_bind_ = memory_bind_of(input_);
    if (memory_bind_) set_memory_bind_variables(*memory_bind_, common_);
    if (!step_.multi_prog.empty()) programs_.emplace(step_.multi_prog.view(), here.tasks);
    if (Status there = take_broadcast(); !there) return tl::unexpected<Error>(there.error());
    for (uint32_t local = 0; local < here.tasks.size(); ++local) {
      TaskPlan& task = plan_.tasks.emplace_back();
      task.rank = here.tasks[local];
      task.local = local;
      Status made = fill(task, here);
      if (!made) return tl::unexpected<Error>(made.error());
    }
    return std::move(plan_);
  }

 private:
  // The daemon has one thread, and the job's limit of memory.
  [[nodiscard]] Status check_sizes(const StepNode& here) const {
    const size_t texts = common_.size() + step_.arguments.size();
    if (texts * here.tasks.size() > kMostTaskTexts)
      return failure(
          fmt::format("{} variables and arguments are too many for {} tasks of a node (at most {} "
                      "together)",
                      texts, here.tasks.size(), kMostTaskTexts));
    const std::pair<std::string_view, size_t> lists[] = {
        {"--cpu-bind", step_.cpu_bind.view().size()},
        {"--mem-bind", step_.mem_bind.view().size()},
        {"--tres-bind", step_.tres_bind.view().size()}};
    for (const auto& [option, size] : lists) {
      if (size > kMostListBytes)
        return failure(fmt::format("{} is longer than {} KiB", option, kMostListBytes >> 10));
    }
    return {};
  }

  // --bcast: what was sent before the step had a number gets its name.
  Status take_broadcast() {
    if (step_.broadcast.empty()) return {};
    program_ = step_.broadcast.str();
    if (step_.broadcast_unnamed) {
      const std::string& node = input_.start.node_name;
      const std::string from = node_file_name(program_, node);
      program_ = step_file_name(program_, input_.launch.key.id, node);
      const ActAsUser as_user(input_.user);
      const bool moved =
          ::rename(from.c_str(), program_.c_str()) == 0 &&
          (!step_.broadcast_libraries ||
           ::rename(libraries_folder(from).c_str(), libraries_folder(program_).c_str()) == 0);
      if (!moved) return failure(fmt::format("cannot take {}: {}", from, errno_text(errno)));
    }
    if (step_.broadcast_libraries) {
      common_.set("LD_LIBRARY_PATH", library_path(program_, common_.get("LD_LIBRARY_PATH")));
    }
    return {};
  }

  Status fill(TaskPlan& task, const StepNode& here) {
    TaskSetup& setup = task.setup;
    setup.user = input_.user;
    setup.work_dir = step_.work_dir.empty() ? "/" : step_.work_dir.str();
    setup.umask = step_.umask;
    setup.limits = setup.sent_limits = step_.limits;
    setup.env = common_;
    set_task_variables(here, task.local, setup.env);
    set_gpu_variables(input_, task.local, setup);
    setup.cpus = cpus_of_task(input_, binding_, task.local);
    setup.binding_report = binding_report(input_, binding_, task.local);
    if (memory_bind_) plan_memory(input_, *memory_bind_, task.local, setup);
    setup.mount_namespace = input_.start.mount_namespace;
    setup.site_prolog = input_.start.task_prolog;
    setup.user_prolog = step_.task_prolog.str();
    setup.arguments = step_.arguments;
    if (programs_) {
      auto program = programs_->of_task(task.rank, setup.arguments);
      if (!program) return tl::unexpected<Error>(program.error());
      setup.arguments = std::move(*program);
    }
    if (setup.arguments.empty()) return failure("no program to run");
    if (!program_.empty()) setup.program = setup.arguments[0] = program_;
    if (step_.pty) return task.rank == 0 ? connect_pty(task) : connect_null(task);
    return connect_streams(task);
  }

  Status connect_null(TaskPlan& task) {
    auto null = files_.null_device();
    if (!null) return tl::unexpected<Error>(null.error());
    task.setup.std_in = task.setup.std_out = task.setup.std_err = *null;
    return {};
  }

  // A new pty: its master; `slave` goes to the child.
  Result<int> make_pty(int& slave, bool raw) {
    winsize size{};
    size.ws_row = static_cast<unsigned short>(step_.pty_rows);
    size.ws_col = static_cast<unsigned short>(step_.pty_columns);
    int master = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, step_.pty_rows != 0 ? &size : nullptr) != 0) {
      return failure(fmt::format("cannot open a pty: {}", errno_text(errno)));
    }
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    if (input_.user.switches && ::fchown(slave, input_.user.uid, static_cast<gid_t>(-1)) != 0) {
      return failure(fmt::format("cannot give a pty away: {}", errno_text(errno)));
    }
    if (raw) {
      termios modes{};
      ::tcgetattr(slave, &modes);
      ::cfmakeraw(&modes);
      ::tcsetattr(slave, TCSANOW, &modes);
    }
    plan_.child_ends.push_back(slave);
    return master;
  }

  Status connect_pty(TaskPlan& task) {
    int slave = -1;
    auto master = make_pty(slave, false);
    if (!master) return tl::unexpected<Error>(master.error());
    task.read_out = *master;
    task.pty = true;
    task.setup.controlling_tty = true;
    task.setup.std_in = task.setup.std_out = task.setup.std_err = slave;
    return {};
  }

  Status connect_streams(TaskPlan& task) {
    PatternFields fields = pattern_fields(input_);
    fields.task = task.rank;
    const bool listened = step_.io.port != 0;
    const auto target = [&](std::string_view text) {
      return target_of(text, fields, listened, step_.work_dir);
    };
    const StreamTarget in = target(step_.std_in);
    const StreamTarget out = target(step_.std_out);
    const StreamTarget err = step_.std_err.empty() ? out : target(step_.std_err);
    Status done = connect_input(task, in);
    if (done)
      done = connect_output(out, "stdout", {task.setup.std_out, task.read_out, task.out_file});
    if (done)
      done = connect_output(err, "stderr", {task.setup.std_err, task.read_err, task.err_file});
    return done;
  }

  Status connect_input(TaskPlan& task, const StreamTarget& target) {
    if (target.route == Route::kStream) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) return failure(errno_text(errno));
      task.setup.std_in = ends[0];
      task.write_in = ends[1];
      plan_.child_ends.push_back(ends[0]);
      return {};
    }
    auto fd = target.route == Route::kNull
                  ? files_.null_device()
                  : opened(files_.input(target.path), "stdin", target.path);
    if (!fd) return tl::unexpected<Error>(fd.error());
    task.setup.std_in = *fd;
    return {};
  }

  struct OutputEnds {
    int& child;
    int& read;
    int& file;
  };
  Status connect_output(const StreamTarget& target, std::string_view stream, OutputEnds ends) {
    if (target.route == Route::kNull) {
      auto null = files_.null_device();
      if (!null) return tl::unexpected<Error>(null.error());
      ends.child = *null;
      return {};
    }
    if (target.route == Route::kFile) {
      auto fd = opened(files_.output(target.path), stream, target.path);
      if (!fd) return tl::unexpected<Error>(fd.error());
      if (stream == "stderr" && plan_.message_fd < 0) plan_.message_fd = *fd;
      if (!step_.label) {
        ends.child = *fd;
        return {};
      }
      ends.file = *fd;
    }
    if (step_.unbuffered && stream == "stdout") {
      // a terminal makes the C library write line by line
      auto master = make_pty(ends.child, true);
      if (!master) return tl::unexpected<Error>(master.error());
      ends.read = *master;
      return {};
    }
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return failure(errno_text(errno));
    ends.read = pipe_ends[0];
    ends.child = pipe_ends[1];
    plan_.child_ends.push_back(pipe_ends[1]);
    return {};
  }

  const PlanInput& input_;
  OutputFiles& files_;
  const StepSpec& step_;
  Environment common_;
  TaskBinding binding_;
  std::optional<MemoryBind> memory_bind_;
  std::optional<MultiProg> programs_;  // --multi-prog
  std::string program_;                // --bcast: instead of the one that was named
  StepPlan plan_;
};

}  // namespace

PatternFields pattern_fields(const PlanInput& input) {
  PatternFields fields;
  fields.step = input.launch.key.id;
  fields.array = input.launch.array;
  fields.job_name = input.launch.job_spec->name;
  fields.user_name = input.launch.user_name;
  fields.host = input.start.file_host;
  fields.node_index = input.start.node_index;
  return fields;
}

std::string open_failure_text(std::string_view stream, std::string_view path, const Error& why) {
  return fmt::format("Could not open {} file {}: {}", stream, path, why.text);
}

Result<StepPlan> plan_step(const PlanInput& input, OutputFiles& files) {
  return StepPlanner(input, files).make();
}

}  // namespace sluice::stepd
