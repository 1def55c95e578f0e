// How a step ends: what is told, the report is written, and the daemon leaves.
#include <utility>

#include "common/step/step_spool.hpp"
#include "common/wire/codec.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {

using protocol::FrameType;

void StepDaemon::on_children_ended() {
  children_.reap();
  exits_.settle();
  ending_.check();
}

bool StepDaemon::lasts() const {
  // of those that were killed one may be dead, and its tracer keeps that from us
  const bool runs = tasks_.busy() && !(ending_.ending() && children_.all_kept_dead());
  if (!ready_ || held_.any() || runs) return true;
  return facts_.is_extern() && report_.outcome().failure.empty() && !ending_.ending();
}

void StepDaemon::terminate(bool at_once, const std::string& message) {
  if (!message.empty() && !ending_.ending() && !ending_.over()) messages_.tell(message);
  ending_.end(at_once);
}

void StepDaemon::end_held_tasks() {
  const auto plan = held_.take_to_end();
  if (!plan) return;
  if (!plan->tasks.empty()) messages_.speak_for(plan->tasks.front().rank);
  for (const TaskPlan& planned : plan->tasks) {
    const Task& task = tasks_.add_killed(planned.rank, planned.local);
    listeners_.send(FrameType::kExited, kNoTask,
                    wire::encode(protocol::TaskExit{task.rank, task.status}));
  }
}

void StepDaemon::on_unkillable() {
  log("processes do not end after SIGKILL");
  streams_.stop();
  tasks_.give_up();
  report_.outcome().unkillable = true;
}

void StepDaemon::finish() {
  usage_.stop();
  limits_.stop();
  tasks_.give_up();  // no-op but for those that are dead, and kept
  usage_.measure();
  const std::string oom = limits_.oom_text();
  report_.outcome().out_of_memory = !oom.empty();
  for (const std::string& text : {oom, limits_.refused_forks_text()}) {
    if (!text.empty()) messages_.write(text);
  }
  mpi_.stop();
  x11_.stop();
  report_.make(tasks_, usage_.meter().sums());
  if (facts_.is_batch()) remove_batch_folder(facts_.start.spool_dir, facts_.launch.key.id.job);
  setup_.close_session();
  setup_.give_frequencies_back();
  const Status kept = report_.keep();
  setup_.leave_groups();
  agent_.send(FrameType::kAgentEnded, wire::encode(report_.report()));
  listeners_.send(FrameType::kNodeDone, kNoTask, {});
  if (kept) return end_after_report();
  log(kept.error().text);
  report_.keep_later([this] { end_after_report(); });
}

// One whose report has no room on the disk says what it can: the agent was told, and this is the
// end of waiting.
void StepDaemon::on_stop_signal() {
  if (!ending_.over()) {
    if (!ending_.ending()) report_.outcome().stopped = tasks_.any_runs();
    return terminate(true, {});
  }
  (void)report_.keep();
  leave();
}

void StepDaemon::end_after_report() {
  report_.spool().remove_socket(facts_.launch.key);
  agent_.finish([this] { listeners_.finish([this] { leave(); }); });
  ending_.limit_farewell([this] { leave(); });
}

void StepDaemon::leave() {
  signals_.cancel();
  io_.stop();
}

}  // namespace sluice::stepd
