// What a job's processes find in their environment: the SLURM_* variables of salloc's command,
// batch scripts, tasks, and prolog and epilog. Variables that stand for an option are set only when
// the option was given: setting them always would change what an inner srun does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/noded.hpp"
#include "common/environment/environment.hpp"

namespace sluice {

// A running job as its environment tells of it.
struct JobFacts {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::shared_ptr<const JobSpec> spec;           // never null
  std::shared_ptr<const ArrayInfo> array;        // null: no array
  std::string node_list;                         // folded
  std::shared_ptr<const Allocation> allocation;  // for generic resources; may be null
  std::vector<uint32_t> cpus;                    // told_cpus() of each node, in order of node_list
  JobId het_leader = kNoJob;  // what the processes of a heterogeneous job know as their job
  std::string cluster;
  std::string partition;
  std::string account;
  std::string qos;
  std::string reservation;
  Time start = kNoTime;
  Time end = kNoTime;
  int32_t exit_status = 0;          // of a job that is over, as wait(2) gives it
  int32_t derived_exit_status = 0;  // highest of its steps
};

[[nodiscard]] JobFacts facts_of(const protocol::StepLaunch& launch);

// How many tasks each node of the job would take when a step asked for nothing else: as many as
// were asked for, dealt round by round to the nodes that have CPUs left for one.
[[nodiscard]] std::vector<uint32_t> tasks_per_node(const JobSpec& spec,
                                                   const std::vector<uint32_t>& cpus);

// The allocation, as salloc's command and srun find it.
void set_allocation_variables(const JobFacts& job, Environment& out);

// Of a heterogeneous job: each component's variables with _HET_GROUP_0, _HET_GROUP_1, … behind
// their names (and with the older _PACK_GROUP_), and how many there are.
void set_het_variables(const std::vector<JobFacts>& components, Environment& out);

// Where and as which node of the cluster something runs.
struct NodeFacts {
  std::string name;
  uint32_t index = 0;       // in the step's layout
  std::string config_path;  // SLURM_CONF; empty: not set
};

// What the batch script finds besides SLURM_TASK_PID.
void set_batch_variables(const protocol::StepLaunch& launch, const NodeFacts& node,
                         Environment& out);

// What all tasks of a step on one node find, then what one of them finds besides SLURM_TASK_PID.
void set_step_variables(const protocol::StepLaunch& launch, const NodeFacts& node,
                        Environment& out);
void set_task_variables(const StepNode& node, uint32_t local_task, Environment& out);

// SLURM_RLIMIT_*: the soft limits that were sent along, pairs of soft and hard by RLIMIT_ number.
// The programs round a task find them (TaskProlog, --epilog of srun …), the task itself does not.
void set_limit_variables(const std::vector<uint64_t>& limits, Environment& out);

// What Prolog and Epilog find; `context` is prolog_slurmd or epilog_slurmd.
void set_script_variables(const JobFacts& job, const NodeFacts& node, std::string_view context,
                          Environment& out);

}  // namespace sluice
