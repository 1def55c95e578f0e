// Which jobs squeue and others ask to see, and scancel cancels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/job_state.hpp"

namespace sluice::protocol {

// Filters are joined with "and"; an empty list filters nothing.
struct QueryJobsRequest {
  static constexpr uint32_t kRetired[] = {14};
  static constexpr std::string_view kMethod = "Controller/QueryJobs";
  using Chunk = struct JobChunk;
  std::vector<std::string> ids;  // 12, 12_3, 12_[1-4], 12+1
  std::vector<uint32_t> uids;
  std::vector<std::string> partitions, accounts, qos, names, licenses, reservations;
  std::vector<JobState> states;  // base states; with flag_states empty too: squeue's default
  JobFlags flag_states = 0;      // or any of these flags
  bool all_states = false;
  bool hidden_partitions = false;  // -a
  bool steps = false;              // fill Job::steps
  std::string nodes;               // host list: jobs that use one of them
  bool missing_is_error = true;    // one id alone that is unknown: kInvalidJobId
  std::vector<std::string> wckeys;
  template <class V>
  static void describe(V&& field) {
    field(1, "ids", &QueryJobsRequest::ids);
    field(2, "uids", &QueryJobsRequest::uids);
    field(3, "partitions", &QueryJobsRequest::partitions);
    field(4, "accounts", &QueryJobsRequest::accounts);
    field(5, "qos", &QueryJobsRequest::qos);
    field(6, "names", &QueryJobsRequest::names);
    field(7, "licenses", &QueryJobsRequest::licenses);
    field(8, "reservations", &QueryJobsRequest::reservations);
    field(9, "states", &QueryJobsRequest::states);
    field(10, "flag_states", &QueryJobsRequest::flag_states);
    field(11, "all_states", &QueryJobsRequest::all_states);
    field(12, "hidden_partitions", &QueryJobsRequest::hidden_partitions);
    field(13, "steps", &QueryJobsRequest::steps);
    field(15, "nodes", &QueryJobsRequest::nodes);
    field(16, "missing_is_error", &QueryJobsRequest::missing_is_error);
    field(17, "wckeys", &QueryJobsRequest::wckeys);
  }
};

}  // namespace sluice::protocol
