// Steps: what srun asked for, and what the controller keeps of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"
#include "common/model/gres.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/job_state.hpp"

namespace sluice {

// On which nodes of a step X11 is forwarded to the display of srun.
enum class X11Nodes : uint8_t { kNone = 0, kAll = 1, kBatch = 2, kFirst = 3, kLast = 4 };
// CPUs shared with other steps?
enum class OverlapKind : uint8_t { kDefault = 0, kExclusive = 1, kOverlap = 2 };

// Where a step's tasks send their output and take their input: a waiting srun or sattach.
struct IoEndpoint {
  std::string host;   // an address that nodes can reach; empty in a request: the controller's host
  uint32_t port = 0;  // 0: nobody listens, output goes to files only
  std::string key;    // secret of 32 bytes; the connecting step daemon shows it first
  template <class V>
  static void describe(V&& field) {
    field(1, "host", &IoEndpoint::host);
    field(2, "port", &IoEndpoint::port);
    field(3, "key", &IoEndpoint::key);
  }
};

// What a user asked for with one srun. 0 or empty: not given.
struct StepSpec {
  uint32_t uid = 0;
  uint32_t gid = 0;
  SharedText name;
  SharedText submit_line;
  SharedText work_dir;
  std::vector<SharedText> arguments;  // program and its arguments
  SharedText multi_prog;              // text of the --multi-prog file
  SharedText environment_blob;
  uint32_t umask = 022;
  std::vector<uint64_t> limits;  // as in JobSpec

  uint32_t min_nodes = 0;
  uint32_t max_nodes = 0;
  uint32_t num_tasks = 0;
  uint32_t cpus_per_task = 0;
  uint32_t ntasks_per_node = 0;
  uint32_t ntasks_per_core = 0;
  uint32_t ntasks_per_socket = 0;
  uint32_t threads_per_core = 0;
  MemoryKind memory_kind = MemoryKind::kDefault;
  uint64_t memory_mib = 0;
  SharedText gres;  // of each node; "none": none of the job's
  SharedText tres_per_task;
  SharedText tres_per_step;  // --gpus
  SharedText tres_per_socket;
  SharedText tres_bind;
  SharedText tres_freq;  // as JobSpec::tres_freq
  SharedText cpus_per_gpu;
  uint32_t ntasks_per_gpu = 0;
  SharedText node_list;  // --nodelist; with arbitrary distribution one entry a task, in order
  SharedText excluded_nodes;
  SharedText constraint;
  uint32_t relative = UINT32_MAX;  // --relative; UINT32_MAX: not given
  SharedText distribution;
  OverlapKind overlap = OverlapKind::kDefault;
  bool exact = false;
  bool overcommit = false;
  bool immediate = false;
  bool interactive = false;  // the "interactive" step of salloc
  bool whole = false;
  Minutes time_limit = 0;

  SharedText std_in;
  SharedText std_out;
  SharedText std_err;
  OpenMode open_mode = OpenMode::kDefault;
  bool label = false;
  bool unbuffered = false;
  bool pty = false;
  uint32_t pty_rows = 0;
  uint32_t pty_columns = 0;
  IoEndpoint io;
  uint32_t kill_on_bad_exit = UINT32_MAX;  // 0, 1, or UINT32_MAX: the configuration's
  uint32_t wait_seconds = UINT32_MAX;      // --wait
  bool no_kill = false;
  SharedText task_prolog;
  SharedText task_epilog;
  SharedText cpu_bind;
  SharedText mem_bind;
  SharedText hint;
  SharedText mpi;
  SharedText propagate;
  SharedText profile;
  SharedText acctg_frequency;
  SharedText network;
  SharedText export_list;
  uint32_t signal = 0;
  uint32_t signal_seconds = 0;
  uint32_t slurmd_debug = 0;
  uint64_t request_id = 0;
  bool preserve_env = false;  // counts of nodes and tasks in the environment stay
  SharedText broadcast;       // --bcast: where each node has the program; empty: not sent
  // it is named after the step, once that has a number: broadcast_names.hpp
  bool broadcast_unnamed = false;
  bool broadcast_libraries = false;         // --send-libs: the shared objects lie beside it
  bool wait_for_children = false;           // a task is over when all that it left behind is
  Toggle oom_kill_step = Toggle::kDefault;  // the default is the job's
  X11Nodes x11 = X11Nodes::kNone;
  uint32_t tree_width = 0;  // of the launch; 0: TreeWidth
  SharedText srun_host;     // where its srun runs; empty: it has none
  uint32_t srun_pid = 0;
  SharedText cpu_freq;
  bool own_job = false;  // the job is there for this step alone: its srun asked for both
  // tasks begin when it says so: SrunProlog, which knows the step's number, comes first
  bool waits_for_srun = false;

