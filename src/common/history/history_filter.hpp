// Which jobs of the past a request asks for: the same in the accounting daemon, and in sacct where
// that is away. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::history {

class Filter {
 public:
  // Errors: a list of nodes that is none.
  [[nodiscard]] static Result<Filter> make(protocol::QueryHistoryRequest request);

  [[nodiscard]] bool matches(const JobHistory& job) const;
  // A step that is asked for, by number or because its job is.
  [[nodiscard]] bool wants_step(const JobHistory& job, StepNumber step) const;
  [[nodiscard]] const protocol::QueryHistoryRequest& request() const { return request_; }

 private:
  explicit Filter(protocol::QueryHistoryRequest request) : request_(std::move(request)) {}
  [[nodiscard]] bool matches_names(const JobHistory& job) const;
  [[nodiscard]] bool matches_sizes(const JobHistory& job) const;
  [[nodiscard]] bool matches_nodes(const JobHistory& job) const;

  protocol::QueryHistoryRequest request_;
  std::unordered_set<std::string> nodes_;
};

// Whether a job was in one of the states at some time of the span; without any: whether it was
// there.
[[nodiscard]] bool was_there(const JobHistory& job, const protocol::QueryHistoryRequest& request);

[[nodiscard]] bool is_named(const JobHistory& job, const protocol::HistoryJobName& name);

}  // namespace sluice::history
