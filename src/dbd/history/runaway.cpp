#include "dbd/history/runaway.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/store/usage_mark.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

void end_unknown(JobHistory& job, JobState state) {
  job.end = std::max({job.start, job.eligible, job.submit});
  job.state = state;
}

// A copy of the database that is older than the run's start knows neither that nor its nodes.
void end_known(JobHistory& job, const protocol::RunawayEnd& end) {
  job.state = end.state;
  job.flags = end.flags;
  job.exit_status = end.exit_status;
  job.derived_exit_status = end.derived_exit_status;
  job.ended_by = end.ended_by;
  job.eligible = end.eligible;
  job.start = end.start;
  job.end = std::max({end.end, job.start, job.submit});
  job.suspended_since = kNoTime;
  if (end.nodes.empty()) return;
  job.nodes = end.nodes;
  job.node_count = end.node_count;
  job.cpus = end.cpus;
  job.allocated_tres = end.allocated_tres;
  job.reason = "None";
}

// As a controller does with steps that a job left behind.
Status end_steps(Session& sql, long long row, const JobHistory& job) {
  std::vector<std::pair<long long, std::string>> records;
  {
    long long number = 0;
    std::string bytes;
    soci::statement steps = (sql.prepare << "SELECT number, record FROM step WHERE job = :j",
                             use(row), into(number), into(bytes));
    steps.execute();
    while (steps.fetch()) records.emplace_back(number, bytes);
  }
  for (auto& [number, bytes] : records) {
    Result<StepHistory> step = wire::decode<StepHistory>(sql.read_bytes(bytes));
    if (!step) return failure("a record of history is damaged");
    if (step->end != kNoTime) continue;
    step->end = std::max(job.end, step->start);
    if (job.state == JobState::kNodeFail) step->state = StepState::kNodeFail;
    else if (step->state == StepState::kRunning) step->state = StepState::kCancelled;
    bytes = sql.bytes(wire::encode(*step));
    sql << "UPDATE step SET record = :r WHERE job = :j AND number = :n", use(bytes), use(row),
        use(number);
  }
  return {};
}

// True: it had no end.
template <class End>
Result<bool> end_run(Session& sql, uint64_t index, End end) {
  const auto row = static_cast<long long>(index);
  std::string bytes;
  long long cluster = 0;
  sql << "SELECT cluster, record FROM job WHERE id = :i AND ended = :e", use(row), use(kNotEnded),
      into(cluster), into(bytes);
  if (!sql.got_data()) return false;
  Result<JobHistory> job = wire::decode<JobHistory>(sql.read_bytes(bytes));
  if (!job) return failure("a record of history is damaged");
  const JobHistory before = *job;
  end(*job);
  const long long eligible = micros(job->eligible), start = micros(job->start);
  const long long ended = micros(job->end);
  UsageMark mark;
  mark.changed({micros(before.eligible), micros(before.start), kNotEnded},
               {eligible, start, ended});
  mark.write(sql, cluster);
  const int state = static_cast<int>(job->state);
  bytes = sql.bytes(wire::encode(*job));
  sql << "UPDATE job SET eligible = :b, start = :s, ended = :e, state = :t, record = :r "
         "WHERE id = :i",
      use(eligible), use(start), use(ended), use(state), use(bytes), use(row);
  if (Status ok = end_steps(sql, row, *job); !ok) return tl::unexpected<Error>(ok.error());
  return true;
}

}  // namespace

Result<uint32_t> end_runaway_jobs(Database& database,
                                  const protocol::EndRunawayJobsRequest& request) {
  if (!is_terminal(request.state))
    return failure(ErrorCode::kBadRequest, "runaway jobs get a state that ends a job");
  uint32_t count = 0;
  const auto counted = [&](Result<bool> ended) -> Status {
    if (!ended) return tl::unexpected<Error>(ended.error());
    if (*ended) ++count;
    return {};
  };
  Status done = database.write([&](Session& sql) -> Status {
    count = 0;
    for (const uint64_t index : request.indexes) {
      const auto end = [&](JobHistory& job) { end_unknown(job, request.state); };
      if (Status ok = counted(end_run(sql, index, end)); !ok) return ok;
    }
    for (const protocol::RunawayEnd& one : request.known) {
      const auto end = [&](JobHistory& job) { end_known(job, one); };
      if (Status ok = counted(end_run(sql, one.index, end)); !ok) return ok;
    }
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return count;
}

}  // namespace sluice::dbd
