// What reaches a running step: orders of its agent, and frames of its listeners.
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "common/base/time_text.hpp"
#include "common/wire/codec.hpp"
#include "stepd/step_daemon.hpp"
#include "stepd/step_orders.hpp"

namespace sluice::stepd {

using protocol::FrameType;

namespace {
// The end of a job is told to its script first, and on each node by itself.
constexpr auto kGraceOfOrder = std::chrono::seconds(2);
}  // namespace

void StepDaemon::on_agent_frame(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kAgentSignal:
      if (const auto request = wire::decode<protocol::SignalStepRequest>(frame.body)) {
        on_agent_signal(*request);
      }
      return agent_.send(FrameType::kAgentTold, {});
    case FrameType::kAgentTerminate:
      if (const auto request = wire::decode<protocol::TerminateStepRequest>(frame.body)) {
        terminate(request->at_once, request->message);
      }
      return agent_.send(FrameType::kAgentTold, {});
    case FrameType::kAgentListPids: return list_pids();
    case FrameType::kAgentStat:
      return agent_.send(FrameType::kAgentStats, wire::encode(usage_.answer()));
    case FrameType::kAgentAttach:
      if (const auto request = wire::decode<protocol::AttachRequest>(frame.body)) {
        listeners_.connect(request->io, request->with_stdin, false);
        if (!tasks_.empty()) report_started();
      }
      return;
    default: return;
  }
}

void StepDaemon::on_new_agent() {
  if (ready_) agent_.send(FrameType::kAgentReady, {});
  if (ending_.over()) agent_.send(FrameType::kAgentEnded, wire::encode(report_.report()));
}

// The step's own srun has accepted us, or is out of reach.
void StepDaemon::on_owner_settled() {
  let_output_flow();
  if (held_.any() && !listeners_.has_owner()) terminate(true, {});
}

void StepDaemon::on_agent_signal(const protocol::SignalStepRequest& request) {
  if (!request.message.empty()) messages_.tell(request.message);
  const SignalOrder order = order_of(request, facts_.is_batch(), held_.any());
  const int signal = static_cast<int>(request.signal);
  if (order.tells_of_end) {
    messages_.tell(fmt::format("CANCELLED AT {}", format_time(clock_.time())), FrameType::kStderr);
  }
  const bool suspends_or_resumes = request.issued != kNoTime;
  if (suspends_or_resumes) suspended_ = signal == SIGSTOP;
  else if (suspended_ && signal == SIGCONT) return;  // it was on its way already
  switch (order.target) {
    case SignalTarget::kNobody: return;
    case SignalTarget::kTheEnd: return terminate(true, {});
    case SignalTarget::kHolding: held_.suspend(signal == SIGSTOP); return begin_held_tasks();
    case SignalTarget::kTasks:
      children_.signal(signal);
      if (signal == SIGKILL) processes_.thaw();
      return;
    case SignalTarget::kAll:
      if (!suspends_or_resumes) return processes_.signal(signal);
      return suspended_ ? processes_.suspend() : processes_.resume();
  }
}

void StepDaemon::on_listener_frame(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kStdin: return streams_.give_input(frame);
    case FrameType::kWindowSize:
      if (const auto size = wire::decode<protocol::WindowSize>(frame.body)) streams_.resize(*size);
      return;
    case FrameType::kBegin: {
      const auto how = wire::decode<protocol::BeginTasks>(frame.body);
      held_.let_begin(how && how->stopped);
      return begin_held_tasks();
    }
    case FrameType::kMpiPassed: return mpi_.received(frame.body);
    case FrameType::kX11ToNode: return x11_.received(frame.task, frame.body);
    case FrameType::kSignalTasks:
      if (const auto request = wire::decode<protocol::SignalTasks>(frame.body)) {
        const auto signal = static_cast<int>(request->signal);
        // an srun that was told to end, too, and could not ask the controller: the tasks keep their
        // KillWait
        const bool goes_on = suspended_ && signal == SIGCONT;
        if (!goes_on && (signal != SIGKILL || !ending_.ending())) processes_.signal(signal);
      }
      return;
    default: return;
  }
}

// The srun of this step is gone. Its tasks end with it, wherever it died without ending them; one
// that is only out of reach has them go on, without input, and a terminal hangs up.
void StepDaemon::on_owner_lost(bool ended) {
  let_output_flow();
  mpi_.alone();
  streams_.close_all_input();
  children_.hang_up();
  if (!ended && !held_.any()) return;
  // one that goes after them has given up waiting for their streams (EioTimeout): it ends its job
  // itself
  report_.outcome().srun_ended = tasks_.any_runs();
  // a job that ends has told srun already, and its tasks have KillWait, whether srun lives as long
  // or not
  ending_.end_unless_ordered(kGraceOfOrder);
}

// OverMemoryKill. srun ends the step's other nodes; without it they are left to their own limits.
void StepDaemon::on_memory_excess(const std::string& text) {
  if (ending_.ending()) return;
  log(text);
  // the step itself stays for what comes into it later
  if (facts_.is_extern()) return processes_.kill();
  messages_.write(
      fmt::format("slurmstepd: error: {}\nslurmstepd: error: Exceeded job memory limit\n", text));
  if (!facts_.is_batch()) mpi_.abort(tasks_.empty() ? 0 : tasks_.first_rank(), 0, {});
  terminate(true, {});
}

void StepDaemon::list_pids() {
  protocol::ListPidsReply reply;
  for (const pid_t pid : processes_.members()) {
    protocol::PidRecord record;
    record.pid = static_cast<uint32_t>(pid);
    record.step = facts_.launch.key.id;
    if (const Task* task = tasks_.of_process(pid)) {
      record.local_task = static_cast<int32_t>(task->local);
      record.task = static_cast<int32_t>(task->rank);
    }
    reply.pids.push_back(record);
  }
  agent_.send(FrameType::kAgentPids, wire::encode(reply));
}

}  // namespace sluice::stepd
