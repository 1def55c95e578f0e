// See event_log.hpp.
#include "ctld/logs/event_log.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/thread_name.hpp"
#include "common/base/time_text.hpp"
#include "common/log/before_lines.hpp"
#include "common/model/component_name.hpp"
#include "common/names/job_states.hpp"
#include "common/os/clock.hpp"
#include "common/names/step_names.hpp"
#include "ctld/logs/changed_values.hpp"
#include "ctld/logs/task_lines.hpp"
#include "ctld/sched/policy/priority.hpp"
#include "ctld/state/core/exit_status.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/limits/soft_qos.hpp"

namespace sluice::ctld {
namespace {

using log::Level;
using namespace state;  // NOLINT(google-build-using-namespace): the names of all events

constexpr uint32_t kNobody = UINT32_MAX;
constexpr size_t kMostWaiting = 1'000'000;  // events
constexpr size_t kMostAtOnce = 256;         // lines
constexpr std::chrono::milliseconds kPause(50);

std::string by_uid(uint32_t uid) { return uid == kNobody ? "" : fmt::format(" by uid {}", uid); }

std::string after_colon(const std::string& text) { return text.empty() ? "" : ": " + text; }

std::string status_words(int32_t status) {
  if (const int32_t signal = signal_of(status); signal != 0)
    return fmt::format("WTERMSIG {}", signal);
  return fmt::format("WEXITSTATUS {}", code_of(status));
}

std::string reason_words(JobReason reason, const SharedText& description) {
  std::string out;
  if (reason != JobReason::kNone) out = fmt::format(" Reason={}", reason_text(reason));
  if (!description.empty()) out += fmt::format(" ({})", description.view());
  return out;
}

// One overload for each event.
class EventLines {
 public:
  EventLines(const EventMoment& moment, std::vector<log::Line>& out) : at_(moment), out_(out) {}

  // --- the controller
  void operator()(const EpochStarted& e) {
    info("Running as primary controller of cluster {}, epoch {}", e.cluster_id, e.epoch);
  }
  void operator()(const ConfigReplaced& e) {
    info("read_slurm_conf: {} nodes, {} partitions{}", e.config->nodes.size(),
         e.config->partitions.size(), by_uid(at_.by));
    if (at_.before.accounting.version == 0) return;
    soft_qos(true);
    for (const PartitionConfig& one : e.config->partitions) {
      if (lacks_qos(at_.before, one)) missing_qos(one);
    }
  }
  void operator()(const StateForgotten&) {
    error("all jobs and changed states are forgotten (slurmctld -c)");
  }

  // --- jobs that wait
  void operator()(const JobSubmitted& e) {
    const Job& job = e.job;
    info("{} JobId={} InitPrio={} usec={} uid={} Partition={}",
         job.spec->batch ? "_slurm_rpc_submit_batch_job:" : "sched: _slurm_rpc_allocate_resources",
         name(job), first_priority(job), at_.took.count(), job.spec->uid, job.partition.view());
  }
  void operator()(const JobUpdated& e) {
    if (at_.by == kNobody) return line(Level::kDebug, "_update_job: JobId={}", name(e.job));
    info("_slurm_rpc_update_job: complete JobId={} uid={}", name(e.job), at_.by);
  }
  void operator()(const JobHeld& e) {
    info("sched: _hold_job_rec: hold on JobId={}{}{}", name(e.job), by_uid(at_.by),
         reason_words(e.reason, e.description));
  }
  void operator()(const JobReleased& e) {
    info("sched: _release_job_rec: release hold on JobId={}{}", name(e.job), by_uid(at_.by));
  }
  void operator()(const JobBecameEligible& e) {
    line(Level::kDebug, "JobId={} is eligible", name(e.job));
  }
  void operator()(const JobDependencyChanged& e) {
    const bool never = e.reason == JobReason::kDependencyNeverSatisfied;
    line(never ? Level::kInfo : Level::kDebug, "JobId={} waits for {}{}", name(e.job),
         e.dependency.empty() ? "no other job" : e.dependency.view(), reason_words(e.reason, {}));
  }
  void operator()(const ArrayTasksSplit& e) {
    for (const auto& task : e.tasks)
      line(Level::kDebug, "JobId={}_{}({}) has a record of its own", e.array_job, task.task,
           task.job);
  }
  void operator()(const ArrayTasksCancelled& e) {
    info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={}_[{}] uid {}", e.array_job,
         e.tasks.to_text(), e.cancelled_by);
  }

