#include "cli/step/step_session.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/step/allocation.hpp"
#include "cli/step/defined_options.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/shared/terminal.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/wait_status.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/node_failure.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli {
namespace {

using protocol::FrameType;

constexpr size_t kInputAhead = 1U << 20;  // bytes that may wait for the slowest daemon
constexpr auto kExitGather = std::chrono::milliseconds(50);  // ends of one moment share a line
constexpr auto kLaunchCheck = std::chrono::seconds(2);
constexpr uint32_t kOutsideChecks = 30;

}  // namespace

int32_t launch_failure_status(const std::string& why) {
  const auto number = error_number_of(why);
  return number ? static_cast<int32_t>(*number) : error_exit() << 8;
}

StepSession::StepSession(Client& client, boost::asio::io_context& io, StepLink& link,
                         SessionOptions options)
    : client_(client),
      io_(io),
      link_(link),
      options_(std::move(options)),
      signals_(io),
      exit_timer_(io),
      wait_timer_(io),
      abort_timer_(io),
      launch_timer_(io),
      stream_timer_(io) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT}) {
    signals_.add(number);
  }
  if (options_.pty) signals_.add(SIGWINCH);
  if (options_.x11) {
    x11_.emplace(io_, *options_.x11,
                 [this](size_t node, uint32_t connection, std::string_view bytes) {
                   link_.send_node(node, FrameType::kX11ToNode, bytes, connection);
                 });
  }
}

int StepSession::run(const std::vector<protocol::CreateStepReply>& parts) {
  for (const protocol::CreateStepReply& part : parts) {
    const std::vector<StepNode>& nodes = part.layout.nodes;
    parts_.push_back({part.id, nodes.size()});
    layout_.num_tasks += part.layout.num_tasks;
    names_.insert(names_.end(), nodes.size(), step_id_text(part.id));
    layout_.nodes.insert(layout_.nodes.end(), nodes.begin(), nodes.end());
  }
  name_ = step_id_text(parts_.front().id);
  exits_ = StepExits(layout_.num_tasks);
  const Labels labels = !options_.label                       ? Labels::kNone
                        : options_.pty || options_.unbuffered ? Labels::kOfPieces
                                                              : Labels::kOfLines;
  out_ = std::make_unique<OutputTarget>(options_.output, labels, layout_.num_tasks);
  err_ = std::make_unique<OutputTarget>(options_.error, labels, layout_.num_tasks);
  if (options_.verbose > 0) {
    for (size_t i = 0; i < layout_.nodes.size(); ++i) {
      const StepNode& node = layout_.nodes[i];
      say(options_.command,
          fmt::format("launching StepId={} on host {}, {} tasks: {}", names_[i], node.name,
                      node.tasks.size(),
                      task_list(node.tasks).substr(node.tasks.size() == 1 ? 5 : 6)));
    }
  }
  say_debug(options_.command, options_.verbose, "Entering slurm_step_launch");
  std::optional<RawTerminal> raw;
  if (options_.pty) raw.emplace();
  link_.start(parts_, layout_,
              {[this](size_t node) { connected(node); },
               [this](size_t node, const Frame& frame) {
                 received(node, frame);
                 wait_for_streams();
               },
               [this](size_t node) { closed(node); }});
  wait_for_signal();
  check_launch();
  if (options_.gives_up) {
    inform(fmt::format(
        "launch/slurm: launch_p_step_launch: StepId={} aborted before step completely launched.",
        name_));
    abort({});
  }
  const auto guard = boost::asio::make_work_guard(io_);
  io_.restart();
  io_.run();
  if (stdin_) stdin_->stop();
  if (x11_) x11_->stop();
  signals_.cancel();
  link_.stop();
  out_->finish();
  err_->finish();
  look_for_loss();
  raw.reset();
  show_exits();
  const bool told = said_aborted_ && !ended_for_bad_exit_;
  if (!told && !options_.attached && exits_.any_killed()) {
    for (const StepLink::Part& part : parts_)
      inform(fmt::format("Force Terminated StepId={}", step_id_text(part.id)));
  }
  const int status = exit_status();
  return spawner_ ? std::max(status, spawner_->exit_status()) : status;
}

