// How a step ends: its processes are reaped, what they left behind is killed, the report is written
// and told.
#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/wait_status.hpp"
#include "common/step/step_spool.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "stepd/process/process_tree.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {
namespace {

constexpr auto kMemoryInterval = std::chrono::milliseconds(250);
constexpr auto kEndInterval = std::chrono::milliseconds(20);
constexpr auto kLeftoverInterval = std::chrono::milliseconds(250);
constexpr auto kTimeToTell = std::chrono::milliseconds(250);
constexpr auto kReportRetry = std::chrono::seconds(1);
constexpr auto kLeftoverGrace = std::chrono::seconds(2);
constexpr uint32_t kMaxEndChecks = 250;  // 5 s: then streams that somebody else holds are given up

}  // namespace

using protocol::FrameType;

void StepDaemon::wait_for_children() {
  child_signal_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    wait_for_children();
    reap();
  });
}

void StepDaemon::reap() {
  int status = 0;
  rusage used{};
  siginfo_t over{};
  // looked at before it is waited for: after that nothing is known of it any more
  while (::waitid(P_ALL, 0, &over, WEXITED | WNOHANG | WNOWAIT) == 0 && over.si_pid > 0) {
    ProcessUsage last = usage_of_process(over.si_pid).value_or(ProcessUsage{});
    last.pid = over.si_pid;
    const pid_t pid = ::wait4(over.si_pid, &status, 0, &used);
    over.si_pid = 0;
    if (pid <= 0) break;
    if (WIFSTOPPED(status)) {
      pass_stop(pid, status);
      continue;
    }
    meter_.ended(last, used);
    for (Task& task : tasks_) {
      if (task.pid == pid && task.running) {
        task.status = status;
        task.exited = true;
      }
      if (task.epilog == pid) {
        task.epilog = -1;
        if (WIFSIGNALED(status))
          write_to_user(fmt::format("slurmstepd: error: TaskEpilog failed status={}\n", status),
                        FrameType::kMessage);
      }
    }
  }
  for (Task& task : tasks_) {
    if (task.running && task.exited && !waits_for_children(task)) on_task_exit(task, task.status);
  }
  check_done();
}

void StepDaemon::on_task_exit(Task& task, int status) {
  task.running = false;
  task.status = status = status_of(task, status);
  if (task.in) {
    task.in->close();
    listeners_.resume_input();  // it may have been what had no room
  }
  listeners_.send(FrameType::kExited, kNoTask, wire::encode(protocol::TaskExit{task.rank, status}));
  run_epilog(task);
  const bool kill_others = launch_.step != nullptr && (launch_.step->kill_on_bad_exit == UINT32_MAX
                                                           ? start_.kill_on_bad_exit
                                                           : launch_.step->kill_on_bad_exit != 0);
  // srun sees to it on all nodes, as long as there is one
  if (status != 0 && kill_others && !listeners_.has_owner()) terminate(false, {});
}

// Orphans become our children: their ends are heard of, too.
bool StepDaemon::waits_for_children(const Task& task) const {
  return group_ != nullptr && !terminating_ && launch_.step != nullptr &&
         launch_.step->wait_for_children && !group_->processes_of(task.local).empty();
}

bool StepDaemon::kills_step_on_oom() const {
  for (const Toggle said :
       {launch_.step == nullptr ? Toggle::kDefault : launch_.step->oom_kill_step,
        launch_.job_spec->oom_kill_step}) {
    if (said != Toggle::kDefault) return said == Toggle::kYes;
  }
  return start_.oom_kill_step;
}

// The other nodes hear of it from srun, which sees a task end so.
void StepDaemon::watch_memory() {
  if (finished_ || terminating_ || group_ == nullptr || !kills_step_on_oom()) return;
  if (group_->oom_kills() > 0) return terminate(true, {});
  memory_timer_.expires_after(kMemoryInterval);
  memory_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) watch_memory();
  });
}

// A task of which the kernel killed a process for want of memory has failed, whatever it says
// itself.
int32_t StepDaemon::status_of(const Task& task, int status) const {
  const bool starved = group_ != nullptr && group_->oom_kills_of(task.local) > 0;
  return starved ? protocol::kOutOfMemoryStatus : status;
}

