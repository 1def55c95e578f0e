// What reaches a running step: orders of its agent, frames of its listeners, output of its tasks.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/time.hpp"
#include "common/base/time_text.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "stepd/binding/memory_bounds.hpp"
#include "stepd/io/patience.hpp"
#include "stepd/process/process_tree.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {
namespace {

constexpr size_t kMaxQueuedInput = 8U << 20;
constexpr auto kKillInterval = std::chrono::milliseconds(100);
constexpr auto kMessageTime = std::chrono::seconds(1);  // for a FIFO that nobody reads from

// What it does not take is lost.
void write_to(int fd, std::string_view text, const Patience& patience) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR && !patience.over()) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

using protocol::FrameType;

void StepDaemon::on_agent_frame(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kAgentSignal:
      if (const auto request = wire::decode<protocol::SignalStepRequest>(frame.body)) {
        on_agent_signal(*request);
      }
      return;
    case FrameType::kAgentTerminate:
      if (const auto request = wire::decode<protocol::TerminateStepRequest>(frame.body)) {
        terminate(request->at_once, request->message);
      }
      return;
    case FrameType::kAgentListPids: return list_pids();
    case FrameType::kAgentStat: return report_usage();
    case FrameType::kAgentAttach:
      if (const auto request = wire::decode<protocol::AttachRequest>(frame.body)) {
        listeners_.connect(request->io, request->with_stdin, false);
        if (!tasks_.empty()) report_started();
      }
      return;
    default: return;
  }
}

// The step's own srun has accepted us, or is out of reach.
void StepDaemon::on_owner_settled() {
  let_output_flow();
  if (held_plan_ && !listeners_.has_owner()) terminate(true, {});
}

void StepDaemon::on_agent_signal(const protocol::SignalStepRequest& request) {
  if (!request.message.empty()) tell_user(request.message);
  if (request.signal == 0) return;
  const int signal = static_cast<int>(request.signal);
  // slurmstepd takes these for the end, whatever becomes of the tasks; srun goes on with them
  // meanwhile
  const bool as_end = signal == SIGTERM || (signal == SIGKILL && is_batch());
  if (as_end) {
    const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    tell_user(fmt::format("CANCELLED AT {}", format_time(now)), FrameType::kStderr);
  }
  const bool ends = signal == SIGKILL || signal == SIGTERM || signal == SIGINT;
  if (held_plan_ && ends) return terminate(true, {});
  if (held_plan_ && (signal == SIGSTOP || signal == SIGCONT)) {
    held_stopped_ = signal == SIGSTOP;
    return begin_held_tasks();
  }
  if (request.batch_shell_only) {
    for (const Task& task : tasks_) {
      if (task.running) ::kill(task.pid, signal);
    }
    return;
  }
  signal_members(signal);
}

void StepDaemon::on_listener_frame(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kStdin: return give_input(frame);
    case FrameType::kWindowSize:
      if (const auto size = wire::decode<protocol::WindowSize>(frame.body)) {
        winsize window{};
        window.ws_row = static_cast<unsigned short>(size->rows);
        window.ws_col = static_cast<unsigned short>(size->columns);
        for (Task& task : tasks_) {
          if (!task.pty || !task.out || task.out->ended()) continue;
          ::ioctl(task.out->descriptor().native_handle(), TIOCSWINSZ, &window);
        }
      }
      return;
    case FrameType::kBegin:
      held_may_begin_ = true;
      if (const auto how = wire::decode<protocol::BeginTasks>(frame.body); how && how->stopped)
        stop_held_tasks();
      return begin_held_tasks();
    case FrameType::kMpiPassed: return on_mpi_frame(frame);
    case FrameType::kX11ToNode:
      if (x11_) x11_->send(frame.task, frame.body);
      return;
    case FrameType::kSignalTasks:
      if (const auto request = wire::decode<protocol::SignalTasks>(frame.body)) {
        const auto signal = static_cast<int>(request->signal);
        // an srun that was told to end, too, and could not ask the controller: the tasks keep their
        // KillWait
        if (signal != SIGKILL || !terminating_) signal_members(signal);
      }
      return;
    default: return;
  }
}

