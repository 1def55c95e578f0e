// The controller's orders to node agents, themselves or through the tree. Everything a node does
// for a job is keyed by job, step and restart, and doing it twice changes nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/allocation.hpp"
#include "common/model/het_job.hpp"
#include "common/model/array_info.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/step.hpp"
#include "common/protocol/node_address.hpp"
#include "common/protocol/node_reports.hpp"

namespace sluice::protocol {

// --- controller to agents (through the tree) ----------------------------------------------------

// All that a node must know to run its part of a step.
struct StepLaunch {
  StepKey key;
  std::string cluster_id;
  std::string cluster_name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary; empty: looked up on the node
  std::string user_name;
  std::string group_name;
  std::shared_ptr<const JobSpec> job_spec;
  std::shared_ptr<const Allocation> allocation;  // names are in allocation_nodes
  std::vector<NodeAddress> allocation_nodes;     // in allocation order
  std::vector<uint32_t> allocation_cpus;         // told_cpus() of each, in the same order
  std::shared_ptr<const ArrayInfo> array;
  std::string partition;
  std::string account;
  std::string qos;
  std::string reservation;
  Time job_start = kNoTime;
  Time job_end = kNoTime;                // start + limit; kNever without limit
  std::shared_ptr<const StepSpec> step;  // null for a batch script
  StepLayout layout;
  std::string script;                    // batch only
  std::string environment;               // KEY=VALUE NUL …
  std::vector<uint64_t> job_memory_mib;  // limit per node of the allocation, 0: none
  Time issued = kNoTime;                 // when it was signed; it holds for kLaunchLifetime
  JobId het_leader = kNoJob;  // of a heterogeneous job: what its processes know as their job
  // Of a heterogeneous job: its components that the batch script is told of, or those that the step
  // runs in.
  std::vector<HetComponent> components;
  std::shared_ptr<const HetStepLayout> world;  // null: layout is all of the step
  uint32_t first_node = 0;                     // position of layout's first node in the world's
  uint32_t job_round = 0;                      // JobNumber::round of key.id.job
  // Of the controller that signed it: a node takes it when it has registered with that one, which
  // knows then what ran there.
  Time controller_start = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StepLaunch::key);
    field(2, "cluster_id", &StepLaunch::cluster_id);
    field(3, "cluster_name", &StepLaunch::cluster_name);
    field(4, "uid", &StepLaunch::uid);
    field(5, "gid", &StepLaunch::gid);
    field(6, "groups", &StepLaunch::groups);
    field(7, "user_name", &StepLaunch::user_name);
    field(8, "group_name", &StepLaunch::group_name);
    field(9, "job_spec", &StepLaunch::job_spec);
    field(10, "allocation", &StepLaunch::allocation);
    field(11, "allocation_nodes", &StepLaunch::allocation_nodes);
    field(12, "allocation_cpus", &StepLaunch::allocation_cpus);
    field(13, "array", &StepLaunch::array);
    field(14, "partition", &StepLaunch::partition);
    field(15, "account", &StepLaunch::account);
    field(16, "qos", &StepLaunch::qos);
    field(17, "reservation", &StepLaunch::reservation);
    field(18, "job_start", &StepLaunch::job_start);
    field(19, "job_end", &StepLaunch::job_end);
    field(20, "step", &StepLaunch::step);
    field(21, "layout", &StepLaunch::layout);
    field(22, "script", &StepLaunch::script);
    field(23, "environment", &StepLaunch::environment);
    field(24, "job_memory_mib", &StepLaunch::job_memory_mib);
    field(25, "issued", &StepLaunch::issued);
    field(26, "het_leader", &StepLaunch::het_leader);
    field(27, "components", &StepLaunch::components);
    field(28, "world", &StepLaunch::world);
    field(29, "first_node", &StepLaunch::first_node);
    field(600, "job_round", &StepLaunch::job_round);
    field(601, "controller_start", &StepLaunch::controller_start);
  }
};
// The whole of the step: what ranks, sizes and MPI are about.
[[nodiscard]] inline const StepLayout& whole_layout(const StepLaunch& launch) {
  const HetStepLayout* world = launch.world.get();
  return world != nullptr ? world->layout : launch.layout;
}
[[nodiscard]] inline StepId whole_id(const StepLaunch& launch) {
  const HetStepLayout* world = launch.world.get();
  return world != nullptr ? world->id : launch.key.id;
}
// What the job has on this node, and what of it is the step's on the node at this position of the
// layout; 0: no limit of its own.
[[nodiscard]] inline uint64_t job_memory_mib(const StepLaunch& launch, std::string_view node) {
  for (size_t i = 0; i < launch.allocation_nodes.size() && i < launch.job_memory_mib.size(); ++i) {
    if (launch.allocation_nodes[i].name == node) return launch.job_memory_mib[i];
  }
  return 0;
}
[[nodiscard]] inline uint64_t step_memory_mib(const StepLaunch& launch, uint32_t node_index) {
  return node_index < launch.layout.nodes.size() ? launch.layout.nodes[node_index].memory_mib : 0;
}
inline constexpr Duration kLaunchLifetime = std::chrono::seconds(120);
struct LaunchStepRequest {
  static constexpr std::string_view kMethod = "NodeAgent/LaunchStep";
  using Reply = struct Empty;
  std::string launch;     // encoded StepLaunch
  std::string signature;  // ed25519 of `launch` by the controller
  // the public key it was made for: one that the node does not know makes it register
  std::string key;
  template <class V>
  static void describe(V&& field) {
    field(1, "launch", &LaunchStepRequest::launch);
    field(2, "signature", &LaunchStepRequest::signature);
    field(3, "key", &LaunchStepRequest::key);
  }
};
struct NodeReply {  // per node result of a request that went through the tree
  ErrorCode code = ErrorCode::kOk;
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "code", &NodeReply::code);
    field(2, "text", &NodeReply::text);
  }
};
struct SignalStepRequest {
  static constexpr std::string_view kMethod = "NodeAgent/SignalStep";
  using Reply = struct Empty;
  StepKey key;
  uint32_t signal = 0;
  bool all_steps = false;         // every step of the job on the node …
  bool not_batch = false;         // … but the batch step
  bool batch_shell_only = false;  // the script's own process only, not its children
  std::string message;            // notify: text for the user, with signal 0
  // when a job was stopped or let go on: an order older than the last one is dropped
  Time issued = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &SignalStepRequest::key);
    field(2, "signal", &SignalStepRequest::signal);
    field(3, "all_steps", &SignalStepRequest::all_steps);
    field(4, "not_batch", &SignalStepRequest::not_batch);
    field(5, "batch_shell_only", &SignalStepRequest::batch_shell_only);
    field(6, "message", &SignalStepRequest::message);
    field(7, "issued", &SignalStepRequest::issued);
  }
};
// End what is left of a job here: TERM, KillWait, KILL, then epilog, then ReportCleaned.
struct TerminateJobRequest {
  static constexpr std::string_view kMethod = "NodeAgent/TerminateJob";
  using Reply = struct Empty;
  JobId job = kNoJob;
  uint32_t restart = 0;
  bool at_once = false;    // KILL without waiting
  bool timed_out = false;  // the time limit is the reason; steps are told
  std::string message;     // e.g. JOB 5 ON n1 CANCELLED AT …; to the job's stderr
  uint32_t uid = 0;
  std::shared_ptr<const JobSpec> job_spec;  // for the epilog's environment
  std::string partition;
  std::string node_list;
  std::shared_ptr<const Allocation> allocation;  // of a job with generic resources, else null
  int32_t exit_status = 0;                       // as wait(2) gives it
  int32_t derived_exit_status = 0;               // highest of all steps
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &TerminateJobRequest::job);
    field(2, "restart", &TerminateJobRequest::restart);
    field(3, "at_once", &TerminateJobRequest::at_once);
    field(4, "timed_out", &TerminateJobRequest::timed_out);
    field(5, "message", &TerminateJobRequest::message);
    field(6, "uid", &TerminateJobRequest::uid);
    field(7, "job_spec", &TerminateJobRequest::job_spec);
    field(8, "partition", &TerminateJobRequest::partition);
    field(9, "node_list", &TerminateJobRequest::node_list);
    field(10, "allocation", &TerminateJobRequest::allocation);
    field(11, "exit_status", &TerminateJobRequest::exit_status);
    field(12, "derived_exit_status", &TerminateJobRequest::derived_exit_status);
  }
};
struct TerminateStepRequest {
  static constexpr std::string_view kMethod = "NodeAgent/TerminateStep";
  using Reply = struct Empty;
  StepKey key;
  bool at_once = false;
  std::string message;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &TerminateStepRequest::key);
    field(2, "at_once", &TerminateStepRequest::at_once);
    field(3, "message", &TerminateStepRequest::message);
  }
};
// PrologFlags=Alloc: run the prolog now, before any step, then ReportPrologs.
struct RunPrologRequest {
  static constexpr std::string_view kMethod = "NodeAgent/RunProlog";
  using Reply = struct Empty;
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::shared_ptr<const JobSpec> job_spec;
  std::string partition;
  std::string node_list;
  std::shared_ptr<const Allocation> allocation;  // as in TerminateJobRequest
  // PrologFlags=RunInJob: within the control group that the job's extern step makes on these nodes
  bool in_group = false;
  uint32_t job_round = 0;  // JobNumber::round
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &RunPrologRequest::job);
    field(2, "restart", &RunPrologRequest::restart);
    field(3, "job_spec", &RunPrologRequest::job_spec);
    field(4, "partition", &RunPrologRequest::partition);
    field(5, "node_list", &RunPrologRequest::node_list);
    field(6, "allocation", &RunPrologRequest::allocation);
    field(7, "in_group", &RunPrologRequest::in_group);
    field(8, "job_round", &RunPrologRequest::job_round);
  }
};
struct PingNodeRequest {
  static constexpr std::string_view kMethod = "NodeAgent/PingNode";
  using Reply = struct PingNodeReply;
  std::string cluster_id;
  uint64_t epoch = 0;           // of the controller: a new one makes the node register again
  bool register_again = false;  // the controller holds the node for down
  // the controller: one whose state was put back may have an epoch that was there before
  Time started = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &PingNodeRequest::cluster_id);
    field(2, "epoch", &PingNodeRequest::epoch);
    field(3, "register_again", &PingNodeRequest::register_again);
    field(4, "started", &PingNodeRequest::started);
  }
};
// Run HealthCheckProgram now, unless it still runs.
struct CheckHealthRequest {
  static constexpr std::string_view kMethod = "NodeAgent/CheckHealth";
  using Reply = struct Empty;
  template <class V>
  static void describe(V&&) {}
};
struct PingNodeReply {
  NodeSoft soft;
  std::string boot_id;
  Time agent_start = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "soft", &PingNodeReply::soft);
    field(2, "boot_id", &PingNodeReply::boot_id);
    field(3, "agent_start", &PingNodeReply::agent_start);
  }
};
struct ReconfigureNodeRequest {
  static constexpr std::string_view kMethod = "NodeAgent/ReconfigureNode";
  using Reply = struct Empty;
  ClusterConfig config;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &ReconfigureNodeRequest::config);
  }
};
struct ShutdownNodeRequest {
  static constexpr std::string_view kMethod = "NodeAgent/ShutdownNode";
  using Reply = struct Empty;
  std::string reason;  // empty: scontrol shutdown
  template <class V>
  static void describe(V&& field) {
    field(1, "reason", &ShutdownNodeRequest::reason);
  }
};

