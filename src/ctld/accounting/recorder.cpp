#include "ctld/accounting/recorder.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "common/wire/codec.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/job_states.hpp"
#include "ctld/accounting/dbd_client.hpp"
#include "ctld/accounting/history.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::ctld {
namespace {

// Tasks of one command that have records of their own, and the bytes of these records.
constexpr size_t kMostTasksAlone = 1000;
constexpr size_t kMostBytesAlone = 4U << 20;

bool stores(const ClusterConfig& config, std::string_view flag) {
  return has_option(config.accounting_store_flags, flag);
}

const Step* find_step(const Job& job, StepNumber number) {
  for (const auto& step : job.steps)
    if (step->id.step == number) return step.get();
  return nullptr;
}

// Waiting jobs aside, whose reason may be over: the record keeps the reason that was told before.
bool says_no_reason(const JobHistory& history) {
  return history.state != JobState::kPending && history.reason == reason_text(JobReason::kNone);
}

// The job of an event that is about one alone.
template <class E>
concept OfOneJob = std::is_same_v<E, state::JobUpdated> || std::is_same_v<E, state::JobHeld> ||
    std::is_same_v<E, state::JobReleased> || std::is_same_v<E, state::JobBecameEligible> ||
    std::is_same_v<E, state::JobCompleting> || std::is_same_v<E, state::JobRequeued> ||
    std::is_same_v<E, state::JobRequeueCancelled> || std::is_same_v<E, state::JobSuspended> ||
    std::is_same_v<E, state::JobResumed> || std::is_same_v<E, state::JobShrunk>;

}  // namespace

struct HistoryRecorder::Before {
  HistoryRecorder& to;
  const state::ClusterState& state;
  Time now;

  void operator()(const state::StepEnded& event) const {
    const Job* job = state.jobs.find(event.id.job);
    const Step* step = job != nullptr ? find_step(*job, event.id.step) : nullptr;
    if (step == nullptr) return;
    StepHistory history = step_history(*state.config, *job, *step);
    history.state = event.state;
    history.exit_status = event.exit_status;
    history.end = event.time;
    if (event.usage) history.usage = usage_history(*event.usage, *step);
    to.note_step(std::move(history));
  }
  void operator()(const state::StepNodesEnded& event) const {
    const Job* job = state.jobs.find(event.id.job);
    const Step* step = job != nullptr ? find_step(*job, event.id.step) : nullptr;
    if (step == nullptr || !event.usage) return;
    StepHistory history = step_history(*state.config, *job, *step);
    history.usage = usage_history(*event.usage, *step);
    to.note_step(std::move(history));
  }
  void operator()(const state::JobEnded& event) const {
    const Job* job = state.jobs.find(event.job);
    to.was_completing_ = job != nullptr && is_completing(*job);
    lose_steps(event.job, event.time);
  }
  void operator()(const state::JobRequeued& event) const {
    lose_steps(event.job, event.time);
    const state::FoundJob job = state::find_job(state, event.job);
    if (job) to.note_run(last_run(*job));
  }
  void operator()(const state::ReservationDeleted& event) const {
    to.note_reservation(state, event.id, now);
  }
  void operator()(const state::AccountingChanged& event) const {
    to.is_other_database_ = has_other_root(event);
  }
  void operator()(const state::StateForgotten& event) const { to.forget_jobs(state, event.time); }
  template <class E>
  void operator()(const E& /*event*/) const {}

  // Of a job that was over before it was requeued the record says that it was, as in Slurm.
  [[nodiscard]] JobHistory last_run(const Job& job) const {
    JobHistory history = job_history(state, job);
    if ((history.flags & kJobRequeued) != 0) return history;
    history.flags |= kJobRequeued;
    history.state = JobState::kCancelled;
    return history;
  }
  [[nodiscard]] bool has_other_root(const state::AccountingChanged& event) const {
    return std::ranges::any_of(event.associations, [&](const AssociationRecord& record) {
      const bool stays =
          state.accounting.associations.contains(record.id) &&
          std::ranges::find(event.gone_associations, record.id) == event.gone_associations.end();
      return record.parent == 0 && !stays;
    });
  }
  void lose_steps(JobId id, Time time) const {
    if (const Job* job = state.jobs.find(id)) to.note_lost_steps(state, *job, time);
  }
};

struct HistoryRecorder::After {
  HistoryRecorder& to;
  const state::ClusterState& state;
  Time now;

