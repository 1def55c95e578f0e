// How a step ended on this node, and the report of it: on disk before anyone is told, and told
// again to each agent that comes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/protocol/node_reports.hpp"
#include "common/step/step_spool.hpp"
#include "stepd/process/task_table.hpp"
#include "stepd/step_clock.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd {

// Beside what the tasks' statuses say. As in protocol::StepEnded.
struct StepOutcome {
  std::string failure;  // why the launch failed, or a task did not start; empty: it did
  bool users_error = false;
  bool srun_ended = false;
  bool no_room = false;     // the spool folder does not take the script
  bool unkillable = false;  // some process did not go
  bool out_of_memory = false;
  bool stopped = false;  // the daemon was told to end while tasks ran: the host shuts down

  void launch_failed(const StepFacts& facts, const Error& error, const std::string& why);
};

// `now` is told where the node is to be drained.
[[nodiscard]] protocol::StepEnded make_report(const StepFacts& facts, const TaskTable& tasks,
                                              const StepOutcome& outcome,
                                              const protocol::StepUsage& usage, Time now);

class ReportKeeper {
 public:
  ReportKeeper(const StepFacts& facts, StepClock& clock)
      : facts_(facts), clock_(clock), spool_(facts.start.spool_dir), alarm_(clock.make_alarm()) {}

  [[nodiscard]] const StepSpool& spool() const { return spool_; }
  [[nodiscard]] StepOutcome& outcome() { return outcome_; }
  [[nodiscard]] const StepOutcome& outcome() const { return outcome_; }
  // The report, as things stand.
  void make(const TaskTable& tasks, const protocol::StepUsage& usage);
  [[nodiscard]] const protocol::StepEnded& report() const { return report_; }
  // Writes the report, unless the agent needs it no longer.
  [[nodiscard]] Status keep();
  // Again and again, until it is on disk (which may be full), for only this process knows how the
  // step ended; then calls `on_kept`.
  void keep_later(std::function<void()> on_kept);

 private:
  const StepFacts& facts_;
  StepClock& clock_;
  StepSpool spool_;
  StepOutcome outcome_;
  std::unique_ptr<Alarm> alarm_;
  protocol::StepEnded report_;
};

}  // namespace sluice::stepd
