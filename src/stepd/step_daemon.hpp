// One step on one node, from its key file to its report.
//
// claim the key -> open files, pipes or a pty -> fork the tasks -> pass input and output on, reap,
// obey the agent -> the last task ended and nothing of the step is left -> report and go.
// It never blocks, has one thread, and outlives its agent: the report is on disk before anyone is
// told, so it may leave at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/protocol/stepd_start.hpp"
#include "common/step/step_spool.hpp"
#include "stepd/agent_link.hpp"
#include "stepd/io/input_stream.hpp"
#include "common/step/mpi_parts.hpp"
#include "stepd/io/listeners.hpp"
#include "stepd/mpi/mpi_server.hpp"
#include "stepd/io/output_files.hpp"
#include "stepd/io/output_sinks.hpp"
#include "stepd/io/output_stream.hpp"
#include "stepd/process/pam_session.hpp"
#include "stepd/step_group.hpp"
#include "stepd/step_plan.hpp"
#include "stepd/process/usage_meter.hpp"
#include "stepd/x11/x11_listener.hpp"

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
  struct Task {
    uint32_t rank = 0;
    uint32_t local = 0;
    pid_t pid = -1;
    int status = 0;
    bool running = false;
    bool exited = false;  // the process did, but not all that it left behind (--wait-for-children)
    pid_t epilog = -1;
    // the task's standard error, kept open for its epilogs; -1: there are none
    int epilog_err = -1;
    bool pty = false;
    int out_file = -1;
    int err_file = -1;
    Environment env;
    std::vector<std::string> groups;  // as in TaskSetup, for its epilogs
    std::shared_ptr<OutputStream> out;
    std::shared_ptr<OutputStream> err;
    std::shared_ptr<InputStream> in;
  };

  // starting (step_daemon.cpp)
  void lock_memory();
  Status prepare();
  Result<StepPlan> make_plan(const PlanInput& input);
  Status make_groups(const PlanInput& input, StepPlan& plan);
  void charge_to_job(StepPlan& plan);
  Status prepare_extern(const PlanInput& input);
  Status open_pam_session();
  void close_pam_session();
  // For limits_within(); empty: there are none.
  [[nodiscard]] std::vector<uint64_t> limit_bounds() const;
  // --cpu-freq and --gpu-freq. What cannot be had is told to the agent's log; the step runs all the
  // same.
  void set_frequencies(const PlanInput& input);
  void set_gpu_clocks();
  void give_frequencies_back();
  Status hold_tasks(StepPlan plan);
  // No-op where something still holds them.
  void begin_held_tasks();
  // They begin stopped in their programs.
  void stop_held_tasks();
  // Those that wait for their srun end without having begun.
  void end_held_tasks();
  void launch_tasks(StepPlan plan);
  void adopt_streams(Task& task, const TaskPlan& plan);
  std::shared_ptr<OutputStream> make_stream(const Task& task, int fd, protocol::FrameType type);
  void report_started();
  void launch_failed(const Error& error);
  void let_output_flow();

  // MPI (step_mpi.cpp)
  Status start_mpi(const PlanInput& input, StepPlan& plan);
  void share_mpi(const protocol::MpiMessage& message);
  void on_mpi_frame(const Frame& frame);
  void mpi_abort(uint32_t task, int32_t status, const std::string& why);
  void tell_of_mpi(std::string_view text);

  // X11 (step_x11.cpp)
  [[nodiscard]] bool forwards_x11() const;
  Status start_x11(StepPlan& plan);

  // while it runs (step_events.cpp)
  void on_agent_frame(const Frame& frame);
  void on_agent_signal(const protocol::SignalStepRequest& request);
  void on_listener_frame(const Frame& frame);
  void give_input(const Frame& frame);
  void on_output(const Task& task, protocol::FrameType type, std::string_view bytes);
  void pause_output_to(int file);
  void on_output_lost(int error);
  void on_owner_settled();
  void on_owner_lost(bool ended);
  void list_pids();
  void tell_user(std::string_view message,
                 protocol::FrameType type = protocol::FrameType::kMessage);
  void write_to_user(const std::string& text,
                     protocol::FrameType type = protocol::FrameType::kMessage);
  void sample_usage();
  void hold_to_memory();
  // Looks at the processes now.
  void measure();
  void report_usage();
  // Every process of the step: below this one, and in its control group.
  [[nodiscard]] std::vector<pid_t> members() const;
  void signal_members(int signal) const;
  // SIGKILL; who is born meanwhile may be missed: it repeats until nothing is left.
  void kill_members() const;
  void terminate(bool at_once, const std::string& message);
  void kill_all();

  // ending (step_end.cpp)
  void wait_for_children();
  void reap();
  void on_task_exit(Task& task, int status);
  [[nodiscard]] bool waits_for_children(const Task& task) const;
  // --oom-kill-step: looks again and again whether the kernel killed a process of the step.
  void watch_memory();
  [[nodiscard]] bool kills_step_on_oom() const;
  [[nodiscard]] std::vector<std::string> task_epilogs() const;
  void run_epilog(Task& task);
  [[nodiscard]] TaskSetup epilog_setup(const Task& task) const;
  void check_done();
  bool leftovers_may_end_alone();
  // SIGKILL was sent; true when UnkillableStepTimeout has gone by since it was sent first.
  bool gave_up_killing();
  void look_for_oom();
  void look_for_refused_forks();
  [[nodiscard]] int32_t status_of(const Task& task, int status) const;
  void finish();
  // Who reads what is to be told yet may be slow: the job's control group does not wait for it.
  void leave_job_soon();
  [[nodiscard]] protocol::StepEnded make_report() const;
  // Writes the report, unless the agent needs it no longer.
  [[nodiscard]] Status keep_report();
  void keep_report_later();
  void on_stop_signal();
  void end_after_report();
  void leave();

  [[nodiscard]] bool is_batch() const { return launch_.step == nullptr; }
  [[nodiscard]] bool is_extern() const { return launch_.key.id.step == kExternStep; }

  boost::asio::io_context& io_;
  protocol::StepdStart start_;
  protocol::StepLaunch launch_;
  StepSpool spool_;
  UserIdentity user_;
  std::unique_ptr<OutputFiles> files_;
  OutputSinks sinks_;  // for labelled output; of files_
  AgentLink agent_;
  Listeners listeners_;
  boost::asio::signal_set child_signal_;
  boost::asio::signal_set stop_signals_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer end_timer_;
  boost::asio::steady_timer sample_timer_;
  boost::asio::steady_timer memory_timer_;
  boost::asio::steady_timer report_timer_;
  std::vector<Task> tasks_;
  std::optional<PlanInput> plan_input_;
  std::optional<StepPlan> held_plan_;  // until srun lets the tasks begin
  bool held_may_begin_ = false;        // it does
  bool held_stopped_ = false;          // but the job is suspended
  std::unique_ptr<MpiServer> mpi_;     // null: the tasks need none
  MpiAssembler mpi_assembler_;
  std::unique_ptr<PamSession> pam_;   // null: none is opened
  std::unique_ptr<X11Listener> x11_;  // null: the tasks have no display through us
  int message_fd_ = -1;
  bool whole_lines_ = false;
  bool output_flows_ = false;
  bool ready_ = false;
  bool terminating_ = false;
  bool killing_ = false;
  bool told_of_end_ = false;
  bool output_lost_ = false;  // and the user was told
  bool extern_over_ = false;
  bool swept_ = false;  // what the tasks left behind is being killed
  bool finished_ = false;
  bool unkillable_ = false;  // some process did not go: the node is to be drained
  std::optional<std::chrono::steady_clock::time_point> first_kill_;
  std::optional<std::chrono::steady_clock::time_point> leftovers_since_;
  uint32_t end_checks_ = 0;
  std::string failure_;
  std::string gpu_message_;   // what the user is told of the GPUs' clocks once the tasks have begun
  bool users_error_ = false;  // StepEnded::users_error
  bool srun_ended_ = false;   // StepEnded::srun_ended
  bool no_room_ = false;      // the spool folder does not take the script
  std::unique_ptr<StepGroup> group_;  // null: no control groups
  bool out_of_memory_ = false;
  protocol::StepEnded report_;  // once finished_
  UsageMeter meter_;
};

}  // namespace sluice::stepd