  // --- jobs that run
  void operator()(const JobStarted& e) {
    for (const auto& start : e.starts) {
      info("sched: Allocate JobId={} NodeList={} #CPUs={} Partition={}{}", name(start.job),
           start.allocation->node_list, start.allocation->cpus, e.partition.view(), softly(e));
    }
  }
  void operator()(const JobPrepared& e) {
    line(Level::kDebug, "prolog of JobId={} ended {}", name(e.job),
         e.controller ? "on the controller" : "on some of its nodes");
  }
  void operator()(const JobSuspended& e) {
    if (e.for_others) return info("JobId={} is preempted by suspension", name(e.job));
    if (e.time_slice) return line(Level::kDebug, "gang: suspending JobId={}", name(e.job));
    info("_slurm_rpc_suspend(suspend) for JobId={}{}", name(e.job), by_uid(at_.by));
  }
  void operator()(const JobResumed& e) {
    if (e.time_slice) return line(Level::kDebug, "gang: resuming JobId={}", name(e.job));
    info("_slurm_rpc_suspend(resume) for JobId={}{}", name(e.job), by_uid(at_.by));
  }
  void operator()(const JobPreempted& e) {
    info("JobId={} is to make room for JobId={}", name(e.job), name(e.preemptor));
  }
  void operator()(const JobShrunk& e) {
    info("JobId={} keeps NodeList={}, gives back {}{}", name(e.job), e.allocation->node_list,
         node_list(at_.after, e.nodes), by_uid(at_.by));
  }
  void operator()(const JobSignaled& e) {
    const std::string step = e.step == UINT32_MAX ? "" : " StepId=" + step_id_text({e.job, e.step});
    if (!e.message.empty()) info("job_notify: JobId={}{}{}", name(e.job), step, by_uid(at_.by));
    else
      info("job_signal: {} of signal {} to JobId={}{}{}", e.warning ? "warning" : "request",
           e.signal, name(e.job), step, by_uid(at_.by));
  }
  void operator()(const JobLimitNear& e) {
    line(Level::kDebug, "JobId={} has used {}% of its time limit", name(e.job), e.percent);
  }

  // --- the ends of jobs
  void operator()(const JobCompleting& e) {
    const std::string job = name(e.job);
    if (e.cancelled_by != kNobody)
      info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={} uid {}", job, e.cancelled_by);
    else if (e.state == JobState::kTimeout) info("Time limit exhausted for JobId={}", job);
    else if (e.state == JobState::kPreempted) info("preempted JobId={}", job);
    if (!e.failed_node.empty() && e.description.empty())
      error("Killing JobId={} on failed node {}", job, e.failed_node.view());
    else if (!e.failed_node.empty())
      error("Killing JobId={} on node {}: {}", job, e.failed_node.view(), e.description.view());
    const bool again = (e.flags & (kJobRequeued | kJobRequeueHold)) != 0;
    info("_job_complete: JobId={} {}{}{}", job, status_words(e.exit_status),
         e.state == JobState::kCompleted ? "" : fmt::format(" {}", job_state_text(e.state)),
         reason_words(e.reason, e.description));
    if (again) info("Requeuing JobId={}{}", job, by_uid(at_.by));
  }
  void operator()(const JobNodesReleased& e) {
    line(Level::kDebug, "cleanup_completing: {} nodes of JobId={} are clean", e.positions.count(),
         name(e.job));
  }
  void operator()(const JobEnded& e) {
    const std::string job = name(e.job);
    const Job* before = at_.before.jobs.find(e.job);
    const bool waited = before != nullptr && before->state == JobState::kPending;
    if (waited && e.cancelled_by != kNobody)
      info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={} uid {}", job, e.cancelled_by);
    info("_job_complete: JobId={} done{}", job,
         waited ? fmt::format(" {}{}", job_state_text(e.state), reason_words(e.reason, {})) : "");
  }
  void operator()(const JobRequeued& e) {
    info("Requeued JobId={}, restart {}{}{}", name(e.job), e.restart_count,
         e.hold == HoldKind::kNone ? "" : ", held", reason_words(e.reason, e.description));
  }
  void operator()(const JobRequeueCancelled& e) {
    info("_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={} uid {}: it is not requeued", name(e.job),
         e.cancelled_by);
  }
  void operator()(const JobTerminateResent& e) {
    info("Resending TERMINATE_JOB request JobId={}", name(e.job));
  }
  void operator()(const JobsPurged& e) {
    for (const JobId job : e.jobs) line(Level::kDebug, "purge_old_job: JobId={}", job);
  }
  void operator()(const ArrayTasksFolded& e) {
    line(Level::kDebug2, "JobId={} need no records of their own any more", e.jobs.to_text());
  }