int StepSession::exit_status() const {
  if (mpi_status_) return *mpi_status_;
  const int of_tasks = options_.attached ? exits_.highest_code() : exits_.exit_code();
  if (failure_) return std::max(*failure_, of_tasks);
  // tasks that trap the signal say themselves what came of them
  return interrupting_ && !exits_.all_exited() ? std::max(128 + SIGINT, of_tasks) : of_tasks;
}

void StepSession::job_updated(const protocol::JobWatchUpdate& update) {
  if (const auto lost = protocol::failed_node(update.message)) node_failed(*lost);
  else if (!update.message.empty()) say(options_.command, update.message);
  if (!is_terminal(update.state) || job_over_) return;
  job_over_ = true;  // check_launch() gives up on daemons that never came
  if (exits_.all_exited() || aborting_) return;
  say_refusal();
  say_aborted();
  give_up_later();  // a node that is lost to the controller may never say that its tasks ended
}

void StepSession::connected(size_t node) {
  if (options_.lets_begin && !options_.gives_up) {
    link_.send_node(node, FrameType::kBegin,
                    wire::encode(protocol::BeginTasks{options_.for_debugger}));
  }
  if (options_.pty) send_window_size(node);
  if (link_.all_connected() && !input_started_) start_input();
}

void StepSession::received(size_t node, const Frame& frame) {
  switch (frame.type) {
    case FrameType::kStarted: return tasks_started(node, frame);
    case FrameType::kStdout: return output(frame.task, frame.body, false);
    case FrameType::kStderr: return output(frame.task, frame.body, true);
    case FrameType::kExited: return task_exited(node, frame);
    case FrameType::kLaunchFailed: return launch_failed(node, frame.body);
    case FrameType::kMessage: return message(frame.task, frame.body);
    case FrameType::kMpi: return mpi_message(node, frame);
    case FrameType::kX11Opened:
      if (x11_) x11_->opened(node, frame.task);
      return;
    case FrameType::kX11FromNode:
      if (x11_) x11_->received(node, frame.task, frame.body);
      return;
    default: return;
  }
}

void StepSession::output(uint32_t task, std::string_view bytes, bool error) {
  const auto& only = error ? options_.only_err : options_.only_out;
  if (only && *only != task) return;
  (error ? *err_ : *out_).write(task, bytes);
  look_for_loss();
}

void StepSession::look_for_loss() {
  const int why = out_->lost() != 0 ? out_->lost() : err_->lost();
  if (why == 0 || failure_) return;
  failure_ = error_exit();
  print_error(options_.command,
              fmt::format("Cannot write the tasks' {}: {}. The rest of it is lost.",
                          out_->lost() != 0 ? "output" : "error output", errno_text(why)));
}

void StepSession::tasks_started(size_t node, const Frame& frame) {
  const auto started = wire::decode<protocol::TasksStarted>(frame.body);
  if (!started) return;
  for (const uint32_t task : started->tasks) exits_.started(task);
  if (options_.verbose > 0) {
    say(options_.command,
        fmt::format("Node {}, {} tasks started", layout_.nodes[node].name, started->tasks.size()));
  }
  if (!options_.for_debugger) return;
  for (size_t i = 0; i < std::min(started->tasks.size(), started->pids.size()); ++i) {
    processes_[started->tasks[i]] = {node, started->pids[i]};
  }
  if (processes_.size() == layout_.num_tasks) tell_of_programs();
}

void StepSession::tell_of_programs() const {
  for (const auto& [task, process] : processes_) {
    say(options_.command, fmt::format("task:{}, host:{}, pid:{}, executable:{}", task,
                                      layout_.nodes[process.node].name, process.pid,
                                      options_.programs.at(names_[process.node])));
  }
}

