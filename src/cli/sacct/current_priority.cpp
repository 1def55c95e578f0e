#include "cli/sacct/current_priority.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {

CurrentPriorities::CurrentPriorities(Client& client, const protocol::QueryHistoryRequest& request)
    : cluster_(client.config().cluster_name) {
  const auto is_own = [&](const std::string& one) { return iequals(one, cluster_); };
  if (!request.clusters.empty() && std::ranges::none_of(request.clusters, is_own)) return;
  if (!request.states.empty() &&
      std::ranges::find(request.states, JobState::kPending) == request.states.end())
    return;
  protocol::QueryJobsRequest asked;
  asked.hidden_partitions = true;
  asked.states = {JobState::kPending};
  asked.uids = request.uids;
  // what it does not know of is no matter
  (void)client.query_jobs(asked, [&](protocol::JobChunk&& chunk) {
    for (const protocol::JobRecord& record : chunk.jobs)
      priorities_[record.job.id] = std::max(record.job.priority, record.soft.priority);
    return true;
  });
}

void CurrentPriorities::fill(protocol::HistoryChunk& chunk) const {
  for (protocol::HistoryJob& one : chunk.jobs) {
    if (one.job.state != JobState::kPending || one.job.end != kNoTime || one.cluster != cluster_)
      continue;
    const auto known = priorities_.find(one.job.id);
    if (known != priorities_.end()) one.job.priority = known->second;
  }
}

}  // namespace sluice::cli