  // --- steps
  void operator()(const StepCreated& e) {
    const Step& step = *e.step;
    info("_slurm_rpc_job_step_create: {} NodeList={} Tasks={}", step_words(step.id),
         step.layout ? step.layout->node_list : "", step.layout ? step.layout->num_tasks : 0);
  }
  void operator()(const StepNodesEnded& e) {
    line(Level::kDebug, "{}: {} nodes have ended", step_words(e.id), e.positions.count());
  }
  void operator()(const StepEnded& e) {
    info("{} {} {}", step_words(e.id), step_state_text(e.state), status_words(e.exit_status));
  }
  void operator()(const StepEndOrdered& e) {
    if (e.by == kNobody) info("Time limit exhausted for {}", step_words(e.id));
    else info("_slurm_rpc_kill_job: REQUEST_KILL_JOB {} uid {}", step_words(e.id), e.by);
  }
  void operator()(const StepUpdated& e) {
    info("_slurm_rpc_update_step: complete {}{}", step_words(e.id), by_uid(at_.by));
  }

  // --- nodes and partitions
  void operator()(const NodeRegistered& e) {
    const NodeHardware& found = *e.hardware;
    info("Node {} registered: CPUs={} RealMemory={} Version={} address {}", node(e.node),
         found.cpus, found.real_memory_mib, found.version, found.address);
  }
  void operator()(const NodeStateChanged& e);
  void operator()(const NodeUpdated& e) {
    info("update_node: node {} changed{}", node(e.node), by_uid(at_.by));
  }
  void operator()(const PartitionChanged& e) {
    const Partition* before = find_partition(at_.before, e.config->name);
    info("update_part: partition {} State={} Nodes={}{}{}", e.config->name,
         partition_state_text(e.config->state), e.config->nodes_text, by_uid(at_.by),
         before == nullptr ? "" : after_colon(changed_values(*before->config, *e.config)));
  }
  void operator()(const PartitionDeleted& e) {
    info("delete_partition: partition {}{}", e.name, by_uid(at_.by));
  }
  void operator()(const NodesCreated& e) {
    for (const NodeConfig& one : e.nodes) info("create_nodes: node {}{}", one.name, by_uid(at_.by));
  }
  void operator()(const NodesDeleted& e) {
    for (const std::string& one : e.names) info("delete_nodes: node {}{}", one, by_uid(at_.by));
  }

