// The nodes, partitions and so on of the captures, beside the jobs of canned_jobs.hpp.
#pragma once

#include "common/model/reservation.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/reservation.hpp"
#include "unit/cli/canned_jobs.hpp"

namespace sluice::test {

inline RenderContext capture_context() {
  RenderContext made;
  made.now = capture_time();
  made.cluster = "demo";
  made.accounting_tres = {"cpu", "mem", "gres/gpu", "gres/gpumem"};
  return made;
}

inline protocol::NodeRecord node1() {
  NodeConfig config;
  config.name = "node1";
  config.hostname = "vm";
  config.address = "127.0.0.1";
  config.port = 19900;
  config.cpus = 8;
  config.sockets = 2;
  config.cores_per_socket = 4;
  config.real_memory_mib = 4096;
  config.features = {"fast", "big"};
  config.gres = "gpu:a100:2";
  NodeHardware hardware;
  hardware.architecture = "x86_64";
  hardware.devices = {
      {.name = "gpu", .type = "a100", .count = 2, .files = {"/dev/nvidia0", "/dev/nvidia1"}}};
  hardware.version = "26.05.3";
  hardware.operating_system = "Linux 6.18.44-fc-v595 #1 SMP PREEMPT_DYNAMIC @0";
  hardware.boot_time = at("2026-11-21T01:07:53");
  hardware.agent_start = at("2026-11-21T02:37:59");
  protocol::NodeRecord record;
  record.node.name = "node1";
  record.node.config = std::make_shared<const NodeConfig>(config);
  record.node.hardware = std::make_shared<const NodeHardware>(hardware);
  record.node.last_busy = at("2026-11-21T02:37:59");
  record.soft.load = 0.19;
  record.soft.free_memory_mib = 23247;
  record.used_cpus = 8;
  record.used_memory_mib = 656;
  record.used_gres = {{"gpu", "a100", 1, Bitmap::first(1), {}}};
  record.shown_base = NodeBaseState::kAllocated;
  record.partitions = {"debug"};
  return record;
}

inline protocol::PartitionRecord debug_partition() {
  protocol::PartitionRecord record;
  record.config.name = "debug";
  record.config.is_default = true;
  record.config.default_time = 30;
  record.config.max_time = 1440;
  record.config.node_sets = {"ALL"};
  record.node_list = "node[1-4]";
  record.total_cpus = 32;
  record.total_nodes = 4;
  return record;
}

inline protocol::ReservationRecord maintenance() {
  protocol::ReservationRecord record;
  record.reservation.name = "maint";
  record.reservation.start = at("2026-11-21T04:48:49");
  record.reservation.end = at("2026-11-21T05:48:49");
  record.reservation.flags = kReservationMaint | kReservationSpecNodes;
  record.reservation.nodes.set(3);
  record.reservation.users = "root";
  record.node_list = "node4";
  record.cores = record.cpus = 8;
  return record;
}

// The batch step of a job, as it runs.
inline std::shared_ptr<const Step> batch_step(JobId job, const std::string& node,
                                              const std::string& start) {
  auto step = std::make_shared<Step>();
  step->id = {job, kBatchStep};
  step->state = StepState::kRunning;
  step->start = at(start);
  StepLayout layout;
  layout.nodes.resize(1);
  layout.num_tasks = 1;
  layout.node_list = node;
  step->layout = std::make_shared<const StepLayout>(layout);
  return step;
}

// `srun sleep 300` in job 24.
inline std::shared_ptr<const Step> srun_step() {
  auto step = std::make_shared<Step>();
  step->id = {24, 0};
  step->state = StepState::kRunning;
  step->start = at("2026-11-21T02:49:28");
  StepSpec spec;
  spec.name = "sleep";
  spec.submit_line = "srun sleep 300";
  spec.gres = "gres/gpu:1";
  spec.cpus_per_task = 2;
  spec.srun_host = "vm";
  spec.srun_pid = 4006;
  step->spec = std::make_shared<const StepSpec>(spec);
  StepLayout layout;
  layout.nodes = {{.node = 0, .name = "node1", .tasks = {0, 1}, .cpus = 4, .memory_mib = 400}};
  layout.nodes[0].gres = {{"gpu", "a100", 1, Bitmap::first(1), {}}};
  layout.num_tasks = 2;
  layout.node_list = "node1";
  step->layout = std::make_shared<const StepLayout>(layout);
  return step;
}

// Job 24: two tasks with two CPUs each on the second socket of node1, and a step that uses all of
// it.
inline protocol::JobRecord job_with_a_step() {
  JobSpec spec = common_spec();
  spec.partitions = {};
  spec.qos = {};
  spec.num_tasks = 2;
  spec.cpus_per_task = 2;
  spec.memory_kind = MemoryKind::kPerCpu;
  spec.memory_mib = 100;
  spec.licenses = "matlab:2";
  spec.gres = "gres/gpu:1";
  protocol::JobRecord record = make_record(24, spec);
  Job& job = record.job;
  job.state = JobState::kRunning;
  job.submit = job.eligible = job.accrue = at("2026-11-21T02:49:26");
  job.start = at("2026-11-21T02:49:28");
  job.end = job.start + std::chrono::minutes(20);
  Allocation made = *allocation("node1", 1, 4);
  made.nodes[0] = {0, {}, 4, 400, {{"gpu", "a100", 1, Bitmap::first(1), {}}}};
  made.nodes[0].cores.set_range(4, 8);
  job.allocation = std::make_shared<const Allocation>(made);
  job.steps = {batch_step(24, "node1", "2026-11-21T02:49:28"), srun_step()};
  record.batch_host = "node1";
  record.required_tres = record.allocated_tres = "cpu=4,mem=400M,node=1,billing=4,gres/gpu=1";
  return record;
}

// What sdiag printed, with those calls whose messages are known here.
inline protocol::QueryStatisticsReply statistics() {
  protocol::QueryStatisticsReply counts;
  counts.now = at("2026-11-21T02:49:29");
  counts.since = at("2026-11-21T02:37:58");
  counts.server_threads = 1;
  counts.jobs_submitted = 31;
  counts.jobs_started = 18;
  counts.jobs_completed = 14;
  counts.jobs_canceled = 2;
  counts.states_time = at("2026-11-21T02:49:28");
  counts.jobs_pending = 11;
  counts.jobs_running = 4;
  protocol::CycleCounts& main = counts.cycles;
  main.cycles = main.ended_queue = 22;
  main.last_us = 133;
  main.max_us = 4335;
  main.total_us = 18830;
  main.total_depth = 55;
  main.last_queue = 2;
  protocol::CycleCounts& backfill = counts.backfill;
  backfill.cycles = backfill.ended_queue = 23;
  backfill.last = at("2026-11-21T02:49:28");
  backfill.last_us = backfill.max_us = 506;
  backfill.total_us = 6821;
  backfill.last_depth = backfill.last_tried = backfill.last_queue = 2;
  backfill.total_depth = backfill.total_tried = backfill.total_queue = 47;
  backfill.last_table = 5;
  backfill.total_table = 92;
  counts.backfilled = counts.backfilled_ever = 2;
  counts.clock_us = 24;
  counts.by_method = {{"QueryNodes", 0, 9, 1320},    {"SubmitJob", 0, 9, 6315},
                      {"QueryJobs", 0, 8, 1324},     {"RegisterNode", 0, 4, 689},
                      {"CreateStep", 0, 4, 5004},    {"ReportSteps", 0, 4, 594},
                      {"EndAllocation", 0, 4, 1264}, {"Signal", 0, 3, 719},
                      {"WatchJob", 0, 2, 69},        {"Ping", 0, 2, 82},
                      {"ReportCleaned", 0, 1, 291},  {"ChangeReservation", 0, 1, 191},
                      {"QueryConfig", 0, 1, 285},    {"QueryReservations", 0, 1, 44},
                      {"UpdateJob", 0, 1, 86}};
  counts.by_user = {{"", 0, 98, 30219}};
  return counts;
}

}  // namespace sluice::test