void StepDaemon::give_input(const Frame& frame) {
  bool full = false;
  for (Task& task : tasks_) {
    if (!task.in || (frame.task != kNoTask && frame.task != task.rank)) continue;
    if (frame.body.empty()) {
      task.in->finish(task.pty);
    } else {
      task.in->write(frame.body);
    }
    full = full || task.in->queued_bytes() > kMaxQueuedInput;
  }
  if (full) listeners_.pause_input();
}

void StepDaemon::on_output(const Task& task, FrameType type, std::string_view bytes) {
  const int file = type == FrameType::kStdout ? task.out_file : task.err_file;
  if (file >= 0) {
    sinks_.write(file, labelled(bytes, task.rank, whole_layout(launch_).num_tasks));
    if (sinks_.congested(file)) pause_output_to(file);
    return;
  }
  listeners_.send(type, task.rank, bytes);
  if (!listeners_.congested()) return;
  for (Task& other : tasks_) {
    if (other.out) other.out->pause();
    if (other.err) other.err->pause();
  }
}

void StepDaemon::pause_output_to(int file) {
  for (Task& task : tasks_) {
    if (task.out && task.out_file == file) task.out->pause();
    if (task.err && task.err_file == file) task.err->pause();
  }
}

void StepDaemon::on_output_lost(int error) {
  if (std::exchange(output_lost_, true)) return;
  write_to_user(fmt::format(
      "slurmstepd: error: Cannot write the tasks' output on {}: {}. Some of it is lost.\n",
      start_.node_name, errno_text(error)));
}

// The srun of this step is gone. Its tasks end with it, wherever it died without ending them; one
// that is only out of reach has them go on, without input, and a terminal hangs up.
void StepDaemon::on_owner_lost(bool ended) {
  let_output_flow();
  if (mpi_) mpi_->alone();
  for (Task& task : tasks_) {
    if (task.in) task.in->close();
    if (task.pty && task.running) {
      ::kill(-task.pid, SIGHUP);
      ::kill(-task.pid, SIGCONT);
    }
  }
  if (!ended && !held_plan_) return;
  // one that goes after them has given up waiting for their streams (EioTimeout): it ends its job
  // itself
  srun_ended_ = std::ranges::any_of(tasks_, &Task::running);
  // else they have KillWait, whether srun lives as long or not
  if (!terminating_) terminate(true, {});
}

void StepDaemon::list_pids() {
  protocol::ListPidsReply reply;
  for (const pid_t pid : members()) {
    protocol::PidRecord record;
    record.pid = static_cast<uint32_t>(pid);
    record.step = launch_.key.id;
    for (const Task& task : tasks_) {
      if (task.pid != pid) continue;
      record.local_task = static_cast<int32_t>(task.local);
      record.task = static_cast<int32_t>(task.rank);
    }
    reply.pids.push_back(record);
  }
  agent_.send(FrameType::kAgentPids, wire::encode(reply));
}

// As slurmstepd writes to the user's standard error. An end is told by one node only, and again
// only with a reason; an empty kMessage tells srun of it alone.
void StepDaemon::tell_user(std::string_view message, FrameType type) {
  if (start_.node_index != 0) return;
  if (!message.starts_with("CANCELLED") && !message.starts_with("FAILED"))
    return write_to_user(fmt::format("slurmstepd: error: {}\n", message), type);
  const bool again = std::exchange(told_of_end_, true);
  if (again && message.find(" DUE TO ") == std::string_view::npos) return write_to_user({}, type);
  const std::string what = is_batch() ? fmt::format("JOB {}", launch_.key.id.job)
                                      : "STEP " + step_id_text(launch_.key.id);
  write_to_user(
      fmt::format("slurmstepd: error: *** {} ON {} {} ***\n", what, start_.node_name, message),
      type);
}

