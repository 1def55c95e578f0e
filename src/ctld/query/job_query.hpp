// QueryJobs: which jobs of a snapshot a request asks for, and their records.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/ctld.hpp"
#include "common/protocol/job_query.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/job_filter.hpp"

namespace sluice::ctld {

// Walks the jobs of one snapshot in chunks, so that a slow reader holds a snapshot and no memory.
class JobQuery {
 public:
  struct Asker {
    uint32_t uid = 0;
    std::vector<std::string> unseen;  // partitions of which he is not shown the jobs
  };
  // With PrivateData=jobs others' jobs are left out unless an administrator asks.
  JobQuery(protocol::QueryJobsRequest request, Asker asker, state::ClusterSnapshot state,
           std::shared_ptr<const sched::SchedulerView> soft, Time now,
           sched::Policies policies = {});

  // nullopt: no more. kInvalidJobId: the one job asked for is not there.
  [[nodiscard]] Result<std::optional<protocol::JobChunk>> next();

 private:
  [[nodiscard]] bool is_shown(const Job& job) const;
  [[nodiscard]] static bool is_of(const Job& job, JobId id);
  [[nodiscard]] std::shared_ptr<const JobSpec> shown_spec(const Job& job, bool to_stranger) const;
  [[nodiscard]] protocol::JobRecord record(const Job& job) const;
  void set_priority(const Job& job, protocol::JobRecord& out) const;

  const protocol::QueryJobsRequest request_;
  const Asker asker_;
  const state::ClusterSnapshot state_;
  const std::shared_ptr<const sched::SchedulerView> soft_;
  const Time now_;
  const sched::Policies policies_;
  const bool calculates_running_;
  const bool accrues_always_;
  std::optional<state::JobFilter> filter_;  // made when the first chunk is asked for
  bool any_ = false;                        // a job was found
  bool done_ = false;
  uint32_t at_ = 0;  // the next job id to look at
};

// "cpu=4,mem=400M,node=1,billing=4", as scontrol and squeue print.
[[nodiscard]] std::string required_tres(const state::ClusterState& state, const Job& job);
[[nodiscard]] std::string allocated_tres(const state::ClusterState& state, const Job& job);

}  // namespace sluice::ctld
