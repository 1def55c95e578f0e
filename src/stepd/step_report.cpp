#include "stepd/step_report.hpp"

#include <csignal>
#include <utility>

namespace sluice::stepd {
namespace {

constexpr auto kReportRetry = std::chrono::seconds(1);

}  // namespace

void StepOutcome::launch_failed(const StepFacts& facts, const Error& error,
                                const std::string& why) {
  users_error = facts.is_batch() && error.code == ErrorCode::kPathMissing;
  no_room = error.code == ErrorCode::kStorageFull;
  failure = why;
}

protocol::StepEnded make_report(const StepFacts& facts, const TaskTable& tasks,
                                const StepOutcome& outcome, const protocol::StepUsage& usage,
                                Time now) {
  protocol::StepEnded report;
  report.key = facts.launch.key;
  report.nodes = facts.start.node_name;
  report.exit_status = tasks.worst_status();
  report.failure = outcome.failure;
  report.users_error = outcome.users_error;
  report.srun_ended = outcome.srun_ended;
  report.drain_node = outcome.unkillable || outcome.no_room;
  report.happened = now;
  if (!outcome.failure.empty() && report.exit_status == 0)
    report.exit_status = protocol::kLaunchFailedStatus;
  report.out_of_memory = outcome.out_of_memory;
  if (outcome.out_of_memory) report.exit_status = protocol::kOutOfMemoryStatus;
  // as of a daemon that died: the tasks have done nothing wrong, and may run again
  if (outcome.stopped && !outcome.out_of_memory && outcome.failure.empty()) {
    report.failure = "its step daemon was told to end, as when the host shuts down";
    report.exit_status = SIGKILL;
  }
  report.usage = usage;
  if (usage.measured != nullptr) {
    auto measured = std::make_shared<UsageHistory>(*usage.measured);
    for (auto part : {&UsageHistory::cpu, &UsageHistory::memory, &UsageHistory::virtual_memory,
                      &UsageHistory::read, &UsageHistory::written, &UsageHistory::pages})
      ((*measured).*part).max_node = ((*measured).*part).min_node = facts.start.node_name;
    report.usage.measured = std::move(measured);
  }
  return report;
}

void ReportKeeper::make(const TaskTable& tasks, const protocol::StepUsage& usage) {
  report_ = make_report(facts_, tasks, outcome_, usage, clock_.time());
}

Status ReportKeeper::keep() {
  const protocol::StepKey& key = facts_.launch.key;
  if (!spool_.is_claimed(key)) return {};  // the controller has it
  Status written = spool_.write_end(report_);
  if (written && !spool_.is_claimed(key)) spool_.remove(key);  // it has it just now
  return written;
}

void ReportKeeper::keep_later(std::function<void()> on_kept) {
  alarm_->set(kReportRetry, [this, on_kept = std::move(on_kept)] {
    if (keep()) return on_kept();
    keep_later(on_kept);
  });
}

}  // namespace sluice::stepd
