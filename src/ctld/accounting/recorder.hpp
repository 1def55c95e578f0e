// Makes of each event what the accounting daemon is to be told of it. Of a thing that one command
// changes several times the last record alone is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/model/history.hpp"
#include "ctld/engine/event_recorder.hpp"

namespace sluice::ctld {

class HistoryRecorder final : public engine::EventRecorder {
 public:
  // What no state says of a job that waited: the scheduler knows.
  struct Waited {
    JobReason reason = JobReason::kNone;  // for what
    uint32_t priority = 0;                // 0: no pass has seen it
  };
  // `waited` is asked of a job that starts, or ends without that. Called before there are events.
  using HowItWaited = std::function<Waited(JobId record, bool starts)>;
  void ask(HowItWaited waited) { waited_ = std::move(waited); }
  void before(const state::ClusterState& state, const state::Event& event, Time now) override;
  void after(const state::ClusterState& state, const state::Event& event, Time now) override;
  [[nodiscard]] std::vector<std::string> take(const state::ClusterState& state,
                                              const std::vector<journal::Blob>& blobs) override;

 private:
  struct Watch;  // what is looked at before an event, and behind it
  struct Before;
  struct After;

  // Of this configuration; and what of it.
  [[nodiscard]] bool wants(const ClusterConfig& config);
  void note_job(const state::ClusterState& state, JobId id);
  void note_run(JobHistory history);
  // `record`: that which waited; of an array's task that of the array.
  void note_started(const state::ClusterState& state, JobId id, JobId record);
  // Of a job that ends without a start also the priority that it had.
  void add_wait(JobHistory& history, const Job& job, JobId record, bool starts) const;
  void note_cancelled_tasks(const state::ClusterState& state, const Job& job,
                            const state::ArrayTasksCancelled& event);
  void note_step(StepHistory history);
  void note_lost_steps(const state::ClusterState& state, const Job& job, Time end);
  void note_node(const state::ClusterState& state, NodeId id, Time now);
  void note_cluster(const state::ClusterState& state, Time now);
  void note_reservation(const state::ClusterState& state, uint32_t id, Time end);
  void forget_jobs(const state::ClusterState& state, Time now);
  void tell_again(const state::ClusterState& state, Time now);

  using RunKey = std::tuple<JobId, int64_t, uint32_t, uint32_t>;
  HowItWaited waited_;
  std::vector<HistoryRecord> records_;
  std::map<RunKey, size_t> runs_;  // positions in records_
  // Whose waiting tasks have changed: a command may change those of one array many times, and to
  // name them takes time in proportion to their ranges.
  std::set<JobId> arrays_;
  std::vector<NamedTres> cluster_tres_;
  std::string cluster_nodes_;
  std::map<NodeId, std::string> node_states_;  // "DOWN reason" of those that cannot be used
  bool jobs_ = true, steps_ = true;            // AccountingStorageEnforce=nojobs, nosteps
  bool was_completing_ = false;                // the job that an event ends
  bool started_ = false;                       // the nodes were looked at
  bool is_other_database_ = false;             // that an event is of
};

}  // namespace sluice::ctld