void StepSession::task_exited(size_t node, const Frame& frame) {
  const auto exit = wire::decode<protocol::TaskExit>(frame.body);
  if (!exit) return;
  const bool first = exits_.exited_count() == 0;
  exits_.exited(layout_.nodes[node].name, exit->task, exit->status);
  if (options_.verbose > 0) {
    say(options_.command,
        fmt::format("Received task exit notification for 1 task of StepId={} (status=0x{:04x}).",
                    names_[node], static_cast<unsigned>(exit->status)));
  }
  say_debug(options_.command, options_.verbose, fmt::format("task {} done", exit->task));
  if (exit->status != 0 && options_.kill_on_bad_exit && !exits_.all_exited() && !aborting_) {
    show_exits();
    said_aborted_ = ended_for_bad_exit_ = true;  // saying which step is ended is enough
    abort(fmt::format("Terminating StepId={}", name_), EndBy::kTerm);
  }
  if (exit->status == protocol::kOutOfMemoryStatus && options_.kill_on_oom &&
      !exits_.all_exited() && !aborting_) {
    abort(fmt::format("Terminating StepId={}", name_));
  }
  // the others would wait for it
  if (begins_as_spawned() && !exits_.all_exited() && !aborting_) abort({});
  if (first && !exits_.all_exited()) first_exit();
  exit_timer_.expires_after(kExitGather);
  exit_timer_.async_wait([this](const auto& error) {
    if (!error) show_exits();
  });
}

void StepSession::show_exits() {
  for (const std::string& line :
       options_.attached ? exits_.take_task_lines() : exits_.take_lines(options_.verbose > 0)) {
    if (line.ends_with(": Completed")) {
      say(options_.command, line);
    } else {
      print_error(options_.command, line);
    }
  }
}

void StepSession::first_exit() {
  if (options_.wait_seconds == 0 || options_.attached) return;
  wait_timer_.expires_after(std::chrono::seconds(options_.wait_seconds));
  wait_timer_.async_wait([this](const auto& error) {
    if (!error && !exits_.all_exited()) waited_long_enough();
  });
}

void StepSession::waited_long_enough() {
  say(options_.command, fmt::format("First task exited {}s ago", options_.wait_seconds));
  for (const std::string& line : exits_.state_lines(name_)) say(options_.command, line);
  abort(fmt::format("Terminating StepId={}", name_));
}

void StepSession::launch_failed(size_t node, const std::string& why) {
  print_error(options_.command, fmt::format("Task launch for StepId={} failed on node {}: {}",
                                            names_[node], layout_.nodes[node].name, why));
  print_error(options_.command, fmt::format("Application launch failed: {}", why));
  launch_status_ = launch_failure_status(why);
  failure_ = shell_code(*launch_status_);
  if (!aborting_) abort({});
}

void StepSession::message(uint32_t task, const std::string& text) {
  // A daemon says that the step is being ended; so do we, once.
  const bool ends = text.empty() || text.find(" CANCELLED AT ") != std::string::npos ||
                    text.find(" FAILED (") != std::string::npos;
  if (ends) say_aborted();
  if (text.empty()) return;
  if (task != kNoTask && options_.label) {
    err_->write(task, text.ends_with('\n') ? text : text + "\n");
  } else {
    err_->write_text(text);
  }
}

// The controller may say it, and the end of the connection too.
void StepSession::node_failed(std::string_view name) {
  const auto is_it = [name](const StepNode& node) { return node.name == name; };
  if (std::ranges::none_of(layout_.nodes, is_it)) return;  // the job's, but none of the step
  if (!failed_nodes_.emplace(name).second) return;
  print_error(options_.command, fmt::format("Node failure on {}", name));
}

void StepSession::closed(size_t node) {
  if (link_.state(node) == StepLink::NodeState::kLost && !exits_.all_exited()) {
    const StepNode& part = layout_.nodes[node];
    node_failed(part.name);
    for (const uint32_t task : part.tasks) exits_.exited(part.name, task, SIGKILL);
    const bool ends = !options_.attached && !options_.no_kill;
    if (ends && !aborting_ && !link_.all_over()) abort({});
  }
  if (mpi_) mpi_->node_gone(node);
  if (x11_) x11_->node_gone(node);
  if (link_.all_connected() && !input_started_) start_input();
  finish_if_over();
}

void StepSession::start_input() {
  input_started_ = true;
  if (options_.input < 0) return send_input({});
  stdin_ = std::make_unique<StepStdin>(
      io_, options_.input,
      StepStdin::Handlers{[this](std::string_view bytes) { send_input(bytes); },
                          [this] { return link_.queued_bytes() < kInputAhead; }});
  stdin_->start();
}

