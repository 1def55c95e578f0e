// One step on one node, from its key file to its report.
//
// claim the key -> open files, pipes or a pty -> fork the tasks -> pass input and output on, reap,
// obey the agent -> the last task ended and nothing of the step is left -> report and go.
// It never blocks, has one thread, and outlives its agent: the report is on disk before anyone is
// told, so it may leave at once.
//
// This class wires the parts that know how each of these is done.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "stepd/agent_link.hpp"
#include "stepd/event_clock.hpp"
#include "stepd/held_tasks.hpp"
#include "stepd/io/listeners.hpp"
#include "stepd/io/task_streams.hpp"
#include "stepd/io/user_messages.hpp"
#include "stepd/limit_watch.hpp"
#include "stepd/mpi/mpi_link.hpp"
#include "stepd/process/daemon_signals.hpp"
#include "stepd/process/step_processes.hpp"
#include "stepd/process/task_exits.hpp"
#include "stepd/process/task_processes.hpp"
#include "stepd/process/task_table.hpp"
#include "stepd/step_ending.hpp"
#include "stepd/step_facts.hpp"
#include "stepd/step_report.hpp"
#include "stepd/step_setup.hpp"
#include "stepd/usage_watch.hpp"
#include "stepd/x11/x11_forwarding.hpp"

namespace sluice::stepd {

class StepDaemon {
 public:
  // `agent` is the inherited socket; `launch` is start.launch decoded. Both are kept.
  StepDaemon(boost::asio::io_context& io, protocol::StepdStart start, protocol::StepLaunch launch,
             int agent);

  // Runs the step: call once, then the io_context until it has nothing left to do. The exit status
  // for main.
  int start();

 private:
  // starting (step_daemon.cpp)
  [[nodiscard]] StepSetup::Handlers setup_handlers();
  [[nodiscard]] StepEnding::Step ending_step();
  [[nodiscard]] Result<bool> claim();
  [[nodiscard]] Status prepare();
  // No-op where something still holds them.
  void begin_held_tasks();
  void launch_tasks(StepPlan plan);
  void report_started();
  void launch_failed(const Error& error);
  void let_output_flow();
  void log(std::string_view text) { agent_.send(protocol::FrameType::kAgentLog, text); }

  // while it runs (step_events.cpp)
  void on_agent_frame(const Frame& frame);
  void on_new_agent();
  void on_agent_signal(const protocol::SignalStepRequest& request);
  void on_listener_frame(const Frame& frame);
  void on_owner_settled();
  void on_owner_lost(bool ended);
  void on_memory_excess(const std::string& text);
  void list_pids();

  // ending (step_end.cpp)
  void on_children_ended();
  [[nodiscard]] bool lasts() const;
  void terminate(bool at_once, const std::string& message);
  // Those that wait for their srun end without having begun.
  void end_held_tasks();
  void on_unkillable();
  void finish();
  void on_stop_signal();
  void end_after_report();
  void leave();

  boost::asio::io_context& io_;
  EventClock clock_;
  StepFacts facts_;
  AgentLink agent_;
  Listeners listeners_;
  DaemonSignals signals_;
  TaskTable tasks_;
  HeldTasks held_;
  StepSetup setup_;
  LiveProcesses processes_;
  TaskStreams streams_;
  UserMessages messages_;
  UsageWatch usage_;
  LimitWatch limits_;
  TaskProcesses children_;
  TaskExits exits_;
  MpiLink mpi_;
  X11Forwarding x11_;
  StepEnding ending_;
  ReportKeeper report_;
  bool ready_ = false;
  bool suspended_ = false;  // by the controller: only it lets the tasks go on
};

}  // namespace sluice::stepd
