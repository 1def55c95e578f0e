// Rows of options that say how much a job needs and on which nodes.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

OptionResult set_nodes(Submission& s, const Input& in) {
  const Result<NodeCounts> counts = parse_node_counts(in.value);
  if (!counts) return refuse(counts.error().text);
  s.job.min_nodes = counts->least;
  s.job.max_nodes = counts->most;
  s.job.node_counts = counts->list;
  s.settings.nodes_inherited = in.from_environment;
  return {};
}

// --nodelist and --nodefile are two ways to say the same: the later one counts.
OptionResult set_node_list(Submission& s, const Input& in) {
  const bool path = in.value.find('/') != std::string::npos;
  s.settings.node_file = path ? in.value : "";
  s.settings.node_file_option = false;
  s.job.required_nodes = path ? "" : in.value;
  // as many nodes as it names, unless --nodes, which is read later, says how many
  if (in.value.empty()) s.job.node_counts = kNoNodes;
  return {};
}
OptionResult set_excluded(Submission& s, const Input& in) {
  const bool path = in.value.find('/') != std::string::npos;
  s.settings.excluded_file = path ? in.value : "";
  s.job.excluded_nodes = path ? "" : in.value;
  return {};
}
OptionResult set_node_file(Submission& s, const Input& in) {
  s.settings.node_file = in.value;
  s.settings.node_file_option = true;
  s.job.required_nodes = {};
  return {};
}

OptionResult set_exclusive(Submission& s, const Input& in) {
  s.settings.exclusive_step = true;
  if (!in.has_value || in.value.empty() || iequals(in.value, "exclusive")) {
    s.job.sharing = Sharing::kExclusive;
  } else if (iequals(in.value, "user")) {
    s.job.sharing = Sharing::kUser;
  } else if (iequals(in.value, "mcs")) {
    s.job.sharing = Sharing::kMcs;
  } else if (iequals(in.value, "topo")) {
    s.job.sharing = Sharing::kTopo;
  } else if (in.command == kSrun && iequals(in.value, "allocation")) {
    s.job.sharing = Sharing::kExclusive;
    s.settings.exclusive_step = false;
  } else {
    return bad_specification(in);
  }
  return {};
}
OptionResult set_oversubscribe(Submission& s, const Input&) {
  s.job.sharing = Sharing::kOversubscribe;  // in place of an --exclusive before it
  return {};
}

OptionResult set_distribution(Submission& s, const Input& in) {
  if (const Status right = check_distribution(in.value); !right) {
    OptionProblem problem = bad_specification(in).value();
    if (!right.error().text.empty()) {
      problem.errors.insert(problem.errors.begin(), right.error().text);
    }
    return tl::unexpected<OptionProblem>(std::move(problem));
  }
  s.job.distribution = in.value;
  return {};
}

OptionResult set_extra_node_info(Submission& s, const Input& in) {
  const Result<SocketsCoresThreads> parts = parse_extra_node_info(in.value);
  if (!parts) return refuse(parts.error().text, 1);
  if (parts->sockets != 0) s.job.sockets_per_node = parts->sockets;
  if (parts->cores != 0) s.job.cores_per_socket = parts->cores;
  if (parts->threads != 0) s.job.threads_per_core = parts->threads;
  s.settings.node_info_given = true;
  return {};
}

constexpr const char* kHintHelp =
    "Application hint options:\n"
    "    --hint=             Bind tasks according to application hints\n"
    "        compute_bound   use all cores in each socket, one thread each\n"
    "        memory_bound    use one core in each socket, one thread\n"
    "        [no]multithread [don't] use the further threads of a core\n"
    "        help            show this help message\n";

OptionResult set_hint(Submission& s, const Input& in) {
  constexpr std::string_view kHints[] = {"compute_bound", "memory_bound", "multithread",
                                         "nomultithread"};
  std::vector<std::string> hints = split(in.value, ',');
  if (hints.empty()) hints.emplace_back();
  for (const std::string& hint : hints) {
    if (iequals(hint, "help")) return show(kHintHelp, 1);
    if (std::ranges::none_of(kHints,
                             [&hint](std::string_view known) { return iequals(hint, known); })) {
      return refuse(fmt::format("unrecognized --hint argument \"{}\", see --hint=help", hint), 1);
    }
  }
  s.job.hint = in.value;
  s.step.hint = in.value;
  return {};
}

OptionResult set_switches(Submission& s, const Input& in) {
  const std::string count = in.value.substr(0, in.value.find('@'));
  if (to_number<uint32_t>(count).value_or(0) == 0)
    return refuse(fmt::format("Invalid numeric value \"{}\" for --switches.", count), 1);
  s.job.switches = in.value;
  return {};
}

OptionResult set_tasks_per_tres(Submission& s, const Input& in) {
  return set_count<&JobSpec::ntasks_per_gpu>(s, in);
}