  template <class V>
  static void describe(V&& field) {  // NOLINT(readability-function-size): a list
    field(1, "uid", &StepSpec::uid);
    field(2, "gid", &StepSpec::gid);
    field(3, "name", &StepSpec::name);
    field(4, "submit_line", &StepSpec::submit_line);
    field(5, "work_dir", &StepSpec::work_dir);
    field(6, "arguments", &StepSpec::arguments);
    field(7, "multi_prog", &StepSpec::multi_prog);
    field(8, "environment_blob", &StepSpec::environment_blob);
    field(9, "umask", &StepSpec::umask);
    field(10, "limits", &StepSpec::limits);
    field(11, "min_nodes", &StepSpec::min_nodes);
    field(12, "max_nodes", &StepSpec::max_nodes);
    field(13, "num_tasks", &StepSpec::num_tasks);
    field(14, "cpus_per_task", &StepSpec::cpus_per_task);
    field(15, "ntasks_per_node", &StepSpec::ntasks_per_node);
    field(16, "ntasks_per_core", &StepSpec::ntasks_per_core);
    field(17, "ntasks_per_socket", &StepSpec::ntasks_per_socket);
    field(18, "threads_per_core", &StepSpec::threads_per_core);
    field(19, "memory_kind", &StepSpec::memory_kind);
    field(20, "memory_mib", &StepSpec::memory_mib);
    field(21, "gres", &StepSpec::gres);
    field(22, "tres_per_task", &StepSpec::tres_per_task);
    field(23, "node_list", &StepSpec::node_list);
    field(24, "excluded_nodes", &StepSpec::excluded_nodes);
    field(25, "constraint", &StepSpec::constraint);
    field(26, "relative", &StepSpec::relative);
    field(27, "distribution", &StepSpec::distribution);
    field(28, "overlap", &StepSpec::overlap);
    field(29, "exact", &StepSpec::exact);
    field(30, "overcommit", &StepSpec::overcommit);
    field(31, "immediate", &StepSpec::immediate);
    field(32, "interactive", &StepSpec::interactive);
    field(33, "whole", &StepSpec::whole);
    field(34, "time_limit", &StepSpec::time_limit);
    field(35, "std_in", &StepSpec::std_in);
    field(36, "std_out", &StepSpec::std_out);
    field(37, "std_err", &StepSpec::std_err);
    field(38, "open_mode", &StepSpec::open_mode);
    field(39, "label", &StepSpec::label);
    field(40, "unbuffered", &StepSpec::unbuffered);
    field(41, "pty", &StepSpec::pty);
    field(42, "pty_rows", &StepSpec::pty_rows);
    field(43, "pty_columns", &StepSpec::pty_columns);
    field(44, "io", &StepSpec::io);
    field(45, "kill_on_bad_exit", &StepSpec::kill_on_bad_exit);
    field(46, "wait_seconds", &StepSpec::wait_seconds);
    field(47, "no_kill", &StepSpec::no_kill);
    field(48, "task_prolog", &StepSpec::task_prolog);
    field(49, "task_epilog", &StepSpec::task_epilog);
    field(50, "cpu_bind", &StepSpec::cpu_bind);
    field(51, "mem_bind", &StepSpec::mem_bind);
    field(52, "hint", &StepSpec::hint);
    field(53, "mpi", &StepSpec::mpi);
    field(54, "propagate", &StepSpec::propagate);
    field(55, "profile", &StepSpec::profile);
    field(56, "acctg_frequency", &StepSpec::acctg_frequency);
    field(57, "network", &StepSpec::network);
    field(58, "export_list", &StepSpec::export_list);
    field(59, "signal", &StepSpec::signal);
    field(60, "signal_seconds", &StepSpec::signal_seconds);
    field(61, "slurmd_debug", &StepSpec::slurmd_debug);
    field(62, "request_id", &StepSpec::request_id);
    field(63, "preserve_env", &StepSpec::preserve_env);
    field(64, "tres_per_step", &StepSpec::tres_per_step);
    field(65, "tres_per_socket", &StepSpec::tres_per_socket);
    field(66, "tres_bind", &StepSpec::tres_bind);
    field(67, "cpus_per_gpu", &StepSpec::cpus_per_gpu);
    field(68, "ntasks_per_gpu", &StepSpec::ntasks_per_gpu);
    field(100, "broadcast", &StepSpec::broadcast);
    field(101, "broadcast_unnamed", &StepSpec::broadcast_unnamed);
    field(102, "broadcast_libraries", &StepSpec::broadcast_libraries);
    field(103, "wait_for_children", &StepSpec::wait_for_children);
    field(104, "oom_kill_step", &StepSpec::oom_kill_step);
    field(105, "x11", &StepSpec::x11);
    field(380, "tree_width", &StepSpec::tree_width);
    field(381, "srun_host", &StepSpec::srun_host);
    field(382, "srun_pid", &StepSpec::srun_pid);
    field(520, "cpu_freq", &StepSpec::cpu_freq);
    field(530, "own_job", &StepSpec::own_job);
    field(540, "waits_for_srun", &StepSpec::waits_for_srun);
    field(550, "tres_freq", &StepSpec::tres_freq);
  }
};

// The part of a step on one node.
struct StepNode {
  uint32_t node = 0;  // NodeId
  std::string name;
  std::vector<uint32_t> tasks;  // global task ids (ranks), in local order
  uint32_t cpus = 0;            // CPUs of the step here
  std::string cores;            // core numbers, "0-3"
  uint64_t memory_mib = 0;      // limit of the step here; 0: none
  GresShares gres;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &StepNode::node);
    field(2, "name", &StepNode::name);
    field(3, "tasks", &StepNode::tasks);
    field(4, "cpus", &StepNode::cpus);
    field(5, "cores", &StepNode::cores);
    field(6, "memory_mib", &StepNode::memory_mib);
    field(7, "gres", &StepNode::gres);
  }
};

