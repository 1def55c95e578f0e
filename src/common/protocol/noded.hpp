// Between controller and node agents, and between agents in the tree. Everything a node does for a
// job is keyed by job, step and restart, and doing it twice changes nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/job.hpp"
#include "common/model/node.hpp"
#include "common/model/step.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::protocol {

struct StepKey {
  StepId id;
  uint32_t restart = 0;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;  // NOLINT(modernize-use-nullptr): no pointer is there
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepKey::id);
    field(2, "restart", &StepKey::restart);
  }
};

// --- agent to controller ------------------------------------------------------------------------

// A job's id among all that a cluster has ever given: ids begin anew behind MaxJobId, in the next round.
struct JobNumber {
  uint32_t round = 0;
  JobId job = kNoJob;
  friend auto operator<=>(const JobNumber&, const JobNumber&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "round", &JobNumber::round);
    field(2, "job", &JobNumber::job);
  }
};
// A node's refusal of a job that it had before: the controller's state is an old one, which has given the id again.
inline constexpr const char* kUsedJobId = "a job of this id ran on the node before";

inline constexpr Duration kRegistrationTime = std::chrono::seconds(20);
// A node's clock may differ so much from the controller's before anybody says it, and so much before the node is drained: what one
// of them signs would not hold at the other.
inline constexpr Duration kNotedClockDifference = std::chrono::seconds(5);
inline constexpr Duration kMostClockDifference = std::chrono::seconds(30);

struct RegisterNodeRequest {
  std::string name;
  std::string cluster_id;               // empty: never registered before
  NodeHardware hardware;
  std::vector<StepKey> running;         // live step daemons
  std::vector<StepKey> ended;           // ended, not acknowledged yet (reports follow)
  std::vector<JobId> jobs;              // whose prolog ran here and epilog did not
  std::shared_ptr<const NodeConfig> node_line;  // slurmd -Z: what the node is, where no file says it; else null
  Time features_changed = kNoTime;  // the order (its `issued`) that was carried out last without a reboot, well or not
  std::optional<std::string> active_features;  // "a,b", of those that its helpers manage; not set: there are no helpers
  bool claims_future = false;  // slurmd -F: this host is to be that FUTURE node, if it is free or this host's already
  bool only_claims = false;    // with it: this asks for the node alone; what is there, and runs there, is told later
  JobNumber last_job;          // the highest that was to run here, finished jobs included
  std::string credential_key;  // public key of the cluster, as the node was told it; empty: not yet
  Time sent = kNoTime;         // by the node's clock; it is given up before kRegistrationTime is over
  std::optional<Duration> clock_ahead;  // by how much the node's clock is ahead of the controller's; below zero: behind; not set: not known
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &RegisterNodeRequest::name);
    field(2, "cluster_id", &RegisterNodeRequest::cluster_id);
    field(3, "hardware", &RegisterNodeRequest::hardware);
    field(4, "running", &RegisterNodeRequest::running);
    field(5, "ended", &RegisterNodeRequest::ended);
    field(6, "jobs", &RegisterNodeRequest::jobs);
    field(360, "node_line", &RegisterNodeRequest::node_line);
    field(450, "active_features", &RegisterNodeRequest::active_features);
    field(451, "features_changed", &RegisterNodeRequest::features_changed);
    field(500, "claims_future", &RegisterNodeRequest::claims_future);
    field(501, "only_claims", &RegisterNodeRequest::only_claims);
    field(600, "last_job", &RegisterNodeRequest::last_job);
    field(601, "credential_key", &RegisterNodeRequest::credential_key);
    field(602, "sent", &RegisterNodeRequest::sent);
    field(603, "clock_ahead", &RegisterNodeRequest::clock_ahead);
  }
};
struct RegisterNodeReply {
  std::string cluster_id;
  std::string credential_key;           // public key that launch credentials are checked with
  ClusterConfig config;
  std::vector<StepKey> forget;          // unknown to the controller and surely orphaned: kill
  std::vector<JobId> clean;             // jobs that are over: run epilog, report
  std::string config_digest;            // of the files that FetchConfig sends; empty: it sends none
  Time controller_start = kNoTime;  // of the controller that answers: StepLaunch has the same
  bool new_key = false;  // the cluster's key was changed on purpose: the node forgets the one that it knows
  bool removed = false;  // the cluster had this node and has it no more: `forget` and `clean` are all that it runs; no key, no config
  Time sent = kNoTime;   // by the controller's clock
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &RegisterNodeReply::cluster_id);
    field(2, "credential_key", &RegisterNodeReply::credential_key);
    field(3, "config", &RegisterNodeReply::config);
    field(4, "forget", &RegisterNodeReply::forget);
    field(5, "clean", &RegisterNodeReply::clean);
    field(6, "config_digest", &RegisterNodeReply::config_digest);
    field(530, "removed", &RegisterNodeReply::removed);
    field(600, "controller_start", &RegisterNodeReply::controller_start);
    field(601, "new_key", &RegisterNodeReply::new_key);
    field(602, "sent", &RegisterNodeReply::sent);
  }
};