// On the standard error of the node's first task: a step's --label names that one. As kStderr it is
// no news to srun where that is a file.
void StepDaemon::write_to_user(const std::string& text, FrameType type) {
  const bool of_task = !is_batch() && !tasks_.empty();
  if (sinks_.has(message_fd_)) {
    sinks_.write(
        message_fd_,
        of_task ? labelled(text, tasks_.front().rank, whole_layout(launch_).num_tasks) : text);
  } else if (message_fd_ >= 0) {
    const Patience patience(kMessageTime);
    write_to(message_fd_, text, patience);
  }
  if (type == FrameType::kStderr && (message_fd_ >= 0 || !of_task || text.empty())) return;
  listeners_.send(type, of_task ? tasks_.front().rank : kNoTask, text);
}

void StepDaemon::measure() {
  std::vector<ProcessUsage> processes;
  for (const pid_t pid : members()) {
    if (const auto usage = usage_of_process(pid, start_.counted_memory))
      processes.push_back(*usage);
  }
  meter_.sample(processes);
}

void StepDaemon::sample_usage() {
  if (start_.sample_interval <= Duration::zero() || finished_) return;
  measure();
  hold_to_memory();
  sample_timer_.expires_after(start_.sample_interval);
  sample_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sample_usage();
  });
}

// OverMemoryKill. srun ends the step's other nodes; without it they are left to their own limits.
void StepDaemon::hold_to_memory() {
  const std::string excess = memory_excess(meter_.memory(), memory_bounds(start_, launch_));
  if (excess.empty() || terminating_) return;
  const std::string text =
      fmt::format("StepId={} {}, being killed", step_id_text(launch_.key.id), excess);
  agent_.send(FrameType::kAgentLog, text);
  if (is_extern()) return kill_members();  // the step itself stays for what comes into it later
  write_to_user(
      fmt::format("slurmstepd: error: {}\nslurmstepd: error: Exceeded job memory limit\n", text));
  if (!is_batch()) mpi_abort(tasks_.empty() ? 0 : tasks_.front().rank, 0, {});
  terminate(true, {});
}

void StepDaemon::report_usage() {
  measure();
  protocol::StatStepReply reply;
  reply.key = launch_.key;
  reply.tasks = meter_.tasks();
  for (const pid_t pid : members()) reply.pids.push_back(static_cast<uint32_t>(pid));
  agent_.send(FrameType::kAgentStats, wire::encode(reply));
}

std::vector<pid_t> StepDaemon::members() const {
  std::vector<pid_t> pids = descendants(::getpid());
  if (group_ == nullptr) return pids;
  const std::vector<pid_t> grouped = group_->processes();
  pids.insert(pids.end(), grouped.begin(), grouped.end());
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void StepDaemon::signal_members(int signal) const {
  for (const pid_t pid : members()) ::kill(pid, signal);
}

void StepDaemon::kill_members() const {
  signal_members(SIGKILL);
  if (group_ != nullptr) group_->kill();
}

void StepDaemon::terminate(bool at_once, const std::string& message) {
  if (finished_) return;
  if (!message.empty() && !terminating_) tell_user(message);
  end_held_tasks();
  extern_over_ = true;
  if (at_once) return kill_all();
  if (std::exchange(terminating_, true)) return;
  signal_members(SIGCONT);
  signal_members(SIGTERM);
  kill_timer_.expires_after(start_.kill_wait);
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) kill_all();
  });
  check_done();
}

void StepDaemon::kill_all() {
  if (finished_) return;
  terminating_ = true;
  killing_ = true;
  kill_members();
  if (gave_up_killing()) return;
  kill_timer_.expires_after(kKillInterval);
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) kill_all();
  });
  check_done();
}

}  // namespace sluice::stepd
