#include "sim/run/state_jobs.hpp"

#include <algorithm>
#include <map>

#include "common/model/component_name.hpp"
#include "ctld/state/rules/reservations.hpp"

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
  made.reservation = spec.reservation.view();
  made.dependency = spec.dependency.view();
  made.spec = spec_of(job);
  return made;
}

// Users by their numbers in this state.
std::map<uint32_t, std::string> names_of_users(const state::ClusterState& state) {
  std::map<uint32_t, std::string> names;
  state.jobs.for_each([&](const Job& job) {
    if (!job.spec->user_name.empty()) names.emplace(job.spec->uid, job.spec->user_name.view());
  });
  return names;
}

TraceReservation trace_reservation(const state::ClusterState& state, const Reservation& one,
                                   const std::map<uint32_t, std::string>& users) {
  TraceReservation made{std::make_shared<const Reservation>(one), {}, {}};
  state::nodes_of(state, one).for_each([&](size_t id) {
    made.nodes.emplace(static_cast<uint32_t>(id), state.nodes.at(static_cast<NodeId>(id)).name);
  });
  for (const uint32_t uid : one.uids) {
    if (const auto at = users.find(uid); at != users.end()) made.people.push_back(at->second);
  }
  return made;
}

// All components of it, or none.
void add_het(const state::ClusterState& state, const Job& first, Trace& trace) {
  std::vector<const Job*> parts;
  state::for_components(state, *first.het, [&](const Job& one) { parts.push_back(&one); });
  const bool over = is_terminal(first.state);
  if (parts.size() != first.het->size || (over && !first.allocation)) {
    trace.passed_over += parts.size();
    return;
  }
  for (const Job* part : parts) {
    TraceJob made = trace_job(state, *part);
    made.submit_s = to_seconds(first.submit);
    made.ends_at_limit = !over;
    made.id = component_name(*part->het);
    trace.jobs.push_back(std::move(made));
  }
}

}  // namespace

Trace trace_of(const state::ClusterState& state) {
  Trace trace;
  trace.begin = kNoTime;
  state.jobs.for_each([&](const Job& job) {
    if (job.het) {
      if (!is_het_follower(job)) add_het(state, job, trace);
      return;
    }
    const bool over = is_terminal(job.state);
    if (over && !job.allocation) {
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
  const std::map<uint32_t, std::string> users = names_of_users(state);
  for (const Reservation& one : *state.reservations)
    trace.reservations.push_back(trace_reservation(state, one, users));
  sort_by_submission(trace);
  join_components(trace);
  return trace;
}

}  // namespace sluice::sim