  void operator()(const state::JobSubmitted& event) const { to.note_job(state, event.job.id); }
  void operator()(const state::ArrayTasksSplit& event) const {
    for (const auto& task : event.tasks) to.note_job(state, task.job);
    to.arrays_.insert(event.array_job);
  }
  void operator()(const state::JobStarted& event) const {
    for (const auto& start : event.starts) {
      to.note_started(state, start.job, event.record);
      const Job* job = state.jobs.find(start.job);
      for (const auto& step : job->steps) to.note_step(step_history(*state.config, *job, *step));
    }
    to.note_job(state, event.record);
  }
  void operator()(const state::ArrayTasksCancelled& event) const {
    const Job* job = state.jobs.find(event.array_job);
    if (job == nullptr) return;
    to.note_cancelled_tasks(state, *job, event);
    to.arrays_.insert(event.array_job);
  }
  void operator()(const state::StepCreated& event) const { note_step(event.step->id); }
  void operator()(const state::StepUpdated& event) const { note_step(event.id); }
  void operator()(const state::NodeStateChanged& event) const {
    to.note_node(state, event.node, now);
  }
  void operator()(const state::NodeRegistered& event) const {
    to.note_node(state, event.node, now);
    to.note_cluster(state, now);
  }
  void operator()(const state::ConfigReplaced& /*event*/) const { to.note_cluster(state, now); }
  void operator()(const state::NodesCreated& /*event*/) const { to.note_cluster(state, now); }
  void operator()(const state::NodesDeleted& /*event*/) const { to.note_cluster(state, now); }
  void operator()(const state::ReservationChanged& event) const {
    to.note_reservation(state, event.reservation.id, kNoTime);
  }
  void operator()(const state::AccountingChanged& /*event*/) const {
    if (std::exchange(to.is_other_database_, false)) to.tell_again(state, now);
  }
  // Of what was completing all was told then.
  void operator()(const state::JobEnded& event) const {
    if (!to.was_completing_) to.note_job(state, event.job);
  }
  template <OfOneJob E>
  void operator()(const E& event) const {
    to.note_job(state, event.job);
  }
  template <class E>
  void operator()(const E& /*event*/) const {}

  void note_step(const StepId& id) const {
    const Job* job = state.jobs.find(id.job);
    const Step* step = job != nullptr ? find_step(*job, id.step) : nullptr;
    if (step != nullptr) to.note_step(step_history(*state.config, *job, *step));
  }
};

bool HistoryRecorder::wants(const ClusterConfig& config) {
  const std::vector<std::string>& enforced = config.accounting_storage_enforce;
  jobs_ = !has_option(enforced, "nojobs");
  steps_ = jobs_ && !has_option(enforced, "nosteps");
  return has_accounting_daemon(config);
}

void HistoryRecorder::before(const state::ClusterState& state, const state::Event& event,
                             Time now) {
  if (wants(*state.config))
    std::visit(Before{*this, state, now}, static_cast<const state::AnyEvent&>(event));
}

void HistoryRecorder::after(const state::ClusterState& state, const state::Event& event, Time now) {
  if (wants(*state.config))
    std::visit(After{*this, state, now}, static_cast<const state::AnyEvent&>(event));
}

void HistoryRecorder::note_run(JobHistory history) {
  if (!jobs_) return;
  const RunKey key{history.id, history.submit.time_since_epoch().count(), history.restarts,
                   history.part};
  const auto [at, is_new] = runs_.try_emplace(key, records_.size());
  if (!is_new && says_no_reason(history)) history.reason = records_[at->second].job->reason;
  auto record = std::make_shared<const JobHistory>(std::move(history));
  if (is_new) records_.push_back({.job = std::move(record)});
  else records_[at->second].job = std::move(record);
}

void HistoryRecorder::note_job(const state::ClusterState& state, JobId id) {
  const state::FoundJob job = state::find_job(state, id);
  if (!job) return;
  JobHistory history = job_history(state, *job);
  if (is_terminal(job->state) && job->allocation == nullptr) add_wait(history, *job, id, false);
  note_run(std::move(history));
}

void HistoryRecorder::note_started(const state::ClusterState& state, JobId id, JobId record) {
  const state::FoundJob job = state::find_job(state, id);
  if (!job) return;
  JobHistory history = job_history(state, *job);
  add_wait(history, *job, record, true);
  note_run(std::move(history));
}

void HistoryRecorder::add_wait(JobHistory& history, const Job& job, JobId record,
                               bool starts) const {
  if (!waited_) return;
  const Waited waited = waited_(record, starts);
  if (says_no_reason(history)) history.reason = reason_text(waited.reason);
  const bool is_given = job.spec->priority != UINT32_MAX || job.hold != HoldKind::kNone;
  if (!starts && !is_given && waited.priority != 0) history.priority = waited.priority;
}

// Tasks that end without a job id of their own: records of their array's.
void HistoryRecorder::note_cancelled_tasks(const state::ClusterState& state, const Job& job,
                                           const state::ArrayTasksCancelled& event) {
  JobHistory history = job_history(state, job, WaitingTasks::kLeftOut);
  history.state = JobState::kCancelled;
  history.ended_by = event.cancelled_by;
  history.end = event.time;
  add_wait(history, job, event.array_job, false);
  const size_t bytes = event.tasks.size() * wire::encode(history).size();
  if (event.tasks.size() > kMostTasksAlone || bytes > kMostBytesAlone) {
    history.array_tasks = event.tasks.to_text();
    history.part = event.tasks.front() + 1;
    return note_run(std::move(history));
  }
  event.tasks.for_each([&](uint32_t task) {
    history.array_task = task;
    history.part = task + 1;
    note_run(history);
  });
}

