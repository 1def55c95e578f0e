// QueryPriorities: jobs of a snapshot with what their priorities are made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/priority.hpp"
#include "ctld/sched/policy/priority.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/limits/visible_jobs.hpp"

namespace sluice::ctld {

// Walks the jobs of one snapshot in chunks.
class PriorityQuery {
 public:
  // Jobs that are not visible to this user are left out.
  PriorityQuery(protocol::QueryPrioritiesRequest request, uint32_t uid,
                state::ClusterSnapshot state, sched::Policies policies, Time now);

  // nullopt: no more.
  [[nodiscard]] Result<std::optional<protocol::PriorityChunk>> next();

 private:
  [[nodiscard]] bool is_wanted(const Job& job) const;
  void add(const Job& job, std::vector<protocol::PriorityRecord>& out) const;

  const protocol::QueryPrioritiesRequest request_;
  const state::ClusterSnapshot state_;
  const sched::Policies policies_;
  const Time now_;
  const bool calculates_running_;
  const bool accrues_always_;  // jobs that wait for their time or for others, too
  state::VisibleJobs visible_;
  bool done_ = false;
  uint32_t at_ = 0;  // the next job id to look at
};

}  // namespace sluice::ctld
