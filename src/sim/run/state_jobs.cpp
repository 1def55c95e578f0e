#include "sim/run/state_jobs.hpp"

#include <algorithm>

namespace sluice::sim {
namespace {

constexpr int64_t kYear = int64_t{365} * 86'400;

int64_t seconds_of_limit(const state::ClusterState& state, const Job& job) {
  Minutes limit = job.time_limit;
  if (limit == 0) {  // as long as its partition lets it run
    const state::Partition* partition = state::find_partition(state, job.partition.view());
    limit = partition == nullptr ? kInfiniteMinutes : partition->config->max_time;
  }
  return limit == kInfiniteMinutes ? kYear : int64_t{limit} * 60;
}

uint32_t cpus_of(const Job& job) {
  if (job.allocation) return job.allocation->cpus;
  const JobSpec& spec = *job.spec;
  const uint64_t tasks = uint64_t{std::max({1U, spec.num_tasks, spec.min_nodes})};
  const uint64_t cpus = tasks * std::max(1U, spec.cpus_per_task);
  return static_cast<uint32_t>(
      std::min<uint64_t>(UINT32_MAX, std::max<uint64_t>(cpus, spec.min_cpus)));
}

std::shared_ptr<const JobSpec> spec_of(const Job& job) {
  JobSpec spec = *job.spec;
  spec.batch = true;
  spec.interactive = spec.attended = spec.immediate = spec.hold = false;
  spec.qos = spec.wckey = spec.reservation = spec.dependency = spec.array = spec.clusters = {};
  spec.script_blob = spec.environment_blob = spec.cron = spec.mcs_label = {};
  spec.deadline = kNoTime;
  spec.request_id = 0;
  spec.priority = UINT32_MAX;
  return std::make_shared<const JobSpec>(std::move(spec));
}

TraceJob trace_job(const state::ClusterState& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  TraceJob made;
  made.submit_s = to_seconds(job.submit);
  made.limit_s = seconds_of_limit(state, job);
  made.run_s = is_terminal(job.state)
                   ? std::max<int64_t>(0, to_seconds(job.end) - to_seconds(job.start))
                   : made.limit_s;
  made.cpus = cpus_of(job);
  made.nodes = spec.min_nodes;
  made.user = spec.user_name.view();
  made.account = spec.account.view();
  made.partition = spec.partitions.view();
  made.spec = spec_of(job);
  return made;
}

}  // namespace

Trace trace_of(const state::ClusterState& state) {
  Trace trace;
  trace.begin = kNoTime;
  state.jobs.for_each([&](const Job& job) {
    const bool over = is_terminal(job.state);
    if (job.het || (over && !job.allocation)) {
      ++trace.passed_over;
      return;
    }
    TraceJob made = trace_job(state, job);
    if (!over) made.ends_at_limit = true;
    if (!job.array) {
      made.id = std::to_string(job.id);
      trace.jobs.push_back(std::move(made));
      return;
    }
    const std::string stem = std::to_string(job.array->array_job) + "_";
    const auto add = [&](uint32_t task) {
      made.id = stem + std::to_string(task);
      trace.jobs.push_back(made);
    };
    if (job.array->task == kNoTask) job.array->pending.for_each(add);
    else add(job.array->task);
  });
  sort_by_submission(trace);
  return trace;
}

}  // namespace sluice::sim
