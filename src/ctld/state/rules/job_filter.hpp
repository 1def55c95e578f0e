// Which jobs a request means: the one reading of squeue's and scancel's filters, so that what is
// cancelled is what is shown.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "common/protocol/job_filter.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/target.hpp"
#include "ctld/state/limits/visible_jobs.hpp"

namespace sluice::state {

// scancel finds nothing on a node that is not there, squeue says that it is not.
enum class UnknownNodes { kRefused, kPassedOver };

class JobFilter {
 public:
  // Jobs that are not visible to who asks are as if they were not there. kInvalidJobId: an id is
  // none, or there are more than can be looked at in a moment. kInvalidNodeName: a node is not
  // there.
  [[nodiscard]] static Result<JobFilter> make(const ClusterState& state,
                                              protocol::QueryJobsRequest request, uint32_t uid,
                                              UnknownNodes unknown = UnknownNodes::kRefused);

  [[nodiscard]] const protocol::QueryJobsRequest& request() const { return request_; }
  [[nodiscard]] const std::vector<JobTarget>& targets() const {
    return targets_;
  }  // the request's ids

  // Whether it is one of those named, where any were. Of an array's record one waiting task is
  // enough.
  [[nodiscard]] bool names(const Job& job) const;
  // Whether it passes all filters, whatever was named.
  [[nodiscard]] bool passes(const Job& job) const;
  [[nodiscard]] bool matches(const Job& job) const { return names(job) && passes(job); }
  // Whether there is such a job for who asks.
  [[nodiscard]] bool sees(const Job& job) const { return visible_.contains(job); }

 private:
  [[nodiscard]] bool passes_state(const Job& job) const;

  protocol::QueryJobsRequest request_;
  uint64_t states_ = 0;  // of the request, a bit each
  std::vector<JobTarget> targets_;
  std::unordered_map<JobId, std::vector<uint32_t>> by_job_;  // places in targets_
  std::optional<Bitmap> nodes_;
  VisibleJobs visible_;
};

// The partitions that -p looks among: those that a waiting job asked for, else the one that it has.
[[nodiscard]] std::string_view filtered_partitions(const Job& job);

}  // namespace sluice::state