void StepSession::send_input(std::string_view bytes) {
  // a terminal has no end of file
  if (options_.pty && bytes.empty() && ::isatty(options_.input) != 0) return;
  const auto only = options_.only_in ? options_.only_in : options_.input_task;
  if (options_.pty) {
    link_.send_task(FrameType::kStdin, 0, bytes);
  } else if (only) {
    link_.send_task(FrameType::kStdin, *only, bytes);
    // a component of a heterogeneous job may have named another task, which waits for the end
    if (bytes.empty() && !options_.only_in && parts_.size() > 1)
      link_.send_all(FrameType::kStdin, kNoTask, {});
  } else {
    link_.send_all(FrameType::kStdin, kNoTask, bytes);
  }
}

bool StepSession::is_step_gone(StepId id) {
  protocol::DescribeStepRequest request;
  request.id = id;
  const auto reply = client_.call<protocol::DescribeStepReply>(request);
  if (!reply && !reply.error().text.empty() &&
      reply.error().text != error_sentence(reply.error().code))
    refusal_ = reply.error().text;
  return reply ? reply->step.state >= StepState::kCompleted
               : reply.error().code == ErrorCode::kInvalidStepId ||
                     reply.error().code == ErrorCode::kInvalidJobId ||
                     reply.error().code == ErrorCode::kAlreadyDone ||
                     reply.error().code == ErrorCode::kJobPending;
}

// Why the job ended before the step began on all of its nodes, where a node has said it: its prolog
// failed, say.
void StepSession::say_refusal() {
  for (size_t i = 0; i < layout_.nodes.size(); ++i) {
    if (options_.attached || options_.gives_up || link_.state(i) != StepLink::NodeState::kExpected)
      continue;
    for (const StepLink::Part& part : parts_) (void)is_step_gone(part.id);
    if (refusal_.empty()) return;
    return print_error(options_.command,
                       fmt::format("Task launch for StepId={} failed: {}", name_, refusal_));
  }
}

void StepSession::check_launch() {
  // Daemons connect within moments. If some do not, the controller knows whether they still will.
  launch_timer_.expires_after(kLaunchCheck);
  launch_timer_.async_wait([this](const auto& error) {
    if (error || link_.all_connected()) return;
    bool gone = false;
    for (const StepLink::Part& part : parts_) gone = gone || is_step_gone(part.id);
    if (!gone && !job_over_) return check_launch();
    // one may be on its way; of srun -Z's the controller knows nothing, and its prolog may take its
    // time
    const uint32_t patience = is_outside_jobs(parts_.front().id.job) ? kOutsideChecks : 1;
    if (launch_checks_++ < patience && !job_over_) return check_launch();
    for (size_t i = 0; i < layout_.nodes.size(); ++i) {
      if (link_.state(i) != StepLink::NodeState::kExpected) continue;
      link_.give_up(i);
      if (!job_over_ && !options_.gives_up) {
        print_error(options_.command,
                    fmt::format("Task launch for StepId={} failed on node {}: {}", name_,
                                layout_.nodes[i].name,
                                refusal_.empty() ? "Communication connection failure" : refusal_));
      }
    }
    failure_ = error_exit();
    // else its job makes do with the other nodes
    if (!options_.no_kill) launch_status_ = *failure_ << 8;
    finish_if_over();
  });
}

// A daemon closes its connection once its tasks' streams have ended. It may take its time as long
// as it sends something; what srun itself needs to write that does not count.
void StepSession::wait_for_streams() {
  const Duration patience = client_.config().eio_timeout;
  if (!exits_.all_exited() || patience <= Duration(0)) return;
  stream_timer_.expires_after(patience);
  stream_timer_.async_wait([this](const auto& error) {
    if (error) return;
    boost::asio::post(io_, [this] {  // after what came in the meantime
      const bool due = std::chrono::steady_clock::now() >= stream_timer_.expiry();
      if (due && !link_.all_over()) streams_stay_open();
    });
  });
}

void StepSession::streams_stay_open() {
  for (size_t i = 0; i < layout_.nodes.size(); ++i) {
    if (link_.state(i) != StepLink::NodeState::kConnected) continue;
    print_error(
        options_.command,
        fmt::format("StepId={}: the streams of node {} stay open after the end of its tasks; "
                    "nobody waits for them any longer (EioTimeout)",
                    name_, layout_.nodes[i].name));
  }
  io_.stop();
}

void StepSession::finish_if_over() {
  if (!link_.all_over()) return;
  if (!spawner_ || spawner_->all_over()) return io_.stop();
  spawner_->end_unanswered();
}

}  // namespace sluice::cli