// The site's epilog and the user's, in this order.
std::vector<std::string> StepDaemon::task_epilogs() const {
  std::vector<std::string> epilogs;
  if (!start_.task_epilog.empty()) epilogs.push_back(start_.task_epilog);
  if (launch_.step != nullptr && !launch_.step->task_epilog.empty()) {
    epilogs.push_back(launch_.step->task_epilog.str());
  }
  return epilogs;
}

void StepDaemon::run_epilog(Task& task) {
  if (task.epilog_err < 0) return;
  const int err = std::exchange(task.epilog_err, -1);
  if (const auto null = files_->null_device()) {
    TaskSetup setup = epilog_setup(task);
    setup.std_in = setup.std_out = *null;
    setup.std_err = err;
    task.epilog = start_epilogs(setup, task_epilogs());
    if (task.epilog < 0)
      write_to_user(
          fmt::format("slurmstepd: error: TaskEpilog cannot be started: {}\n", errno_text(errno)),
          FrameType::kMessage);
  }
  ::close(err);
}

TaskSetup StepDaemon::epilog_setup(const Task& task) const {
  TaskSetup setup;
  setup.user = user_;
  setup.work_dir = is_batch() ? launch_.job_spec->work_dir.str() : launch_.step->work_dir.str();
  setup.env = task.env;
  setup.env.set("SLURM_TASK_PID", std::to_string(task.pid));
  setup.groups = task.groups;
  if (group_ != nullptr) setup.oom_score = group_->oom_score_of_tasks();
  setup.sent_limits = is_batch() ? launch_.job_spec->limits : launch_.step->limits;
  if (pam_) setup.limits = pam_->limits();
  setup.mount_namespace = start_.mount_namespace;
  return setup;
}

void StepDaemon::check_done() {
  if (finished_ || !ready_ || held_plan_) return;
  const bool busy = std::any_of(tasks_.begin(), tasks_.end(),
                                [](const Task& task) { return task.running || task.epilog > 0; });
  if (busy || (is_extern() && failure_.empty() && !extern_over_)) return;
  const bool left = !members().empty();
  const bool streaming =
      sinks_.waiting() || std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
        return (task.out && !task.out->ended()) || (task.err && !task.err->ended());
      });
  if (!left && !streaming) return finish();
  if (left && !leftovers_may_end_alone()) {
    kill_members();
    if (gave_up_killing()) return;
  }
  // a stream waits for its listener, or the reader of its FIFO, as long as that takes; without one,
  // once nobody can write any more, or when the step was killed, not for ever
  const bool waits = (listeners_.congested() || sinks_.waiting()) && !killing_;
  if (!left && !waits && output_flows_ && ++end_checks_ > kMaxEndChecks) {
    for (Task& task : tasks_) {
      if (task.out) task.out->stop();
      if (task.err) task.err->stop();
    }
    sinks_.drop();
  }
  if (finished_) return;
  // the end of a process that has KillWait is heard of
  const bool long_wait = left && leftovers_since_ && !killing_ &&
                         std::chrono::steady_clock::now() - *leftovers_since_ >= kLeftoverGrace;
  end_timer_.expires_after(long_wait ? kLeftoverInterval : kEndInterval);
  end_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) check_done();
  });
}

// Processes that got TERM together with the tasks have a moment to end. Those that do something
// about it have KillWait, as the tasks have: an srun of a batch script passes on what its own tasks
// say until they have ended.
bool StepDaemon::leftovers_may_end_alone() {
  if (!terminating_ || killing_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!leftovers_since_) leftovers_since_ = now;
  return now - *leftovers_since_ < kLeftoverGrace || std::ranges::any_of(members(), catches_term);
}

bool StepDaemon::gave_up_killing() {
  const auto now = std::chrono::steady_clock::now();
  if (!first_kill_) first_kill_ = now;
  const Duration limit = start_.unkillable_timeout;
  if (limit <= Duration::zero() || now - *first_kill_ < limit) return false;
  if (members().empty()) return false;
  agent_.send(FrameType::kAgentLog, "processes do not end after SIGKILL");
  for (Task& task : tasks_) {
    if (task.out) task.out->stop();
    if (task.err) task.err->stop();
    if (task.running) task.status = SIGKILL;
    task.running = false;
  }
  unkillable_ = true;
  finish();
  return true;
}