  // --- what administrators and users set
  void operator()(const TriggerSet& e) {
    info("trigger {} set by uid {}: {}", e.trigger.id, e.trigger.uid, e.trigger.program);
  }
  void operator()(const TriggersCleared& e) {
    for (const uint32_t id : e.ids) info("trigger {} cleared{}", id, by_uid(at_.by));
  }
  // the run is logged
  void operator()(const TriggerFired& e) {
    line(Level::kDebug, "trigger {} fired for {}", e.trigger.id, e.resource);
  }
  void operator()(const UserGroupsFound& e) {
    line(Level::kDebug, "uid {} is in the groups {}", e.user.uid, e.user.groups.view());
  }
  void operator()(const AccountingChanged& e) {
    line(
        Level::kVerbose,
        "accounting: version {}: {} associations, {} QOS, {} accounts, {} users are new or changed",
        e.version, e.associations.size(), e.qos.size(), e.accounts.size(), e.users.size());
    soft_qos(false);
    // told once: of what goes now, and of what the first answer of the daemon lacks
    const bool first = at_.before.accounting.version == 0;
    if (!first && e.gone_qos.empty()) return;
    for (const Partition& one : *at_.before.partitions) {
      const std::string& name = one.config->qos;
      if (name.empty()) continue;
      const QosRecord* known = find_qos(at_.before.accounting, name);
      const bool goes =
          known != nullptr && std::ranges::find(e.gone_qos, known->id) != e.gone_qos.end();
      const bool comes =
          std::ranges::any_of(e.qos, [&](const QosRecord& qos) { return iequals(qos.name, name); });
      if (!comes && (goes || first)) missing_qos(*one.config);
    }
  }
  void operator()(const UsageDecayed& e) {
    if (e.factor == 0) info("accounting: usage is forgotten (PriorityUsageResetPeriod)");
    else line(Level::kDebug, "accounting: usage decays by {:.6f}", e.factor);
  }
  void operator()(const UsageReset& e) {
    info("accounting: usage of {} associations and {} QOS is forgotten{}",
         e.associations.size() + e.gone_associations.size(), e.qos.size() + e.gone_qos.size(),
         by_uid(at_.by));
  }
  void operator()(const CrontabReplaced& e) {
    info("crontab of uid {}: {} jobs{}", e.crontab.uid, e.crontab.jobs.size(), by_uid(at_.by));
  }
  void operator()(const ReservationChanged& e) {
    const Reservation& it = e.reservation;
    const Reservation* before = reservation(it.id);
    // what the controller does to one by itself (its next day, other nodes) is worth less than what
    // somebody asked for
    line(at_.by == kNobody ? Level::kVerbose : Level::kInfo,
         "sched: {} reservation={} users={} nodes={} start={} end={}{}{}",
         before == nullptr ? "Created" : "Updated", it.name, it.users.empty() ? "(null)" : it.users,
         node_list(at_.after, it.nodes), format_time(it.start), format_time(it.end), by_uid(at_.by),
         before == nullptr ? "" : after_colon(changed_values(*before, it)));
  }
  void operator()(const ReservationDeleted& e) {
    info("sched: Deleted reservation {}{}", reservation_name(e.id), by_uid(at_.by));
  }
  void operator()(const ReservationTurned& e) {
    info("sched: reservation {} {}", e.name, e.begins ? "begins" : "is over");
  }

