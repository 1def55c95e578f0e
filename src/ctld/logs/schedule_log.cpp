// See schedule_log.hpp.
#include "ctld/logs/schedule_log.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "common/model/component_name.hpp"
#include "common/names/job_states.hpp"

namespace sluice::ctld {
namespace {

std::string job_name(const state::ClusterState& state, JobId id, uint32_t task) {
  const auto* job = state.jobs.find(id);
  if (job == nullptr) return std::to_string(id);
  if (job->het != nullptr) return component_name(*job->het);
  if (job->array == nullptr) return std::to_string(id);
  if (task == kNoTask) task = job->array->task;
  if (task == kNoTask)
    return fmt::format("{}_[{}]", job->array->array_job, job->array->pending.to_text());
  return fmt::format("{}_{}", job->array->array_job, task);
}

std::string start_line(const state::ClusterState& state, const state::PlannedStart& start) {
  std::string out = fmt::format("Start JobId={} NodeList={} NumCPUs={} Partition={}",
                                job_name(state, start.job, start.task), start.allocation->node_list,
                                start.allocation->cpus, start.partition);
  if (start.time_limit != 0) out += " TimeLimit=" + format_minutes(start.time_limit);
  return out + '\n';
}

std::string wait_text(const SchedulerHints& soft) {
  std::string out = fmt::format("Reason={} Priority={}", reason_text(soft.reason), soft.priority);
  if (soft.expected_start != kNoTime) out += " ExpectedStart=" + format_time(soft.expected_start);
  if (!soft.planned_nodes.empty())
    out += fmt::format(" PlannedNodes={}", soft.planned_nodes.view());
  return out;
}

}  // namespace

std::string ScheduleLog::lines_of(const engine::PassReport& report) {
  const sched::PassTimings& counts = report.plan.counts;
  std::string out = fmt::format(
      "Pass={} Pending={} Tried={} Started={} Backfilled={} Dropped={} Planned={} Microseconds={}\n",
      ++pass_, counts.pending, counts.tested, report.plan.starts.size(), counts.backfilled,
      report.dropped, counts.planned, report.took.count());
  std::set<JobId> started;
  for (const state::PlannedStart& start : report.plan.starts) {
    out += start_line(report.state, start);
    started.insert(start.job);
  }
  for (const state::PlannedPreemption& one : report.plan.preemptions) {
    out += fmt::format("Preempt JobId={} For={}\n", job_name(report.state, one.job, kNoTask),
                       job_name(report.state, one.preemptor, kNoTask));
  }
  std::map<JobId, std::string> waiting;
  for (const sched::SchedulerView::Entry& entry : report.plan.soft->jobs) {
    const JobId job = entry.job;
    const SchedulerHints& soft = entry.soft;
    const bool waits = soft.reason != JobReason::kNone;
    // of what was started, only tasks of an array may wait on, for another reason than that others
    // come first
    if (!waits || (soft.reason == JobReason::kPriority && started.contains(job))) continue;
    const std::string& text = waiting[job] = wait_text(soft);
    const auto before = waiting_.find(job);
    if (before != waiting_.end() && before->second == text) continue;
    out += fmt::format("Wait JobId={} {}\n", job_name(report.state, job, kNoTask), text);
  }
  waiting_ = std::move(waiting);
  return out;
}

void ScheduleLog::note(const engine::PassReport& report, uint32_t level) {
  const std::lock_guard lock(mutex_);
  const auto ok = file_.open(level > 0 ? report.state.config->slurm_sched_log_file : "");
  if (!ok && !complained_) log::error("SlurmSchedLogFile: {}", ok.error().text);
  complained_ = !ok;
  if (!file_.is_open()) return waiting_.clear();
  const bool nothing = report.plan.counts.pending == 0 && waiting_.empty();
  if (!nothing) file_.write(lines_of(report));
}

void ScheduleLog::reopen() {
  const std::lock_guard lock(mutex_);
  if (auto ok = file_.reopen(); !ok) log::error("SlurmSchedLogFile: {}", ok.error().text);
}

}  // namespace sluice::ctld
