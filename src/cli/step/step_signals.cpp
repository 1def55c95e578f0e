// What a waiting srun does with signals: one Ctrl-C shows the state, two end the step, others are
// passed on.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/step/allocation.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/step/step_session.hpp"
#include "cli/shared/terminal.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/ctld.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli {

using protocol::FrameType;

namespace {
constexpr auto kInterruptGrace = std::chrono::milliseconds(200);
}  // namespace

void StepSession::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    signalled(number);
    wait_for_signal();
  });
}

void StepSession::signalled(int number) {
  const auto& ignored = options_.ignored_signals;
  if (std::find(ignored.begin(), ignored.end(), number) != ignored.end()) return;
  if (options_.attached && number != SIGWINCH && number != SIGCONT) return leave_step(number);
  switch (number) {
    case SIGWINCH:
      for (size_t i = 0; i < layout_.nodes.size(); ++i) send_window_size(i);
      return;
    case SIGCONT:  // we were stopped, the tasks were not
      if (!options_.attached) inform("got SIGCONT");
      return;
    case SIGALRM: return;  // Slurm's srun has its own
    case SIGINT: return interrupted();
    case SIGQUIT: inform("Quit"); [[fallthrough]];
    case SIGTERM:
    case SIGHUP: inform("forcing job termination"); return abort({});
    default:
      if (spawner_) spawner_->signal(number);
      return send_signal(static_cast<uint32_t>(number));
  }
}

// sattach ends by its signals, as what knows nothing of them; the step goes on.
void StepSession::leave_step(int number) {
  failure_ = 128 + number;
  io_.stop();
}

void StepSession::interrupted() {
  const auto now = std::chrono::steady_clock::now();
  const bool second = now - last_interrupt_ <= std::chrono::seconds(1);
  last_interrupt_ = now;
  if (options_.disable_status && !second) {
    inform(fmt::format("sending Ctrl-C to StepId={}", name_));
    return send_signal(SIGINT);
  }
  if (!second && !options_.quit_on_interrupt) {
    inform("interrupt (one more within 1 sec to abort)");
    for (const std::string& line : exits_.state_lines(name_)) inform(line);
    return;
  }
  inform(fmt::format("sending Ctrl-C to StepId={}", name_));
  send_signal(SIGINT);
  inform("forcing job termination");
  say_aborted();
  // who goes on pressing must not put the end off
  if (aborting_ || std::exchange(interrupting_, true)) return;
  abort_timer_.expires_after(kInterruptGrace);  // most tasks end by the signal itself
  abort_timer_.async_wait([this](const auto& error) {
    if (!error) abort({});
  });
}

void StepSession::inform(std::string_view text) const {
  if (!options_.quiet) say(options_.command, text);
}

void StepSession::send_signal(uint32_t number) {
  link_.send_all(FrameType::kSignalTasks, kNoTask, wire::encode(protocol::SignalTasks{number}));
}

void StepSession::send_window_size(size_t node) {
  const auto size = terminal_size();
  if (!size || link_.state(node) != StepLink::NodeState::kConnected) return;
  link_.send_task(FrameType::kWindowSize, layout_.nodes[node].tasks[0], wire::encode(*size));
}

void StepSession::abort(std::string_view announcement, EndBy by) {
  if (!announcement.empty()) say(options_.command, announcement);
  if (std::exchange(aborting_, true)) return;
  if (spawner_) spawner_->end();
  say_aborted();
  bool done = true;
  for (const StepLink::Part& part : parts_) {
    protocol::SignalRequest request;
    request.target = step_id_text(part.id);
    request.signal = by == EndBy::kTerm ? SIGTERM : SIGKILL;
    request.flags = protocol::kSignalCancel;
    const auto told = client_.call<protocol::CountReply>(request, std::chrono::seconds(5));
    // a job that is ending ends its steps itself, with the time that KillWait gives them
    const bool ends_with_job =
        !is_outside_jobs(part.id.job) && !told && told.error().code == ErrorCode::kInvalidJobId;
    done = done && (told || ends_with_job);
  }
  if (!done) send_signal(SIGKILL);
  give_up_later();
}

void StepSession::give_up_later() {
  abort_timer_.expires_after(client_.config().kill_wait + std::chrono::seconds(2));
  abort_timer_.async_wait([this](const auto& error) {
    if (error) return;
    print_error(options_.command, "Timed out waiting for job step to complete");
    send_signal(SIGKILL);
    failure_ = error_exit();
    io_.stop();
  });
}

void StepSession::say_aborted() {
  if (options_.attached || std::exchange(said_aborted_, true)) return;
  if (spawner_) spawner_->end();
  const auto patience = client_.config().kill_wait + std::chrono::seconds(2);
  inform(fmt::format("Job step aborted: Waiting up to {} seconds for job step to finish.",
                     std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
}

}  // namespace sluice::cli
