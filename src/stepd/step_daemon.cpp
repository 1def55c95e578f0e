#include "stepd/step_daemon.hpp"

#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "stepd/process/deadline.hpp"
#include "stepd/process/mount_namespace.hpp"
#include "stepd/process/resource_limits.hpp"
#include "stepd/process/task_nice.hpp"

namespace sluice::stepd {

using protocol::FrameType;

StepDaemon::StepDaemon(boost::asio::io_context& io, protocol::StepdStart start,
                       protocol::StepLaunch launch, int agent)
    : io_(io),
      start_(std::move(start)),
      launch_(std::move(launch)),
      spool_(start_.spool_dir),
      sinks_(io, {[this] {
                    if (output_flows_) let_output_flow();
                  },
                  [this](int error) { on_output_lost(error); }}),
      agent_(
          io, agent, [this](const Frame& frame) { on_agent_frame(frame); },
          [this] {
            if (ready_) agent_.send(FrameType::kAgentReady, {});
            if (finished_) agent_.send(FrameType::kAgentEnded, wire::encode(report_));
          }),
      listeners_(
          io, {launch_.key, start_.node_name, start_.node_index, {}},
          {[this](const Frame& frame) { on_listener_frame(frame); }, [this] { on_owner_settled(); },
           [this](bool ended) { on_owner_lost(ended); }, [this] { let_output_flow(); },
           [this](const std::string& text) { agent_.send(FrameType::kAgentLog, text); }}),
      child_signal_(io, SIGCHLD),
      stop_signals_(io, SIGTERM, SIGINT),
      kill_timer_(io),
      end_timer_(io),
      sample_timer_(io),
      memory_timer_(io),
      report_timer_(io) {
  listeners_.encrypt(start_.encrypts_io);
}

int StepDaemon::start() {
  protocol::StepRecord record;
  record.key = launch_.key;
  record.uid = launch_.uid;
  record.daemon_pid = static_cast<uint32_t>(::getpid());
  record.node_index = start_.node_index;
  record.start = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto claimed = spool_.claim(record);
  if (!claimed) {
    agent_.send(FrameType::kAgentLog, claimed.error().text);
    return claimed.error().code == ErrorCode::kStorageFull ? protocol::kStepdFullSpool
                                                           : protocol::kStepdNoSpool;
  }
  if (!*claimed) return protocol::kStepdAlreadyRun;
  const auto socket = spool_.listen(launch_.key);
  if (socket) agent_.listen(*socket);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  lock_memory();
  wait_for_children();
  on_stop_signal();
  if (launch_.step != nullptr && launch_.step->io.port != 0) {
    listeners_.connect(launch_.step->io, true, true);
  } else {
    output_flows_ = true;
  }
  // a step that the next agent cannot find must not begin
  const Status prepared = socket ? prepare() : Status(tl::unexpected<Error>(socket.error()));
  if (!prepared) launch_failed(prepared.error());
  ready_ = true;
  agent_.send(FrameType::kAgentReady, {});
  meter_.count(start_.counted_memory);
  sample_usage();
  watch_memory();
  if (!prepared) check_done();
  return 0;
}

// Tasks do not inherit it.
void StepDaemon::lock_memory() {
  if (start_.memory_lock == protocol::MemoryLock::kNone) return;
  const int what =
      start_.memory_lock == protocol::MemoryLock::kAll ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT;
  if (::mlockall(what) == 0) return;
  agent_.send(FrameType::kAgentLog,
              fmt::format("cannot lock the step daemon's memory: {}", errno_text(errno)));
}

Status StepDaemon::prepare() {
  auto user = identity_of(launch_);
  if (!user) return tl::unexpected<Error>(user.error());
  user_ = std::move(*user);
  const PlanInput& input = plan_input_.emplace(PlanInput{start_, launch_, user_});
  if (is_extern()) return prepare_extern(input);
  if (Status opened = open_pam_session(); !opened) return opened;
  const OpenMode mode = is_batch() ? launch_.job_spec->open_mode : launch_.step->open_mode;
  const bool append =
      mode == OpenMode::kAppend || (mode == OpenMode::kDefault && start_.append_output);
  files_ = std::make_unique<OutputFiles>(
      user_, append, is_batch() ? launch_.job_spec->umask : launch_.step->umask,
      is_batch() ? launch_.job_spec->work_dir.str() : launch_.step->work_dir.str());
  auto plan = make_plan(input);
  if (!plan) return tl::unexpected<Error>(plan.error());
  if (auto ok = make_groups(input, *plan); !ok) return ok;
  if (Status ready = start_x11(*plan); !ready) return ready;
  if (Status ready = start_mpi(input, *plan); !ready) return ready;
  set_frequencies(input);
  set_gpu_clocks();
  charge_to_job(*plan);
  if (launch_.step != nullptr && launch_.step->waits_for_srun) return hold_tasks(std::move(*plan));
  launch_tasks(std::move(*plan));
  return {};
}

Status StepDaemon::hold_tasks(StepPlan plan) {
  if (!listeners_.has_owner()) return failure("the srun that the tasks wait for is out of reach");
  held_plan_ = std::move(plan);
  return {};
}

void StepDaemon::begin_held_tasks() {
  if (held_plan_ && held_may_begin_ && !held_stopped_)
    launch_tasks(*std::exchange(held_plan_, std::nullopt));
}

void StepDaemon::stop_held_tasks() {
  if (!held_plan_) return;
  for (TaskPlan& plan : held_plan_->tasks) plan.setup.stops_in_program = true;
}

void StepDaemon::end_held_tasks() {
  if (!held_plan_) return;
  for (const TaskPlan& plan : held_plan_->tasks) {
    Task& task = tasks_.emplace_back();
    task.rank = plan.rank;
    task.local = plan.local;
    task.status = SIGKILL;
    listeners_.send(FrameType::kExited, kNoTask,
                    wire::encode(protocol::TaskExit{task.rank, task.status}));
  }
  held_plan_.reset();
}

Status StepDaemon::open_pam_session() {
  if (!start_.use_pam) return {};
  const Deadline deadline(start_.unkillable_timeout, [this] {
    failure_ =
        "cannot open the PAM session (service slurm): a module took longer than UnkillableStepTimeout";
    report_ = make_report();
    (void)keep_report();
  });
  auto session = PamSession::open(user_name_of(launch_), launch_.job_spec->submit_host.str());
  if (!session) return tl::unexpected<Error>(session.error());
  pam_ = std::move(*session);
  return {};
}

// When a module does not come back, the step has ended all the same.
void StepDaemon::close_pam_session() {
  if (pam_ == nullptr) return;
  const Deadline deadline(start_.unkillable_timeout, [this] { (void)keep_report(); });
  pam_.reset();
}

// Files are opened where the job's processes would find them.
Result<StepPlan> StepDaemon::make_plan(const PlanInput& input) {
  const MountNamespaceScope scope(start_.mount_namespace);
  if (scope.error() != 0) {
    return failure(
        fmt::format("cannot enter the job's mount namespace: {}", errno_text(scope.error())));
  }
  return is_batch() ? plan_batch(input, *files_) : plan_step(input, *files_);
}

Status StepDaemon::make_groups(const PlanInput& input, StepPlan& plan) {
  if (start_.cgroup.version == 0) return {};
  auto group = StepGroup::make(start_, launch_, group_cpus(input));
  if (!group) return tl::unexpected<Error>(group.error());
  group_ = std::move(*group);
  for (TaskPlan& task : plan.tasks) {
    auto files = group_->add_task(task.local);
    if (!files) return tl::unexpected<Error>(files.error());
    task.setup.groups = std::move(*files);
  }
  if (group_->gathers()) {
    meter_.use_groups([this](uint32_t local) { return group_->usage_of(local); });
  }
  return {};
}

// What this process holds for its tasks is the job's from here on. Last, for CPUs may be fewer
// there, too.
void StepDaemon::charge_to_job(StepPlan& plan) {
  if (group_ == nullptr) return;
  if (Status ok = group_->charge_daemon(); !ok) {
    agent_.send(FrameType::kAgentLog,
                "the step daemon's memory is not counted as its job's: " + ok.error().text);
  }
  for (TaskPlan& task : plan.tasks) task.setup.oom_score = group_->oom_score_of_tasks();
}

// No process of its own: what enters its control group from outside belongs to the job, is counted
// here and ends with it.
Status StepDaemon::prepare_extern(const PlanInput& input) {
  StepPlan nobody;
  if (Status ok = make_groups(input, nobody); !ok) return ok;
  if (group_ != nullptr) {
    if (auto place = group_->add_task(0); !place) return tl::unexpected<Error>(place.error());
  }
  meter_.add_task(start_.node_index, 0);
  meter_.adopt_strangers();
  return {};
}

// Limits are set before a task becomes its user, and root may raise hard ones: who submits asks for
// some, no more.
std::vector<uint64_t> StepDaemon::limit_bounds() const {
  if (pam_) return pam_->limits();
  return launch_.uid == 0 ? std::vector<uint64_t>() : own_limits();
}

void StepDaemon::launch_tasks(StepPlan plan) {
  message_fd_ = plan.message_fd;
  whole_lines_ = plan.whole_lines;
  tasks_.resize(plan.tasks.size());
  const std::vector<uint64_t> bounds = limit_bounds();
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    TaskPlan& from = plan.tasks[i];
    Task& task = tasks_[i];
    task.rank = from.rank;
    task.local = from.local;
    if (!bounds.empty()) from.setup.limits = limits_within(from.setup.limits, bounds);
    const auto submitted = to_number<int>(from.setup.env.get("SLURM_PRIO_PROCESS")).value_or(0);
    from.setup.nice = task_nice(start_.propagate_nice, submitted, ::getpriority(PRIO_PROCESS, 0),
                                launch_.uid == 0);
    task.pid = start_task(from.setup);
    task.running = task.pid > 0;
    if (!task.running) {
      task.status = SIGKILL;
      failure_ = fmt::format("cannot start a process: {}", errno_text(errno));
    } else if (!task_epilogs().empty()) {
      task.epilog_err = ::fcntl(from.setup.std_err, F_DUPFD_CLOEXEC, 3);
    }
    meter_.add_task(task.rank, task.pid);
    adopt_streams(task, from);
    task.env = std::move(from.setup.env);
    task.groups = std::move(from.setup.groups);
  }
  for (const int fd : plan.child_ends) ::close(fd);
  report_started();
  if (!gpu_message_.empty()) write_to_user(gpu_message_, FrameType::kStderr);
  if (output_flows_) let_output_flow();
}