// later - earlier, of times that whoever sends them may have said in any way.
[[nodiscard]] inline Duration difference(Time later, Time earlier) {
  Duration::rep since = 0;
  if (__builtin_sub_overflow(later.time_since_epoch().count(), earlier.time_since_epoch().count(), &since)) since = INT64_MAX;
  return Duration(since);
}

// "25 s ahead of the controller's"; empty where it is too little to be noted.
[[nodiscard]] inline std::string clock_difference_text(Duration ahead) {
  const Duration far = std::chrono::years(100);
  const Duration wide = std::chrono::abs(std::clamp(ahead, -far, far));
  if (wide <= kNotedClockDifference) return {};
  return std::to_string(std::chrono::round<std::chrono::seconds>(wide).count()) + (ahead > Duration(0) ? " s ahead of the controller's" : " s behind the controller's");
}

struct TaskExit {
  uint32_t task = 0;        // global id
  int32_t status = 0;       // as wait(2) gives it
  template <class V>
  static void describe(V&& field) {
    field(1, "task", &TaskExit::task);
    field(2, "status", &TaskExit::status);
  }
};
struct StepUsage {          // of the step's tasks on one or more nodes: sums, and the highest of each maximum
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t max_rss_kib = 0;
  uint64_t max_vsize_kib = 0;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  friend bool operator==(const StepUsage&, const StepUsage&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "user_cpu", &StepUsage::user_cpu);
    field(2, "system_cpu", &StepUsage::system_cpu);
    field(3, "max_rss_kib", &StepUsage::max_rss_kib);
    field(4, "max_vsize_kib", &StepUsage::max_vsize_kib);
    field(5, "read_bytes", &StepUsage::read_bytes);
    field(6, "write_bytes", &StepUsage::write_bytes);
  }
};

// The status, as wait(2) gives one, of tasks of which the kernel killed a process for want of
// memory, and of their steps and jobs: shown as 0:125.
inline constexpr int32_t kOutOfMemoryStatus = 125;
// The same of what could not be launched: 0:53, as in Slurm.
inline constexpr int32_t kLaunchFailedStatus = 53;

// Reports are repeated until they are acknowledged. What drains a node counts once all the same: the controller passes over what
// happened before the drain was taken away. Times are by the sender's clock; who takes a report makes them its own.
[[nodiscard]] inline Time by_own_clock(Time happened, Time sent, Time now) {
  if (happened == kNoTime || sent == kNoTime) return happened;
  return happened < sent ? now - difference(sent, happened) : now;
}

