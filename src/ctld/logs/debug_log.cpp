// See debug_log.hpp.
#include "ctld/logs/debug_log.hpp"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"
#include "common/names/step_names.hpp"

namespace sluice::ctld {
namespace {

using log::DebugFlag;

constexpr DebugFlag kOfEvents[] = {DebugFlag::kTraceJobs, DebugFlag::kSteps, DebugFlag::kDependency,
                                   DebugFlag::kReservation, DebugFlag::kTriggers};
constexpr DebugFlag kOfPasses[] = {DebugFlag::kBackfill, DebugFlag::kPriority,
                                   DebugFlag::kSelectType, DebugFlag::kLicense, DebugFlag::kGres};

template <class Flags>
bool any_set(const Flags& flags) {
  bool set = false;
  for (const DebugFlag flag : flags) set = set || log::enabled(flag);
  return set;
}

void write(const std::vector<FlagLine>& lines) {
  for (const FlagLine& line : lines) log::flag(line.flag, "{}", line.text);
}

template <class E>
concept OfAJob = requires(const E& event) {
  event.job + JobId{};
};
template <class E>
concept OfAnArray = requires(const E& event) {
  event.array_job + JobId{};
};
template <class E>
concept OfAStep = requires(const E& event) {
  event.id.step;
};
template <class E>
concept OfATrigger = requires(const E& event) {
  event.trigger.id;
};

// Adds the lines of one event.
class EventLines {
 public:
  EventLines(const state::ClusterState& after, std::vector<FlagLine>& out)
      : after_(after), out_(out) {}

  template <class E>
  void operator()(const E& event) {
    if constexpr (OfAJob<E>) add_job(E::kName, event.job);
    else if constexpr (OfAnArray<E>) add_job(E::kName, event.array_job);
    else if constexpr (OfAStep<E>) add_step(E::kName, event.id);
    else if constexpr (OfATrigger<E>) {
      add(DebugFlag::kTriggers,
          fmt::format("{} trigger {} of user {}: {}", E::kName, event.trigger.id, event.trigger.uid,
                      event.trigger.program));
    }
  }
  void operator()(const state::JobSubmitted& event) {
    add_job(state::JobSubmitted::kName, event.job.id);
  }
  void operator()(const state::JobDependencyChanged& event) {
    const std::string_view left = event.dependency.view();
    add(DebugFlag::kDependency,
        fmt::format("JobId={} waits for {} (Reason={})", event.job, left.empty() ? "nothing" : left,
                    reason_text(event.reason)));
    add_job(state::JobDependencyChanged::kName, event.job);
  }
  void operator()(const state::JobStarted& event) {
    for (const auto& start : event.starts)
      add_job(state::JobStarted::kName, start.job, start.allocation.get());
  }
  void operator()(const state::JobsPurged& event) {
    for (const JobId job : event.jobs)
      add(DebugFlag::kTraceJobs, fmt::format("{} JobId={}", state::JobsPurged::kName, job));
  }
  void operator()(const state::StepCreated& event) {
    const Step& step = *event.step;
    add(DebugFlag::kSteps,
        fmt::format("{} JobId={} StepId={} Tasks={} NodeList={}", state::StepCreated::kName,
                    step.id.job, step_id_text(step.id), step.layout ? step.layout->num_tasks : 0,
                    step.layout ? step.layout->node_list : "(null)"));
  }
  void operator()(const state::StepEnded& event) {
    add(DebugFlag::kSteps,
        fmt::format("{} JobId={} StepId={} State={} Status={:#x}", state::StepEnded::kName,
                    event.id.job, step_id_text(event.id), step_state_text(event.state),
                    event.exit_status));
  }
  void operator()(const state::ReservationChanged& event) {
    const Reservation& it = event.reservation;
    add(DebugFlag::kReservation,
        fmt::format("{} Reservation={} from {} to {}, {} nodes", state::ReservationChanged::kName,
                    it.name, format_time(it.start), format_time(it.end), it.nodes.count()));
  }
  void operator()(const state::ReservationDeleted& event) {
    add(DebugFlag::kReservation,
        fmt::format("{} number {}", state::ReservationDeleted::kName, event.id));
  }
  void operator()(const state::ReservationTurned& event) {
    add(DebugFlag::kReservation,
        fmt::format("{} Reservation={} {}", state::ReservationTurned::kName, event.name,
                    event.begins ? "begins" : "is over"));
  }