protocol::StepEnded StepDaemon::make_report() const {
  protocol::StepEnded report;
  report.key = launch_.key;
  report.nodes = start_.node_name;
  for (const Task& task : tasks_)
    report.exit_status = worse_of_tasks(report.exit_status, task.status);
  report.failure = failure_;
  report.users_error = users_error_;
  report.srun_ended = srun_ended_;
  report.drain_node = unkillable_ || no_room_;
  if (report.drain_node)
    report.happened = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  if (!failure_.empty() && report.exit_status == 0)
    report.exit_status = protocol::kLaunchFailedStatus;
  report.out_of_memory = out_of_memory_;
  if (out_of_memory_) report.exit_status = protocol::kOutOfMemoryStatus;
  report.usage = meter_.sums();
  return report;
}

// Tells the user, on every node, of processes that the kernel killed for want of memory.
void StepDaemon::look_for_oom() {
  const uint64_t kills = group_ == nullptr ? 0 : group_->oom_kills();
  if (kills == 0) return;
  out_of_memory_ = true;
  std::string text = fmt::format(
      "slurmstepd: error: Detected {} oom_kill event{} in StepId={}. Some of the step tasks have "
      "been OOM Killed.\n",
      kills, kills == 1 ? "" : "s", step_id_text(launch_.key.id));
  for (const std::string& victim : group_->oom_victims())
    text += fmt::format("slurmstepd: error: out of memory: {} was killed\n", victim);
  write_to_user(text);
}

// A program that cannot fork says so in many words or none: the user learns whose limit it was.
void StepDaemon::look_for_refused_forks() {
  const uint64_t refusals = group_ == nullptr ? 0 : group_->fork_refusals();
  if (refusals == 0) return;
  write_to_user(fmt::format(
      "slurmstepd: error: StepId={}: {} fork{} refused, the job's limit of {} processes and "
      "threads on this node was reached\n",
      step_id_text(launch_.key.id), refusals, refusals == 1 ? "" : "s", group_->most_pids()));
}

void StepDaemon::finish() {
  finished_ = true;
  kill_timer_.cancel();
  end_timer_.cancel();
  sample_timer_.cancel();
  memory_timer_.cancel();
  measure();
  look_for_oom();
  look_for_refused_forks();
  if (mpi_) mpi_->stop();
  if (x11_) x11_->stop();
  report_ = make_report();
  if (is_batch()) remove_batch_folder(start_.spool_dir, launch_.key.id.job);
  close_pam_session();
  give_frequencies_back();
  const Status kept = keep_report();
  if (group_ != nullptr) group_->remove();
  leave_job_soon();
  agent_.send(FrameType::kAgentEnded, wire::encode(report_));
  listeners_.send(FrameType::kNodeDone, kNoTask, {});
  if (kept) return end_after_report();
  agent_.send(FrameType::kAgentLog, kept.error().text);
  keep_report_later();
}

void StepDaemon::leave_job_soon() {
  if (group_ == nullptr) return;
  memory_timer_.expires_after(kTimeToTell);
  memory_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (Status left = group_->release_daemon(); !left)
      agent_.send(FrameType::kAgentLog, left.error().text);
  });
}

Status StepDaemon::keep_report() {
  if (!spool_.is_claimed(launch_.key)) return {};  // the controller has it
  Status written = spool_.write_end(report_);
  if (written && !spool_.is_claimed(launch_.key)) spool_.remove(launch_.key);  // it has it just now
  return written;
}

// Until it is on disk (which may be full), only this process knows how the step ended.
void StepDaemon::keep_report_later() {
  report_timer_.expires_after(kReportRetry);
  report_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (keep_report()) return end_after_report();
    keep_report_later();
  });
}

// One whose report has no room on the disk says what it can: the agent was told, and this is the
// end of waiting.
void StepDaemon::on_stop_signal() {
  stop_signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    on_stop_signal();
    if (!finished_) return terminate(true, {});
    (void)keep_report();
    leave();
  });
}

void StepDaemon::end_after_report() {
  spool_.remove_socket(launch_.key);
  agent_.finish([this] { listeners_.finish([this] { leave(); }); });
  if (!terminating_) return;
  // for a listener that takes nothing: tasks that ended on TERM have left it KillWait
  end_timer_.expires_after(kMaxEndChecks * kEndInterval +
                           (killing_ ? Duration::zero() : start_.kill_wait));
  end_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) leave();
  });
}

void StepDaemon::leave() {
  child_signal_.cancel();
  stop_signals_.cancel();
  io_.stop();
}

}  // namespace sluice::stepd