void StepDaemon::adopt_streams(Task& task, const TaskPlan& plan) {
  task.pty = plan.pty;
  task.out_file = plan.out_file;
  task.err_file = plan.err_file;
  for (const int file : {task.out_file, task.err_file}) {
    if (file >= 0) sinks_.add(file);
  }
  if (plan.read_out >= 0) task.out = make_stream(task, plan.read_out, FrameType::kStdout);
  if (plan.read_err >= 0) task.err = make_stream(task, plan.read_err, FrameType::kStderr);
  const int input = plan.pty ? ::fcntl(plan.read_out, F_DUPFD_CLOEXEC, 3) : plan.write_in;
  if (input >= 0) {
    task.in = std::make_shared<InputStream>(io_, input, [this] { listeners_.resume_input(); });
    if (launch_.step->io.port == 0 && !plan.pty) task.in->finish(false);
  }
}

std::shared_ptr<OutputStream> StepDaemon::make_stream(const Task& task, int fd, FrameType type) {
  return std::make_shared<OutputStream>(
      io_, fd, whole_lines_ && !task.pty,
      OutputStream::Handlers{
          [this, &task, type](std::string_view bytes) { on_output(task, type, bytes); },
          [this, &task, type] {
            // a listener learns that this stream is over
            if (type == FrameType::kStderr ? task.err_file < 0 : task.out_file < 0) {
              listeners_.send(type, task.rank, {});
            }
            check_done();
          }});
}

