// What came of a simulation: the jobs, when and where they ran, and how much the scheduler did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/job_state.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

struct SimJob {
  const TraceJob* trace = nullptr;
  JobId id = kNoJob;                    // kNoJob: it was refused
  JobState state = JobState::kPending;  // as it is in the end
  Time submit = kNoTime;
  Time start = kNoTime;  // of its first run
  Time begun = kNoTime;  // of its last run
  Time end = kNoTime;    // of that; kNoTime: it has not ended
  Minutes limit = 0;
  uint32_t cpus = 0;  // that it got
  uint32_t runs = 0;
  Time forecast = kNoTime;  // the first that it had of its start; kNoTime: it started at once
};

// CPUs of a node.
struct NodeShare {
  NodeId node = kNoNode;
  uint32_t cpus = 0;
};
struct SimRun {
  uint32_t job = 0;  // in SimResult::jobs
  Time start = kNoTime, end = kNoTime;
  std::vector<NodeShare> nodes;
};

struct PassFigures {
  uint64_t passes = 0;
  uint64_t starting = 0;  // of them: those that started something
  uint64_t starts = 0;
  uint64_t backfilled = 0;
  uint64_t looked_at = 0;  // jobs
  uint64_t tried = 0;      // placements
  uint32_t longest_queue = 0;
  Duration cpu{0}, slowest{0};  // where the time is measured
};

struct SimNode {
  std::string name;
  uint32_t cpus = 0;
};

struct SimResult {
  std::string name;            // of the configuration
  std::vector<SimNode> nodes;  // by NodeId
  uint64_t cpus = 0;
  std::vector<SimJob> jobs;                       // as in the trace
  std::vector<SimRun> runs;                       // in the order of their ends
  std::map<std::string, uint64_t> refused;        // jobs by what submission said
  std::vector<std::string> refused_reservations;  // and why
  PassFigures passes;
  Time begin = kNoTime, last_submit = kNoTime, end = kNoTime;
  bool stopped = false;  // --until
};

}  // namespace sluice::sim
