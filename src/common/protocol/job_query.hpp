// Jobs as the controller describes them to squeue, scontrol and others, for QueryJobsRequest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/job.hpp"
#include "common/protocol/job_filter.hpp"

namespace sluice::protocol {

struct JobRecord {
  Job job;
  SchedulerHints soft;
  std::string batch_host;
  std::string dependency;  // what is left of it, as squeue shows it
  std::string required_tres, allocated_tres;
  // what it gets where it asked for no memory; kDefault: all of a node's
  MemoryKind default_memory_kind = MemoryKind::kDefault;
  uint64_t default_memory_mib = 0;
  // In a partition of OverSubscribe=FORCE: it asked for nothing, or was not given what it asked
  // for.
  bool shares_by_force = false;
  bool alone_by_force = false;  // it has its nodes in a partition of OverSubscribe=EXCLUSIVE
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobRecord::job);
    field(2, "soft", &JobRecord::soft);
    field(3, "batch_host", &JobRecord::batch_host);
    field(4, "dependency", &JobRecord::dependency);
    field(5, "required_tres", &JobRecord::required_tres);
    field(6, "allocated_tres", &JobRecord::allocated_tres);
    field(7, "default_memory_kind", &JobRecord::default_memory_kind);
    field(8, "default_memory_mib", &JobRecord::default_memory_mib);
    field(9, "shares_by_force", &JobRecord::shares_by_force);
    field(10, "alone_by_force", &JobRecord::alone_by_force);
  }
};
struct JobChunk {  // streamed
  std::vector<JobRecord> jobs;
  Time now = kNoTime;  // the controller's clock
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &JobChunk::jobs);
    field(2, "now", &JobChunk::now);
  }
};

}  // namespace sluice::protocol