// One or more nodes of a step ended (gathered in the tree). The reply, which is sent when the
// report is durable, lets the agents delete their key files.
struct StepEnded {
  StepKey key;
  std::string nodes;        // host list
  int32_t exit_status = 0;  // highest task status, as wait(2) gives it
  bool out_of_memory = false;
  std::string failure;      // launch failed: why, in words for the user; empty: it ran
  bool drain_node = false;  // the node is to blame
  bool node_clean = false;  // nothing else of the job is left on these nodes, epilog (if any) done
  StepUsage usage;
  bool users_error = false;  // a batch script's `failure` is due to what its user asked for: it would fail anywhere
  Time happened = kNoTime;   // what drains the node; kNoTime: now
  bool srun_ended = false;   // its srun ended before the tasks, which is why they did
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StepEnded::key);
    field(2, "nodes", &StepEnded::nodes);
    field(3, "exit_status", &StepEnded::exit_status);
    field(4, "out_of_memory", &StepEnded::out_of_memory);
    field(5, "failure", &StepEnded::failure);
    field(6, "drain_node", &StepEnded::drain_node);
    field(7, "node_clean", &StepEnded::node_clean);
    field(8, "usage", &StepEnded::usage);
    field(9, "users_error", &StepEnded::users_error);
    field(520, "happened", &StepEnded::happened);
    field(530, "srun_ended", &StepEnded::srun_ended);
  }
};
struct ReportStepsRequest {
  std::string cluster_id;
  std::vector<StepEnded> ended;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportStepsRequest::cluster_id);
    field(2, "ended", &ReportStepsRequest::ended);
    field(520, "sent", &ReportStepsRequest::sent);
  }
};
// A job's processes are gone from these nodes and its epilog ran (gathered in the tree, too).
struct JobCleaned {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::string nodes;
  int32_t epilog_status = 0;  // not 0: drain
  bool kill_failed = false;   // UnkillableStepTimeout passed: drain with "Kill task failed"
  Time happened = kNoTime;    // as in StepEnded
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobCleaned::job);
    field(2, "restart", &JobCleaned::restart);
    field(3, "nodes", &JobCleaned::nodes);
    field(4, "epilog_status", &JobCleaned::epilog_status);
    field(5, "kill_failed", &JobCleaned::kill_failed);
    field(520, "happened", &JobCleaned::happened);
  }
};
struct ReportCleanedRequest {
  std::string cluster_id;
  std::vector<JobCleaned> cleaned;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportCleanedRequest::cluster_id);
    field(2, "cleaned", &ReportCleanedRequest::cleaned);
    field(520, "sent", &ReportCleanedRequest::sent);
  }
};
// A job's prolog ran on these nodes (gathered in the tree, too).
struct PrologEnded {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::string nodes;
  int32_t status = 0;       // as wait(2) gives it
  Time happened = kNoTime;  // as in StepEnded
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &PrologEnded::job);
    field(2, "restart", &PrologEnded::restart);
    field(3, "nodes", &PrologEnded::nodes);
    field(4, "status", &PrologEnded::status);
    field(520, "happened", &PrologEnded::happened);
  }
};
struct ReportPrologsRequest {
  std::string cluster_id;
  std::vector<PrologEnded> ended;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportPrologsRequest::cluster_id);
    field(2, "ended", &ReportPrologsRequest::ended);
    field(520, "sent", &ReportPrologsRequest::sent);
  }
};

// --- controller to agents (through the tree) ----------------------------------------------------