// --- commands to a local agent ------------------------------------------------------------------

struct ListPidsRequest {  // scontrol listpids [job[.step]]
  static constexpr std::string_view kMethod = "NodeAgent/ListPids";
  using Reply = struct ListPidsReply;
  JobId job = kNoJob;
  StepNumber step = UINT32_MAX;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &ListPidsRequest::job);
    field(2, "step", &ListPidsRequest::step);
  }
};
struct PidRecord {
  uint32_t pid = 0;
  StepId step;
  int32_t local_task = -1;  // -1: no task itself
  int32_t task = -1;
  template <class V>
  static void describe(V&& field) {
    field(1, "pid", &PidRecord::pid);
    field(2, "step", &PidRecord::step);
    field(3, "local_task", &PidRecord::local_task);
    field(4, "task", &PidRecord::task);
  }
};
struct ListPidsReply {
  std::vector<PidRecord> pids;
  template <class V>
  static void describe(V&& field) {
    field(1, "pids", &ListPidsReply::pids);
  }
};
struct StatStepRequest {  // sstat: only for the step's user, and administrators
  static constexpr std::string_view kMethod = "NodeAgent/StatStep";
  using Reply = struct StatStepReply;
  StepId step;
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &StatStepRequest::step);
  }
};
// What one task uses. Times add up what has ended; `max_` is the most that was seen.
struct TaskUsage {
  uint32_t task = 0;  // global id
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t rss_kib = 0;
  uint64_t max_rss_kib = 0;
  uint64_t vsize_kib = 0;
  uint64_t max_vsize_kib = 0;
  uint64_t pages = 0;  // page faults that read from a disk
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "task", &TaskUsage::task);
    field(2, "user_cpu", &TaskUsage::user_cpu);
    field(3, "system_cpu", &TaskUsage::system_cpu);
    field(4, "rss_kib", &TaskUsage::rss_kib);
    field(5, "max_rss_kib", &TaskUsage::max_rss_kib);
    field(6, "vsize_kib", &TaskUsage::vsize_kib);
    field(7, "max_vsize_kib", &TaskUsage::max_vsize_kib);
    field(8, "pages", &TaskUsage::pages);
    field(9, "read_bytes", &TaskUsage::read_bytes);
    field(10, "write_bytes", &TaskUsage::write_bytes);
  }
};
struct StatStepReply {
  StepKey key;
  std::vector<TaskUsage> tasks;
  std::vector<uint32_t> pids;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StatStepReply::key);
    field(2, "tasks", &StatStepReply::tasks);
    field(3, "pids", &StatStepReply::pids);
  }
};
struct ShowAgentRequest {  // scontrol show slurmd
  static constexpr std::string_view kMethod = "NodeAgent/ShowAgent";
  using Reply = struct ShowAgentReply;
  template <class V>
  static void describe(V&&) {}
};
struct ShowAgentReply {
  std::vector<std::string> lines;  // "Active Steps             = NONE" …
  template <class V>
  static void describe(V&& field) {
    field(1, "lines", &ShowAgentReply::lines);
  }
};

}  // namespace sluice::protocol
