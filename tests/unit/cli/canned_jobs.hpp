// Job records as a controller would send them, with the values of real captures, so that what is
// rendered can be compared with what Slurm printed of them.
#pragma once

#include <memory>
#include <string>

#include "common/base/time_text.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::test {

inline Time at(const std::string& text) {
  const auto time = parse_time(text, from_seconds(1795228800), TimeBias::kPast);
  return time ? *time : kNoTime;
}

// What all jobs of the capture have in common.
inline JobSpec common_spec() {
  JobSpec spec;
  spec.user_name = "root";
  spec.group_name = "root";
  spec.submit_host = "localhost";
  spec.submit_sid = 1497;
  spec.name = "wrap";
  spec.account = "physics";
  spec.qos = "normal";
  spec.partitions = "debug";
  spec.batch = true;
  spec.work_dir = "/srv/demo";
  spec.std_out = "/dev/null";
  spec.num_tasks = 1;
  return spec;
}

inline std::shared_ptr<const Allocation> allocation(const std::string& nodes, uint32_t count,
                                                    uint32_t cpus) {
  Allocation made;
  made.node_list = nodes;
  made.cpus = cpus;
  made.nodes.resize(count);
  return std::make_shared<const Allocation>(made);
}

inline protocol::JobRecord make_record(JobId id, JobSpec spec) {
  protocol::JobRecord record;
  record.job.id = id;
  record.job.spec = std::make_shared<const JobSpec>(std::move(spec));
  record.job.partition = "debug";
  record.job.time_limit = 30;
  record.required_tres = "cpu=1,mem=64M,node=1,billing=1";
  record.default_memory_kind = MemoryKind::kPerCpu;
  record.default_memory_mib = 64;
  return record;
}

// A batch job on two nodes that ended well.
inline protocol::JobRecord finished_job() {
  JobSpec spec = common_spec();
  spec.name = "demo";
  spec.num_tasks = 4;
  spec.min_nodes = spec.max_nodes = 2;
  spec.cpus_per_task = 2;
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 100;
  spec.licenses = "matlab:2";
  spec.gres = "gres/gpu:1";
  spec.command = "/srv/demo/job.sh";
  spec.comment = "a comment";
  spec.std_out = {};
  spec.submit_line =
      "sbatch -A physics -N2 -n4 -c2 --mem-per-cpu=100 -t 20 --gres=gpu:1 -L matlab:2 job.sh";
  protocol::JobRecord record = make_record(1, spec);
  Job& job = record.job;
  job.state = JobState::kCompleted;
  job.time_limit = 20;
  job.submit = job.eligible = job.accrue = job.start = at("2026-11-21T02:38:22");
  job.end = at("2026-11-21T02:48:23");
  job.allocation = allocation("node[1-2]", 2, 8);
  record.soft.priority = 11375;
  record.soft.last_evaluated = at("2026-11-21T02:38:22");
  record.batch_host = "node1";
  record.required_tres = record.allocated_tres = "cpu=8,mem=800M,node=2,billing=8,gres/gpu=2";
  return record;
}

inline JobSpec array_spec() {
  JobSpec spec = common_spec();
  spec.qos = "high";
  spec.submit_line = "sbatch -A physics -q high --array=1-20%4 -o /dev/null --wrap sleep 300";
  return spec;
}

// A running task of an array.
inline protocol::JobRecord running_task(JobId id, uint32_t task, const std::string& start) {
  protocol::JobRecord record = make_record(id, array_spec());
  Job& job = record.job;
  ArrayInfo array;
  array.array_job = 2;
  array.task = task;
  array.max_running = 4;
  job.array = std::make_shared<const ArrayInfo>(array);
  job.state = JobState::kRunning;
  job.submit = job.accrue = at("2026-11-21T02:38:25");
  job.eligible = at("2026-11-21T02:48:27");
  job.start = at(start);
  job.end = job.start + std::chrono::minutes(30);
  job.allocation = allocation("node1", 1, 1);
  record.soft.priority = 8141;
  record.soft.last_evaluated = job.start;
  record.batch_host = "node1";
  record.allocated_tres = record.required_tres;
  return record;
}

// The tasks of it that still wait.
inline protocol::JobRecord waiting_tasks() {
  protocol::JobRecord record = make_record(2, array_spec());
  Job& job = record.job;
  ArrayInfo array;
  array.array_job = 2;
  array.max_running = 4;
  array.pending = IndexSet(13, 20);
  job.array = std::make_shared<const ArrayInfo>(array);
  job.submit = job.accrue = at("2026-11-21T02:38:25");
  record.soft.priority = 8141;
  record.soft.reason = JobReason::kJobArrayTaskLimit;
  record.soft.last_evaluated = at("2026-11-21T02:48:28");
  return record;
}

// A job for four whole nodes, with a forecast.
inline protocol::JobRecord waiting_job() {
  JobSpec spec = common_spec();
  spec.num_tasks = 0;
  spec.min_nodes = spec.max_nodes = 4;
  spec.sharing = Sharing::kExclusive;
  spec.submit_line = "sbatch -A physics -N4 --exclusive -o /dev/null --wrap sleep 100";
  protocol::JobRecord record = make_record(23, spec);
  Job& job = record.job;
  job.submit = job.eligible = job.accrue = at("2026-11-21T02:48:44");
  record.soft.priority = 6562;
  record.soft.reason = JobReason::kResources;
  record.soft.expected_start = at("2026-11-21T03:18:28");
  record.soft.planned_nodes = "node[1-4]";
  record.soft.last_evaluated = at("2026-11-21T02:49:28");
  record.required_tres = "cpu=4,mem=256M,node=4,billing=4";
  return record;
}

inline protocol::JobRecord held_job() {
  protocol::JobRecord record = make_record(4, common_spec());
  record.job.hold = HoldKind::kUser;
  record.job.reason = JobReason::kJobHeldUser;
  record.job.submit = at("2026-11-21T02:38:25");
  return record;
}

inline Time capture_time() { return at("2026-11-21T02:49:28"); }

}  // namespace sluice::test