constexpr SubmitOption kRows[] = {
    {.name = "batch",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch,
     .environment = "SBATCH_BATCH",
     .tier = 2,
     .set = set_text<&JobSpec::batch_features>,
     .section = OptionSection::kRun,
     .value_name = "feature",
     .help = "feature the node of the batch script must have"},
    {.name = "cluster-constraint",
     .argument = OptionArgument::kRequired,
     .environment = "*_CLUSTER_CONSTRAINT",
     .status = OptionStatus::kAccepted,
     .subject = "federation",
     .set = set_text<&JobSpec::cluster_constraint>,
     .section = OptionSection::kConstraint,
     .value_name = "[!]list",
     .help = "features the cluster must have"},
    {.name = "consolidate-segments",
     .environment = "*_CONSOLIDATE_SEGMENTS",
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05: segments",
     .set = ignore},
    {.name = "constraint",
     .letter = 'C',
     .argument = OptionArgument::kRequired,
     .environment = "*_CONSTRAINT",
     .tier = 1,
     .set = set_text<&JobSpec::constraint>,
     .section = OptionSection::kConstraint,
     .value_name = "list",
     .help = "features the nodes must have"},
    {.name = "contiguous",
     .tier = 2,
     .set = set_true<&JobSpec::contiguous>,
     .section = OptionSection::kConstraint,
     .help = "the nodes must be neighbours"},
    {.name = "core-spec",
     .letter = 'S',
     .argument = OptionArgument::kRequired,
     .environment = "*_CORE_SPEC",
     .unset_if_empty = "*_CORE_SPEC",
     .set = set_number<&JobSpec::core_spec>,
     .section = OptionSection::kRun,
     .value_name = "cores",
     .help = "cores of each node left to the system"},
    {.name = "cores-per-socket",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NCORES_PER_SOCKET",
     .tier = 2,
     .set = set_count<&JobSpec::cores_per_socket>,
     .section = OptionSection::kAffinity,
     .value_name = "C",
     .help = "least cores of a socket"},
    {.name = "cpus-per-task",
     .letter = 'c',
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK",
     .tier = 1,
     .set = set_count<&JobSpec::cpus_per_task>,
     .section = OptionSection::kRun,
     .value_name = "ncpus",
     .help = "CPUs of each task"},
    {.name = "distribution",
     .letter = 'm',
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_DISTRIBUTION SLURM_DISTRIBUTION",
     .tier = 1,
     .set = set_distribution,
     .section = OptionSection::kRun,
     .value_name = "type",
     .help = "how tasks go to nodes, sockets and cores: block, cyclic, arbitrary …"},
    {.name = "exclude",
     .letter = 'x',
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_excluded,
     .section = OptionSection::kConstraint,
     .value_name = "hosts...",
     .help = "nodes not to use"},
    {.name = "exclusive",
     .argument = OptionArgument::kOptional,
     .environment = "*_EXCLUSIVE",
     .tier = 1,
     .set = set_exclusive,
     .section = OptionSection::kConsumable,
     .value_name = "[=user|mcs]",
     .help = "share the nodes with no other job (of another user)"},
    {.name = "extra-node-info",
     .letter = 'B',
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_extra_node_info,
     .section = OptionSection::kAffinity,
     .value_name = "S[:C[:T]]",
     .help = "sockets, cores per socket and threads per core together; * for any"},
    {.name = "hint",
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_HINT SALLOC_HINT +SLURM_HINT",
     .tier = 2,
     .set = set_hint,
     .section = OptionSection::kAffinity,
     .value_name = "type",
     .help = "how the program uses CPUs (see --hint=help)"},
    {.name = "mem",
     .argument = OptionArgument::kRequired,
     .environment = "*_MEM_PER_NODE",
     .tier = 1,
     .set = set_memory<MemoryKind::kPerNode>,
     .section = OptionSection::kConstraint,
     .value_name = "MB",
     .help = "memory on each node; 0: all of it"},
    {.name = "mem-per-cpu",
     .argument = OptionArgument::kRequired,
     .environment = "*_MEM_PER_CPU",
     .tier = 1,
     .set = set_memory<MemoryKind::kPerCpu>,
     .section = OptionSection::kConsumable,
     .value_name = "MB",
     .help = "memory for each CPU"},
    {.name = "mem-per-gpu",
     .argument = OptionArgument::kRequired,
     .environment = "*_MEM_PER_GPU",
     .tier = 1,
     .set = set_memory<MemoryKind::kPerGpu>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "memory for each GPU"},
    {.name = "mincpus",
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_count<&JobSpec::min_cpus_per_node>,
     .section = OptionSection::kConstraint,
     .value_name = "n",
     .help = "least CPUs of a node"},
    {.name = "nodefile",
     .letter = 'F',
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_node_file,
     .section = OptionSection::kConstraint,
     .value_name = "filename",
     .help = "file that lists the nodes to use"},
    {.name = "nodelist",
     .letter = 'w',
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_node_list,
     .section = OptionSection::kConstraint,
     .value_name = "hosts...",
     .help = "nodes that must be among those used"},
    {.name = "nodes",
     .letter = 'N',
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_JOB_NUM_NODES",
     .tier = 1,
     .set = set_nodes,
     .section = OptionSection::kRun,
     .value_name = "N",
     .help = "how many nodes (N = min[-max])"},
    {.name = "ntasks",
     .letter = 'n',
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NPROCS SLURM_NTASKS",
     .tier = 1,
     .set = set_count<&JobSpec::num_tasks>,
     .section = OptionSection::kRun,
     .value_name = "ntasks",
     .help = "how many tasks"},
    {.name = "ntasks-per-core",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NTASKS_PER_CORE",
     .unset_if_empty = "SLURM_NTASKS_PER_CORE",
     .tier = 2,
     .set = set_count<&JobSpec::ntasks_per_core>,
     .section = OptionSection::kAffinity,
     .value_name = "n",
     .help = "most tasks on a core"},
    {.name = "ntasks-per-gpu",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NTASKS_PER_GPU",
     .tier = 2,
     .set = set_count<&JobSpec::ntasks_per_gpu>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "tasks for each GPU"},
    {.name = "ntasks-per-node",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NTASKS_PER_NODE",
     .tier = 1,
     .set = set_count<&JobSpec::ntasks_per_node>,
     .section = OptionSection::kRun,
     .value_name = "n",
     .help = "tasks on each node"},
    {.name = "ntasks-per-socket",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NTASKS_PER_SOCKET",
     .unset_if_empty = "SLURM_NTASKS_PER_SOCKET",
     .tier = 2,
     .set = set_count<&JobSpec::ntasks_per_socket>,
     .section = OptionSection::kAffinity,
     .value_name = "n",
     .help = "most tasks on a socket"},
    {.name = "ntasks-per-tres",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NTASKS_PER_TRES",
     .set = set_tasks_per_tres},
    {.name = "overcommit",
     .letter = 'O',
     .environment = "*_OVERCOMMIT",
     .tier = 1,
     .set = [](Submission& s, const Input&) -> OptionResult {
       s.job.overcommit = true;
       s.step.overcommit = true;
       return {};
     },
     .section = OptionSection::kRun,
     .help = "several tasks may share a CPU"},
    {.name = "oversubscribe",
     .letter = 's',
     .tier = 1,
     .set = set_oversubscribe,
     .section = OptionSection::kRun,
     .help = "other jobs may use the same resources"},
    {.name = "prefer",
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_text<&JobSpec::prefer>,
     .section = OptionSection::kConstraint,
     .value_name = "list",
     .help = "features the nodes should have if that costs no waiting"},
    {.name = "segment",
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_SEGMENT_SIZE SRUN_SEGMENT_SIZE SALLOC_SEGMENT_SIZE",
     .set = set_count<&JobSpec::segment>,
     .section = OptionSection::kConstraint,
     .value_name = "size",
     .help = "nodes of each part of the job that is to be in one block"},
    {.name = "sockets-per-node",
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_NSOCKETS_PER_NODE",
     .tier = 2,
     .set = set_count<&JobSpec::sockets_per_node>,
     .section = OptionSection::kAffinity,
     .value_name = "S",
     .help = "least sockets of a node"},
    {.name = "spread-job",
     .environment = "*_SPREAD_JOB",
     .set = set_true<&JobSpec::spread>,
     .section = OptionSection::kRun,
     .help = "use as many nodes as can be"},
    {.name = "spread-segments",
     .environment = "*_SPREAD_SEGMENTS",
     .set = set_true<&JobSpec::spread_segments>,
     .section = OptionSection::kConstraint,
     .help = "no two segments in one block"},
    {.name = "switches",
     .argument = OptionArgument::kRequired,
     .environment = "*_REQ_SWITCH",
     .tier = 2,
     .set = set_switches,
     .section = OptionSection::kRun,
     .value_name = "max-switches{@max-time-to-wait}",
     .help = "most switches between the nodes, and how long to wait for that"},
    {.name = "tasks-per-node",
     .argument = OptionArgument::kRequired,
     .set = set_count<&JobSpec::ntasks_per_node>},
    {.name = "thread-spec",
     .argument = OptionArgument::kRequired,
     .environment = "*_THREAD_SPEC",
     .set = set_count<&JobSpec::thread_spec>,
     .section = OptionSection::kRun,
     .value_name = "threads",
     .help = "threads of each node left to the system"},
    {.name = "threads-per-core",
     .argument = OptionArgument::kRequired,
     .environment = "*_THREADS_PER_CORE",
     .tier = 2,
     .set = set_count<&JobSpec::threads_per_core>,
     .section = OptionSection::kAffinity,
     .value_name = "T",
     .help = "threads of a core the job uses"},
    {.name = "tmp",
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_size<&JobSpec::tmp_disk_mib>,
     .section = OptionSection::kConstraint,
     .value_name = "MB",
     .help = "least disk space for temporary files on a node"},
    {.name = "use-min-nodes",
     .environment = "*_USE_MIN_NODES",
     .set = set_true<&JobSpec::use_min_nodes>,
     .section = OptionSection::kRun,
     .help = "of a range of node counts take the smallest"},
};

}  // namespace

std::span<const SubmitOption> size_rows() { return kRows; }

}  // namespace sluice::submit
