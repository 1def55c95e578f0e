#include "stepd/step_daemon.hpp"

#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

#include "common/wire/codec.hpp"

namespace sluice::stepd {

using protocol::FrameType;

StepDaemon::StepDaemon(boost::asio::io_context& io, protocol::StepdStart start,
                       protocol::StepLaunch launch, int agent)
    : io_(io),
      clock_(io),
      facts_(std::move(start), std::move(launch)),
      agent_(
          io, agent, [this](const Frame& frame) { on_agent_frame(frame); },
          [this] { on_new_agent(); }),
      listeners_(io, {facts_.launch.key, facts_.start.node_name, facts_.start.node_index, {}},
                 {[this](const Frame& frame) { on_listener_frame(frame); },
                  [this] { on_owner_settled(); }, [this](bool ended) { on_owner_lost(ended); },
                  [this] { let_output_flow(); }, [this](const std::string& text) { log(text); }}),
      signals_(
          io, [this] { on_children_ended(); }, [this] { on_stop_signal(); }),
      setup_(facts_, clock_, setup_handlers()),
      processes_(setup_.group()),
      streams_(io, facts_, listeners_,
               {[this] { ending_.check(); },
                [this](int error) { messages_.tell_of_lost_output(error); }}),
      messages_(facts_, streams_.sinks(), listeners_),
      usage_(
          facts_, clock_, processes_,
          [this](pid_t pid) { return usage_of_process(pid, facts_.start.counted_memory); },
          [this](const std::string& text) { on_memory_excess(text); }),
      limits_(facts_, clock_, setup_.group(), [this] { terminate(true, {}); }),
      children_(facts_, setup_, tasks_, usage_.meter(), messages_),
      exits_(
          facts_, tasks_, setup_.group(), listeners_,
          {[this] { return ending_.ending(); },
           [this](const Task& task) { streams_.close_input(task.rank); },
           [this](Task& task) { children_.run_epilogs(task); }, [this] { terminate(false, {}); }}),
      mpi_(listeners_, {[this] { return ending_.ending(); }, [this] { terminate(true, {}); },
                        [this](std::string_view line) { log(line); }}),
      x11_(io, facts_, listeners_),
      ending_(clock_, processes_, {facts_.start.kill_wait, facts_.start.unkillable_timeout},
              ending_step()),
      report_(facts_, clock_) {
  listeners_.encrypt(facts_.start.encrypts_io);
}

StepSetup::Handlers StepDaemon::setup_handlers() {
  return {[this](std::string_view text) { log(text); },
          [this] {
            report_.outcome().failure =
                "cannot open the PAM session (service slurm): a module took longer than "
                "UnkillableStepTimeout";
            report_.make(tasks_, usage_.meter().sums());
            (void)report_.keep();
          },
          [this] { (void)report_.keep(); }};
}

StepEnding::Step StepDaemon::ending_step() {
  StepEnding::Step step;
  step.lasts = [this] { return lasts(); };
  step.streams = [this] { return streams_.busy(); };
  step.output_waits = [this] { return streams_.waits_for_readers(); };
  step.output_flows = [this] { return streams_.flows(); };
  step.give_up_output = [this] {
    streams_.stop();
    streams_.drop();
  };
  step.on_order = [this] {
    limits_.stop();
    end_held_tasks();
  };
  step.on_unkillable = [this] { on_unkillable(); };
  step.on_over = [this] { finish(); };
  return step;
}

int StepDaemon::start() {
  const protocol::StepLaunch& launch = facts_.launch;
  const auto claimed = claim();
  if (!claimed) {
    log(claimed.error().text);
    return claimed.error().code == ErrorCode::kStorageFull ? protocol::kStepdFullSpool
                                                           : protocol::kStepdNoSpool;
  }
  if (!*claimed) return protocol::kStepdAlreadyRun;
  const auto socket = report_.spool().listen(launch.key);
  if (socket) agent_.listen(*socket);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  setup_.lock_memory();
  signals_.listen();
  if (launch.step != nullptr && launch.step->io.port != 0) {
    listeners_.connect(launch.step->io, true, true);
  } else {
    streams_.let_flow();
  }
  // a step that the next agent cannot find must not begin
  const Status prepared = socket ? prepare() : Status(tl::unexpected<Error>(socket.error()));
  if (!prepared) launch_failed(prepared.error());
  ready_ = true;
  agent_.send(FrameType::kAgentReady, {});
  usage_.start();
  limits_.start();
  if (!prepared) ending_.check();
  return 0;
}

Result<bool> StepDaemon::claim() {
  protocol::StepRecord record;
  record.key = facts_.launch.key;
  record.uid = facts_.launch.uid;
  record.daemon_pid = static_cast<uint32_t>(::getpid());
  record.node_index = facts_.start.node_index;
  record.start = clock_.time();
  return report_.spool().claim(record);
}

Status StepDaemon::prepare() {
  if (Status found = setup_.find_user(); !found) return found;
  if (facts_.is_extern()) return setup_.make_extern(usage_.meter());
  auto plan = setup_.make_plan(usage_.meter());
  if (!plan) return tl::unexpected<Error>(plan.error());
  if (Status ready = x11_.start(*plan); !ready) return ready;
  if (Status ready = mpi_.start(io_, setup_.input(), *plan); !ready) return ready;
  setup_.settle(*plan);
  if (facts_.is_batch() || !facts_.launch.step->waits_for_srun) {
    launch_tasks(std::move(*plan));
    return {};
  }
  if (!listeners_.has_owner()) return failure("the srun that the tasks wait for is out of reach");
  held_.hold(std::move(*plan));
  return {};
}

void StepDaemon::begin_held_tasks() {
  if (auto plan = held_.take()) launch_tasks(std::move(*plan));
}

void StepDaemon::launch_tasks(StepPlan plan) {
  messages_.use_file(plan.message_fd);
  if (!plan.tasks.empty()) messages_.speak_for(plan.tasks.front().rank);
  const bool whole_lines = plan.whole_lines;
  const std::string message = std::move(plan.message);
  const std::string problem = children_.start(
      std::move(plan), [&](const TaskPlan& task) { streams_.adopt(task, whole_lines); });
  if (!problem.empty()) report_.outcome().failure = problem;
  report_started();
  if (!message.empty()) messages_.write(message, FrameType::kStderr);
  if (streams_.flows()) let_output_flow();
}

void StepDaemon::report_started() {
  listeners_.send(FrameType::kStarted, kNoTask, wire::encode(tasks_.started()));
}

// Lines before the last one are srun's to say beside the reason.
void StepDaemon::launch_failed(const Error& error) {
  const std::string& text = error.text;
  const size_t last = text.ends_with('\n') ? 0 : text.rfind('\n') + 1;
  const std::string why = text.substr(last);
  if (last > 0)
    listeners_.send(FrameType::kMessage, kNoTask, "srun: error: " + text.substr(0, last));
  report_.outcome().launch_failed(facts_, error, why);
  log("the launch failed: " + why);
  listeners_.send(FrameType::kLaunchFailed, kNoTask, why);
}

void StepDaemon::let_output_flow() {
  streams_.let_flow();
  if (!listeners_.congested()) x11_.resume();
}

}  // namespace sluice::stepd