void HistoryRecorder::note_step(StepHistory history) {
  if (!steps_) return;
  records_.push_back({.step = std::make_shared<const StepHistory>(std::move(history))});
}

// Of nodes that are gone: they end with their job, and nobody says how.
void HistoryRecorder::note_lost_steps(const state::ClusterState& state, const Job& job, Time end) {
  for (const auto& step : job.steps) {
    StepHistory history = step_history(*state.config, job, *step);
    history.end = end;
    if (history.state == StepState::kRunning) history.state = StepState::kCancelled;
    note_step(std::move(history));
  }
}

void HistoryRecorder::note_node(const state::ClusterState& state, NodeId id, Time now) {
  const Node* node = state.nodes.find(id);
  if (node == nullptr) return;
  std::optional<NodeHistory> history = node_history(*node, *state.config);
  const auto known = node_states_.find(id);
  if (!history) {
    if (known == node_states_.end()) return;
    node_states_.erase(known);
    history.emplace();
    history->node = node->name;
    history->end = now;
  } else {
    std::string shown = fmt::format("{} {}", history->state, history->reason);
    if (known != node_states_.end() && known->second == shown) return;
    node_states_[id] = std::move(shown);
    history->start = now;
  }
  records_.push_back({.node = std::make_shared<const NodeHistory>(std::move(*history))});
}

void HistoryRecorder::note_cluster(const state::ClusterState& state, Time now) {
  ClusterHistory history = cluster_history(state);
  if (history.tres != cluster_tres_ || history.nodes != cluster_nodes_) {
    cluster_tres_ = history.tres;
    cluster_nodes_ = history.nodes;
    history.time = now;
    records_.push_back({.cluster = std::make_shared<const ClusterHistory>(std::move(history))});
  }
  if (std::exchange(started_, true)) return;
  state.nodes.for_each([&](const Node& node) { note_node(state, node.id, now); });
}

void HistoryRecorder::note_reservation(const state::ClusterState& state, uint32_t id, Time end) {
  for (const Reservation& reservation : *state.reservations) {
    if (reservation.id != id) continue;
    auto history = reservation_history(state, reservation);
    if (end != kNoTime && end < history.end) history.end = std::max(end, history.start);
    records_.push_back(
        {.reservation = std::make_shared<const ReservationHistory>(std::move(history))});
  }
}

void HistoryRecorder::forget_jobs(const state::ClusterState& state, Time now) {
  state.jobs.for_each([&](const Job& job) {
    if (is_terminal(job.state)) return;
    note_lost_steps(state, job, now);
    JobHistory history = job_history(state, job);
    history.state = JobState::kCancelled;
    history.ended_by = 0;
    history.end = now;
    note_run(std::move(history));
  });
}

// A database that does not have the cluster yet, or not any more, knows nothing of what is there.
void HistoryRecorder::tell_again(const state::ClusterState& state, Time now) {
  cluster_tres_.clear();
  cluster_nodes_.clear();
  node_states_.clear();
  started_ = false;
  note_cluster(state, now);
  for (const Reservation& reservation : *state.reservations)
    note_reservation(state, reservation.id, kNoTime);
  state.jobs.for_each([&](const Job& job) {
    if (is_terminal(job.state)) return;
    note_run(job_history(state, job));
    for (const auto& step : job.steps) note_step(step_history(*state.config, job, *step));
  });
}

std::vector<std::string> HistoryRecorder::take(const state::ClusterState& state,
                                               const std::vector<journal::Blob>& blobs) {
  std::vector<std::string> out;
  for (const JobId array : std::exchange(arrays_, {})) note_job(state, array);
  if (records_.empty()) return out;
  const ClusterConfig& config = *state.config;
  const bool scripts = stores(config, "job_script"), environments = stores(config, "job_env");
  std::unordered_set<std::string_view> wanted;  // keys
  for (const HistoryRecord& record : records_) {
    if (record.job == nullptr) continue;
    if (scripts) wanted.insert(record.job->script_blob);
    if (environments) wanted.insert(record.job->environment_blob);
  }
  for (const journal::Blob& blob : blobs) {
    if (!wanted.contains(blob.key)) continue;
    HistoryRecord record;
    record.blob = std::make_shared<const BlobHistory>(BlobHistory{blob.key, blob.bytes});
    out.push_back(wire::encode(record));
  }
  for (const HistoryRecord& record : records_) out.push_back(wire::encode(record));
  records_.clear();
  runs_.clear();
  return out;
}

}  // namespace sluice::ctld
