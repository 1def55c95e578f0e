// A running step as its srun sees it: input and output, how tasks end, signals, and what ends it
// all early.
#pragma once

#include <functional>
#include <memory>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "cli/shared/client.hpp"
#include "cli/step/mpi_hub.hpp"
#include "cli/step/mpi_spawner.hpp"
#include "cli/step/step_exits.hpp"
#include "cli/step/step_link.hpp"
#include "cli/step/step_output.hpp"
#include "cli/step/step_stdin.hpp"
#include "cli/step/x11_relay.hpp"
#include "common/protocol/ctld.hpp"
#include "common/step/mpi_parts.hpp"

namespace sluice::cli {

struct SessionOptions {
  std::string command = "srun";  // for messages
  uint32_t verbose = 0;
  bool quiet = false;
  bool disable_status = false;  // -X
  bool no_kill = false;         // the step outlives a node
  bool quit_on_interrupt = false;
  bool kill_on_bad_exit = false;
  bool kill_on_oom = false;          // --oom-kill-step
  std::vector<int> ignored_signals;  // --ignore-signals
  uint32_t wait_seconds = 0;         // after the first task's end; 0: without end
  bool pty = false;
  bool label = false;
  bool unbuffered = false;
  bool attached = false;  // sattach: signals and the end are the step's own affair
  std::optional<uint32_t> only_out, only_err, only_in;  // sattach's filters
  int input = 0;                                        // descriptors; -1: none
  int output = 1;
  int error = 2;
  std::optional<uint32_t> input_task;           // only this one gets input
  std::optional<X11Target> x11;                 // where displays of the nodes lead
  std::string work_dir;                         // of the tasks
  std::map<std::string, std::string> programs;  // by the name of the part of the step that runs it
  // --debugger-test: tasks begin stopped; says which program each runs, where and as which process
  bool for_debugger = false;
  bool lets_begin = false;  // tasks wait for our word: StepSpec::waits_for_srun
  // they are not to have it: the step ends as soon as it is there
  bool gives_up = false;
  // of a step that a task of another one spawned: its srun listens there
  int spawn_report = -1;
};

// In the place of a task's status when tasks could not be launched: the number of Slurm's error as
// it stands, else exit code 1.
[[nodiscard]] int32_t launch_failure_status(const std::string& why);

class StepSession {
 public:
  StepSession(Client& client, boost::asio::io_context& io, StepLink& link, SessionOptions options);

  // Runs the event loop until all daemons are done; the exit status. More than one part: of a step
  // in several components of a heterogeneous job, whose ranks count through all of them.
  [[nodiscard]] int run(const std::vector<protocol::CreateStepReply>& parts);
  // News of the job, when somebody watches it; call on the event loop.
  void job_updated(const protocol::JobWatchUpdate& update);
  // Its user has ended it with Ctrl-C: so is a job of its own.
  [[nodiscard]] bool is_cancelled() const { return interrupting_; }
  // What the step makes of a job of its own: the worst status of a task, or
  // launch_failure_status().
  [[nodiscard]] int32_t wait_status() const {
    return launch_status_ ? *launch_status_ : exits_.wait_status();
  }

 private:
  void connected(size_t node);
  void received(size_t node, const Frame& frame);
  void closed(size_t node);
  void output(uint32_t task, std::string_view bytes, bool error);
  void look_for_loss();  // output that could not be written: says so, once
  void tasks_started(size_t node, const Frame& frame);
  void tell_of_programs() const;
  void task_exited(size_t node, const Frame& frame);
  void launch_failed(size_t node, const std::string& why);
  void message(uint32_t task, const std::string& text);
  void node_failed(std::string_view name);
  void mpi_message(size_t node, const Frame& frame);
  void mpi_abort(const protocol::MpiMessage& request);
  void mpi_spawn(const protocol::MpiMessage& question);
  void mpi_ready();
  void make_mpi_hub();
  void make_spawner();
  [[nodiscard]] bool begins_as_spawned() const {
    return options_.spawn_report >= 0 && !spawn_reported_;
  }
  void start_input();
  void send_input(std::string_view bytes);
  void show_exits();
  void first_exit();
  void waited_long_enough();

  void wait_for_signal();
  void signalled(int number);
  void leave_step(int number);
  void interrupted();
  void send_signal(uint32_t number);
  void send_window_size(size_t node);

  void give_up_later();
  // Ends the step, with KILL at once or with TERM and KillWait: the controller is asked to, the
  // daemons themselves when it is away.
  enum class EndBy { kKill, kTerm };
  void abort(std::string_view announcement, EndBy by = EndBy::kKill);
  void say_aborted();
  void inform(std::string_view text) const;  // nothing with --quiet
  [[nodiscard]] bool is_step_gone(StepId id);
  void say_refusal();
  void check_launch();      // are the daemons that did not connect still coming?
  void wait_for_streams();  // EioTimeout, from now on
  void streams_stay_open();
  void finish_if_over();
  [[nodiscard]] int exit_status() const;

  Client& client_;
  boost::asio::io_context& io_;
  StepLink& link_;
  SessionOptions options_;
  std::vector<StepLink::Part> parts_;
  StepLayout layout_;               // of all parts
  std::string name_;                // of the step, or its first part: 12.0
  std::vector<std::string> names_;  // of the parts on the nodes, as in layout_
  StepExits exits_;
  struct Process {
    size_t node = 0;
    uint32_t pid = 0;
  };
  // of the tasks that have begun, where programs are told of
  std::map<uint32_t, Process> processes_;
  std::unique_ptr<OutputTarget> out_, err_;
  std::unique_ptr<StepStdin> stdin_;
  std::optional<MpiHub> mpi_;                 // since a daemon wanted it
  std::vector<MpiAssembler> mpi_assemblers_;  // one a node
  std::unique_ptr<MpiSpawner> spawner_;       // since a task spawned others
  bool spawn_reported_ = false;
  std::optional<X11Relay> x11_;  // with --x11
  boost::asio::signal_set signals_;
  boost::asio::steady_timer exit_timer_, wait_timer_, abort_timer_, launch_timer_, stream_timer_;
  std::chrono::steady_clock::time_point last_interrupt_{};
  uint32_t launch_checks_ = 0;
  // why a node did not take the step, as the controller says; empty: it does not
  std::string refusal_;
  bool input_started_ = false;
  bool aborting_ = false;
  std::set<std::string> failed_nodes_;
  bool interrupting_ = false;  // ended by Ctrl-C; an abort follows by itself
  bool said_aborted_ = false;
  bool ended_for_bad_exit_ = false;
  bool job_over_ = false;
  std::optional<int> mpi_status_;         // what a task wanted when it ended the step
  std::optional<int32_t> launch_status_;  // tasks could not be launched
  std::optional<int> failure_;            // the exit status when something other than a task failed
};

}  // namespace sluice::cli