 private:
  void add(DebugFlag flag, std::string text) { out_.push_back({flag, std::move(text)}); }
  void add_step(const char* what, const StepId& id) {
    add(DebugFlag::kSteps, fmt::format("{} JobId={} StepId={}", what, id.job, step_id_text(id)));
  }
  void add_job(const char* what, JobId id, const Allocation* allocation = nullptr) {
    std::string text = fmt::format("{} JobId={}", what, id);
    if (const Job* job = after_.jobs.find(id))
      text += fmt::format(" State={}", job_state_text(job->state, job->flags));
    if (allocation != nullptr)
      text += fmt::format(" NodeList={} NumCPUs={}", allocation->node_list, allocation->cpus);
    add(DebugFlag::kTraceJobs, std::move(text));
  }

  const state::ClusterState& after_;
  std::vector<FlagLine>& out_;
};

void add_starts(const std::vector<state::PlannedStart>& starts, std::vector<FlagLine>& out) {
  for (const state::PlannedStart& start : starts) {
    const Allocation& chosen = *start.allocation;
    for (const auto& node : chosen.nodes) {
      out.push_back(
          {DebugFlag::kSelectType,
           fmt::format("JobId={} gets cores {} and {} MB of node number {} in partition {}",
                       start.job, node.cores.to_text(), node.memory_mib, node.node,
                       start.partition)});
      if (node.gres.empty()) continue;
      out.push_back({DebugFlag::kGres, fmt::format("JobId={} gets {} of node number {}", start.job,
                                                   gres_text(node.gres, true), node.node)});
    }
  }
}

}  // namespace

std::vector<FlagLine> lines_of_event(const state::ClusterState& after, const state::Event& event) {
  std::vector<FlagLine> out;
  std::visit(EventLines(after, out), event);
  return out;
}

void log_events(const state::ClusterState& after, const state::Events& events) {
  if (!any_set(kOfEvents)) return;
  for (const state::Event& event : events) write(lines_of_event(after, event));
}

std::vector<FlagLine> PassDebug::lines_of(const engine::PassReport& report, bool with_priorities) {
  std::vector<FlagLine> out;
  const sched::PassTimings& counts = report.plan.counts;
  if (counts.pending > 0) {
    out.push_back(
        {DebugFlag::kBackfill,
         fmt::format(
             "{} jobs waited, {} placements tried, {} started, {} of them before others, nodes kept for {}",
             counts.pending, counts.tested, report.plan.starts.size(), counts.backfilled,
             counts.planned)});
  }
  if (counts.unlicensed > 0)
    out.push_back(
        {DebugFlag::kLicense, fmt::format("{} jobs wait for licenses", counts.unlicensed)});
  add_starts(report.plan.starts, out);
  std::map<JobId, uint32_t> priorities;
  for (const sched::SchedulerView::Entry& entry : report.plan.soft->jobs) {
    const JobId job = entry.job;
    const SchedulerHints& soft = entry.soft;
    if (with_priorities) {  // age changes all of them all the time
      priorities.emplace_hint(priorities.end(), job, soft.priority);
      const auto before = priorities_.find(job);
      if (before == priorities_.end() || before->second != soft.priority) {
        out.push_back(
            {DebugFlag::kPriority, fmt::format("JobId={} has priority {}", job, soft.priority)});
      }
    }
    if (soft.expected_start != kNoTime) {
      out.push_back(
          {DebugFlag::kBackfill,
           fmt::format("JobId={} may start at {} on {}", job, format_time(soft.expected_start),
                       soft.planned_nodes.empty() ? "no nodes kept" : soft.planned_nodes.view())});
    }
  }
  priorities_ = std::move(priorities);
  return out;
}

void PassDebug::note(const engine::PassReport& report) {
  if (any_set(kOfPasses)) write(lines_of(report, log::enabled(DebugFlag::kPriority)));
  else priorities_.clear();
}

}  // namespace sluice::ctld
