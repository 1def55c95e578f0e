// sprio: the priorities of waiting jobs, and what they are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/priority_factors.hpp"

namespace sluice::protocol {

// Filters are joined with "and"; an empty list filters nothing.
struct QueryPrioritiesRequest {
  static constexpr std::string_view kMethod = "Controller/QueryPriorities";
  using Chunk = struct PriorityChunk;
  std::vector<JobId> jobs;
  std::vector<uint32_t> uids;
  std::vector<std::string> partitions;
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &QueryPrioritiesRequest::jobs);
    field(2, "uids", &QueryPrioritiesRequest::uids);
    field(3, "partitions", &QueryPrioritiesRequest::partitions);
  }
};
// A job in one of the partitions that it asks for.
struct PriorityRecord {
  JobId job = kNoJob;
  std::string partition;
  uint32_t uid = 0;
  std::string account, qos;
  uint32_t priority = 0;
  bool fixed = false;  // it was given its priority: the factors say nothing
  int32_t nice = 0;
  int32_t site_factor = 0;
  PriorityFactors factors;
  double sum = 0;  // the priority before it becomes a whole number
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &PriorityRecord::job);
    field(2, "partition", &PriorityRecord::partition);
    field(3, "uid", &PriorityRecord::uid);
    field(4, "account", &PriorityRecord::account);
    field(5, "qos", &PriorityRecord::qos);
    field(6, "priority", &PriorityRecord::priority);
    field(7, "fixed", &PriorityRecord::fixed);
    field(8, "nice", &PriorityRecord::nice);
    field(9, "site_factor", &PriorityRecord::site_factor);
    field(10, "factors", &PriorityRecord::factors);
    field(11, "sum", &PriorityRecord::sum);
  }
};
struct PriorityChunk {  // streamed; there is one at least
  std::string priority_type;
  PriorityWeights weights;
  std::string tres_weights;  // as they are configured
  std::vector<PriorityRecord> records;
  template <class V>
  static void describe(V&& field) {
    field(1, "priority_type", &PriorityChunk::priority_type);
    field(2, "weights", &PriorityChunk::weights);
    field(3, "records", &PriorityChunk::records);
    field(4, "tres_weights", &PriorityChunk::tres_weights);
  }
};

}  // namespace sluice::protocol