void StepDaemon::report_started() {
  protocol::TasksStarted started;
  for (const Task& task : tasks_) {
    started.tasks.push_back(task.rank);
    started.pids.push_back(static_cast<uint32_t>(task.pid));
  }
  listeners_.send(FrameType::kStarted, kNoTask, wire::encode(started));
}

// Lines before the last one are srun's to say beside the reason.
void StepDaemon::launch_failed(const Error& error) {
  const std::string& text = error.text;
  users_error_ = is_batch() && error.code == ErrorCode::kPathMissing;
  no_room_ = error.code == ErrorCode::kStorageFull;
  const size_t last = text.ends_with('\n') ? 0 : text.rfind('\n') + 1;
  const std::string why = text.substr(last);
  if (last > 0)
    listeners_.send(FrameType::kMessage, kNoTask, "srun: error: " + text.substr(0, last));
  failure_ = why;
  agent_.send(FrameType::kAgentLog, "the launch failed: " + why);
  listeners_.send(FrameType::kLaunchFailed, kNoTask, why);
}

void StepDaemon::let_output_flow() {
  output_flows_ = true;
  if (listeners_.congested()) return;
  for (Task& task : tasks_) {
    if (task.out && !sinks_.congested(task.out_file)) task.out->resume();
    if (task.err && !sinks_.congested(task.err_file)) task.err->resume();
  }
  if (x11_) x11_->resume();
}

}  // namespace sluice::stepd