 private:
  template <class... Args>
  void line(Level level, fmt::format_string<Args...> format, Args&&... args) {
    if (level <= at_.most)
      out_.push_back({level, fmt::vformat(format, fmt::make_format_args(args...))});
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    line(Level::kInfo, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    line(Level::kError, format, std::forward<Args>(args)...);
  }
  void missing_qos(const PartitionConfig& partition) {
    error("partition {}: its QOS {} does not exist{}", partition.name, partition.qos,
          enforced(*at_.before.config).limits || enforced(*at_.before.config).qos
              ? ": its jobs are held with the reason InvalidQOS"
              : "");
  }
  // Limits are hard though the configuration says otherwise. `again`: told before, too.
  void soft_qos(bool again) {
    const std::string_view why = why_no_soft_qos(at_.after);
    if (why.empty() || (!again && why == why_no_soft_qos(at_.before))) return;
    error("SluiceParameters=soft_limit_qos={}: {}: jobs over a limit wait",
          soft_limit_qos(*at_.after.config), why);
  }
  static std::string softly(const JobStarted& e) {
    return e.soft_qos.empty() ? "" : fmt::format(" over a limit, in QOS {}", e.soft_qos.view());
  }
  // Of a job that is held Slurm says 0.
  [[nodiscard]] uint32_t first_priority(const Job& job) const {
    if (job.hold != HoldKind::kNone) return 0;
    const Partition* partition = find_partition(at_.after, job.partition.view());
    if (partition == nullptr) return 0;
    return sched::priority_of(*sched::make_policies(at_.after).priority, job, *partition->config,
                              at_.time);
  }
  [[nodiscard]] std::string name(JobId job) const { return job_id_text(at_.after, job); }
  [[nodiscard]] static std::string name(const Job& job) {
    return job.het != nullptr ? fmt::format("{}({})", component_name(*job.het), job.id)
                              : std::to_string(job.id);
  }
  [[nodiscard]] std::string node(NodeId id) const {
    const Node* found = at_.after.nodes.find(id);
    return found != nullptr ? found->name : fmt::format("number {}", id);
  }
  [[nodiscard]] std::string step_words(const StepId& id) const {
    return fmt::format("JobId={} StepId={}", name(id.job), step_id_text(id));
  }
  [[nodiscard]] std::string reservation_name(uint32_t id) const {
    const Reservation* found = reservation(id);
    return found != nullptr ? found->name : fmt::format("number {}", id);
  }
  [[nodiscard]] const Reservation* reservation(uint32_t id) const {
    const auto found = std::ranges::find(*at_.before.reservations, id, &Reservation::id);
    return found != at_.before.reservations->end() ? &*found : nullptr;
  }

  const EventMoment& at_;
  std::vector<log::Line>& out_;
};

// DOWN now, and not because it reboots; or for a reboot it did not come back from.
bool is_lost(const Node* before, const NodeStateChanged& e) {
  if (e.base != NodeBaseState::kDown) return false;
  const bool reboots = (e.flags & kNodeRebootIssued) != 0;
  const bool rebooted = before != nullptr && (before->flags & kNodeRebootIssued) != 0;
  if (rebooted && !reboots) return !e.reason.view().ends_with("reboot complete");
  const bool was_up = before == nullptr || before->base != e.base;
  return was_up && !reboots;
}

// What an administrator looks for: that a node stopped or began to answer, and what its state
// became, why and by whom.
void EventLines::operator()(const NodeStateChanged& e) {
  const std::string name = node(e.node);
  const Node* before = at_.before.nodes.find(e.node);
  const NodeFlags changed = before != nullptr ? before->flags ^ e.flags : 0;
  const bool same_base = before != nullptr && before->base == e.base;
  if (same_base && changed == kNodeNoRespond) {
    if ((e.flags & kNodeNoRespond) != 0) return error("Nodes {} not responding", name);
    return info("Node {} now responding", name);
  }
  const bool new_reason =
      !e.reason.empty() && (before == nullptr || before->reason.view() != e.reason.view());
  if (at_.by != kNobody) {
    if (new_reason) info("update_node: node {} reason set to: {}", name, e.reason.view());
    return info("update_node: node {} state set to {}{}", name,
                node_state_complete(e.base, e.flags), by_uid(at_.by));
  }
  if (same_base && changed == 0 && !new_reason) return;
  const bool is_invalid = (changed & e.flags & kNodeInvalidReg) != 0;
  const std::string reason = e.reason.empty() ? "" : fmt::format(" Reason={}", e.reason.view());
  line(is_lost(before, e) || is_invalid ? Level::kError : Level::kInfo, "node {} state set to {}{}",
       name, node_state_complete(e.base, e.flags), reason);
}

}  // namespace

std::vector<log::Line> log_lines(const EventMoment& moment, const Event& event) {
  std::vector<log::Line> out;
  std::visit(EventLines(moment, out), event);
  return out;
}

std::vector<log::Line> lines_once(std::vector<log::Line> lines) {
  if (lines.size() < 2) return lines;
  std::unordered_map<std::string_view, size_t> times;
  for (const log::Line& line : lines) ++times[line.text];
  if (times.size() == lines.size()) return lines;
  std::vector<log::Line> out;
  for (const log::Line& line : lines) {
    size_t& count = times.at(line.text);  // 0: it is out already
    if (count == 1) out.push_back(line);
    else if (count > 1) out.push_back({line.level, fmt::format("{} ({} times)", line.text, count)});
    count = 0;
  }
  return out;
}

std::string job_id_text(const ClusterState& state, JobId id) {
  const FoundJob job = find_job(state, id);
  if (!job) return std::to_string(id);
  if (job->het != nullptr) return fmt::format("{}({})", component_name(*job->het), id);
  if (job->array == nullptr) return std::to_string(id);
  if (job->array->task == kNoTask) return std::to_string(job->array->array_job);
  return fmt::format("{}_{}({})", job->array->array_job, job->array->task, id);
}

EventLog::EventLog(ClusterSnapshot now) : before_(std::move(now)), thread_([this] { run(); }) {
  log::before_lines([this] { catch_up(); });
}

EventLog::~EventLog() { stop(); }

void EventLog::note(std::vector<engine::LoggedFrame> frames, const ClusterSnapshot& after) {
  if (!log::enabled(Level::kError)) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    size_t events = 0;
    for (const engine::LoggedFrame& frame : frames) events += frame.events.size();
    if (waiting_events_ + events > kMostWaiting) {
      left_out_ += events;
      return;
    }
    was_empty = waiting_.empty();
    waiting_events_ += events;
    waiting_.push_back({std::move(frames), after, net::now()});
  }
  if (was_empty) wake_.notify_one();
}