// All that a node must know to run its part of a step.
struct StepLaunch {
  StepKey key;
  std::string cluster_id;
  std::string cluster_name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;      // supplementary; empty: looked up on the node
  std::string user_name;
  std::string group_name;
  std::shared_ptr<const JobSpec> job_spec;
  std::shared_ptr<const Allocation> allocation;   // names are in allocation_nodes
  std::vector<NodeAddress> allocation_nodes;      // in allocation order
  std::vector<uint32_t> allocation_cpus;          // CPUs per node, in the same order
  std::shared_ptr<const ArrayInfo> array;
  std::string partition;
  std::string account;
  std::string qos;
  std::string reservation;
  Time job_start = kNoTime;
  Time job_end = kNoTime;            // start + limit; kNever without limit
  std::shared_ptr<const StepSpec> step;           // null for a batch script
  StepLayout layout;
  std::string script;                // batch only
  std::string environment;           // KEY=VALUE NUL …
  std::vector<uint64_t> job_memory_mib;  // limit per node of the allocation, 0: none
  Time issued = kNoTime;             // when it was signed; it holds for kLaunchLifetime
  JobId het_leader = kNoJob;         // of a heterogeneous job: what its processes know as their job
  // Of a heterogeneous job: its components that the batch script is told of, or those that the step runs in.
  std::vector<HetComponent> components;
  std::shared_ptr<const HetStepLayout> world;  // null: layout is all of the step
  uint32_t first_node = 0;                 // position of layout's first node in the world's
  uint32_t job_round = 0;                  // JobNumber::round of key.id.job
  // Of the controller that signed it: a node takes it when it has registered with that one, which knows then what ran there.
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
// What the job has on this node, and what of it is the step's on the node at this position of the layout; 0: no limit of its own.
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
  std::string launch;     // encoded StepLaunch
  std::string signature;  // ed25519 of `launch` by the controller
  std::string key;        // the public key it was made for: one that the node does not know makes it register
  template <class V>
  static void describe(V&& field) {
    field(1, "launch", &LaunchStepRequest::launch);
    field(2, "signature", &LaunchStepRequest::signature);
    field(3, "key", &LaunchStepRequest::key);
  }
};
struct NodeReply {          // per node result of a request that went through the tree
  ErrorCode code = ErrorCode::kOk;
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "code", &NodeReply::code);
    field(2, "text", &NodeReply::text);
  }
};
struct SignalStepRequest {
  StepKey key;
  uint32_t signal = 0;
  bool all_steps = false;    // every step of the job on the node …
  bool not_batch = false;    // … but the batch step
  bool batch_shell_only = false;  // the script's own process only, not its children
  std::string message;       // notify: text for the user, with signal 0
  Time issued = kNoTime;     // when a job was stopped or let go on: an order older than the last one is dropped
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
  JobId job = kNoJob;
  uint32_t restart = 0;
  bool at_once = false;      // KILL without waiting
  bool timed_out = false;    // the time limit is the reason; steps are told
  std::string message;       // e.g. JOB 5 ON n1 CANCELLED AT …; to the job's stderr
  uint32_t uid = 0;
  std::shared_ptr<const JobSpec> job_spec;  // for the epilog's environment
  std::string partition;
  std::string node_list;
  std::shared_ptr<const Allocation> allocation;  // of a job with generic resources, else null
  int32_t exit_status = 0;          // as wait(2) gives it
  int32_t derived_exit_status = 0;  // highest of all steps
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
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::shared_ptr<const JobSpec> job_spec;
  std::string partition;
  std::string node_list;
  std::shared_ptr<const Allocation> allocation;  // as in TerminateJobRequest
  bool in_group = false;  // PrologFlags=RunInJob: within the control group that the job's extern step makes on these nodes
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
  std::string cluster_id;
  uint64_t epoch = 0;  // of the controller: a new one makes the node register again
  bool register_again = false;  // the controller holds the node for down
  Time started = kNoTime;  // the controller: one whose state was put back may have an epoch that was there before
  template <class V>
  static void describe(V&&  field) {
    field(1, "cluster_id", &PingNodeRequest::cluster_id);
    field(2, "epoch", &PingNodeRequest::epoch);
    field(3, "register_again", &PingNodeRequest::register_again);
    field(4, "started", &PingNodeRequest::started);
  }
};
// Run HealthCheckProgram now, unless it still runs.
struct CheckHealthRequest {
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
  ClusterConfig config;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &ReconfigureNodeRequest::config);
  }
};
struct ShutdownNodeRequest {
  std::string reason;  // empty: scontrol shutdown
  template <class V>
  static void describe(V&& field) {
    field(1, "reason", &ShutdownNodeRequest::reason);
  }
};

// --- commands to a local agent ------------------------------------------------------------------

struct ListPidsRequest {    // scontrol listpids [job[.step]]
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
  int32_t local_task = -1;   // -1: no task itself
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
struct StatStepRequest {    // sstat: only for the step's user, and administrators
  StepId step;
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &StatStepRequest::step);
  }
};
// What one task uses. Times add up what has ended; `max_` is the most that was seen.
struct TaskUsage {
  uint32_t task = 0;         // global id
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t rss_kib = 0;
  uint64_t max_rss_kib = 0;
  uint64_t vsize_kib = 0;
  uint64_t max_vsize_kib = 0;
  uint64_t pages = 0;        // page faults that read from a disk
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
struct ShowAgentRequest {   // scontrol show slurmd
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
