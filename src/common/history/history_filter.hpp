// Which jobs of the past a request asks for: the same in the accounting daemon, and in sacct where
// that is away. Pure.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::history {

// Steps of one job that are asked for.
class WantedSteps {
 public:
  [[nodiscard]] bool contains(StepNumber step) const { return all_ || numbers_.contains(step); }

 private:
  friend class JobNames;
  bool all_ = false;
  std::set<StepNumber> numbers_;
};

// Jobs by number. What it costs to look at a job hardly grows with how many there are.
class JobNames {
 public:
  explicit JobNames(const std::vector<protocol::HistoryJobName>& names);

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] bool contains(const JobHistory& job) const;
  [[nodiscard]] WantedSteps steps_of(const JobHistory& job) const;

 private:
  struct Key {
    JobId job = kNoJob;
    uint32_t task = kNoTask, offset = protocol::kNoOffset;
    // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Steps = std::set<StepNumber>;
  // Tells `take` the steps of each name of the job, until it gives false.
  template <class Take>
  void each_of(const JobHistory& job, Take take) const;

  std::map<Key, Steps> steps_;  // UINT32_MAX among them: all
};

class Filter {
 public:
  // Errors: a list of nodes that is none.
  [[nodiscard]] static Result<Filter> make(protocol::QueryHistoryRequest request);

  [[nodiscard]] bool matches(const JobHistory& job) const;
  // Those that are asked for, by number or because their job is.
  [[nodiscard]] WantedSteps steps_of(const JobHistory& job) const { return jobs_.steps_of(job); }
  // A step that was over before the time that is asked for, or began after it, is left out.
  [[nodiscard]] bool in_time(const StepHistory& step) const {
    return step.start <= request_.until && (step.end == kNoTime || step.end >= request_.from);
  }
  [[nodiscard]] const protocol::QueryHistoryRequest& request() const { return request_; }

 private:
  explicit Filter(protocol::QueryHistoryRequest request)
      : request_(std::move(request)), jobs_(request_.jobs) {}
  [[nodiscard]] bool matches_names(const JobHistory& job) const;
  [[nodiscard]] bool matches_sizes(const JobHistory& job) const;
  [[nodiscard]] bool matches_nodes(const JobHistory& job) const;

  protocol::QueryHistoryRequest request_;
  JobNames jobs_;
  std::unordered_set<std::string> nodes_;
};

// Whether a job was in one of the states at some time of the span; without any: whether it was
// there.
[[nodiscard]] bool was_there(const JobHistory& job, const protocol::QueryHistoryRequest& request);

// A run that ended because its job was queued again, and for nothing else (its node failed, others
// needed its CPUs): its state is REQUEUED, neither CANCELLED nor FAILED.
[[nodiscard]] bool was_requeued(const JobHistory& job);

[[nodiscard]] bool is_named(const JobHistory& job, const protocol::HistoryJobName& name);

}  // namespace sluice::history