void EventLog::stop() {
  log::before_lines(nullptr);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void EventLog::run() {
  name_thread("event_log");
  while (true) {
    bool stops = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      // a storm of small groups is few wake-ups and few writes
      if (!stopping_) wake_.wait_for(lock, kPause, [this] { return stopping_; });
      stops = stopping_;
    }
    bool wrote = false;
    {
      const std::lock_guard writing(writing_);
      wrote = write_waiting();
    }
    if (stops && !wrote) return;
  }
}

bool EventLog::write_waiting() {
  std::deque<Batch> batches;
  size_t left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    batches.swap(waiting_);
    left_out = std::exchange(left_out_, 0);
    waiting_events_ = 0;
  }
  for (const Batch& batch : batches) write(batch);
  if (left_out > 0) {
    const log::Line line{Level::kError,
                         fmt::format("{} events were not logged: the log is too slow", left_out)};
    log::write_lines({&line, 1}, net::now());
  }
  return !batches.empty() || left_out > 0;
}

// Somebody is about to log a line of this moment. It does not wait where much is to be written, or
// is being written.
void EventLog::catch_up() {
  constexpr size_t kFew = 64;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || waiting_events_ > kFew) return;
  }
  const std::unique_lock writing(writing_, std::try_to_lock);
  if (writing.owns_lock()) (void)write_waiting();
}

void EventLog::write(const Batch& batch) {
  for (const engine::LoggedFrame& frame : batch.frames) {
    const EventMoment moment{.before = *before_,
                             .after = *batch.after,
                             .by = frame.by,
                             .most = log::most(),
                             .time = frame.time,
                             .took = std::max(Duration(0), batch.durable - frame.time)};
    std::vector<log::Line> lines;
    for (const Event& event : frame.events) {
      std::vector<log::Line> some = log_lines(moment, event);
      lines.insert(lines.end(), std::make_move_iterator(some.begin()),
                   std::make_move_iterator(some.end()));
    }
    lines = tasks_in_one_line(lines_once(std::move(lines)));
    // in parts: others want to log meanwhile
    for (std::span<const log::Line> rest(lines); !rest.empty();
         rest = rest.subspan(std::min(rest.size(), kMostAtOnce))) {
      log::write_lines(rest.first(std::min(rest.size(), kMostAtOnce)), batch.durable);
    }
  }
  before_ = batch.after;
}

}  // namespace sluice::ctld