struct StepLayout {
  std::vector<StepNode> nodes;
  uint32_t num_tasks = 0;
  std::string node_list;  // folded
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &StepLayout::nodes);
    field(2, "num_tasks", &StepLayout::num_tasks);
    field(3, "node_list", &StepLayout::node_list);
  }
};

// All of a step that runs in several components of a heterogeneous job: it is one step in each of
// them.
struct HetStepLayout {
  StepId id;                // of the part in the first component
  std::vector<JobId> jobs;  // the components
  StepLayout layout;        // nodes and tasks of all parts, component by component
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &HetStepLayout::id);
    field(2, "jobs", &HetStepLayout::jobs);
    field(3, "layout", &HetStepLayout::layout);
  }
};

struct Step {
  StepId id;
  std::shared_ptr<const StepSpec> spec;
  std::shared_ptr<const StepLayout> layout;
  StepState state = StepState::kPending;
  Time start = kNoTime;
  Time end = kNoTime;
  int32_t exit_status = 0;                     // as wait(2) gives it; the highest of the tasks
  Bitmap nodes_left;                           // positions in layout->nodes that have not ended
  uint32_t cancelled_by = UINT32_MAX;          // uid
  std::shared_ptr<const HetStepLayout> world;  // null: the step has no parts elsewhere
  uint32_t first_node = 0;                     // position of layout's first node in the world's
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Step::id);
    field(2, "spec", &Step::spec);
    field(3, "layout", &Step::layout);
    field(4, "state", &Step::state);
    field(5, "start", &Step::start);
    field(6, "end", &Step::end);
    field(7, "exit_status", &Step::exit_status);
    field(8, "nodes_left", &Step::nodes_left);
    field(9, "cancelled_by", &Step::cancelled_by);
    field(10, "world", &Step::world);
    field(11, "first_node", &Step::first_node);
  }
};

}  // namespace sluice
