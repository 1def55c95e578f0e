// Rows of srun's own options: how tasks are started and what becomes of their input and output.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/syntax/mpi_types.hpp"
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

constexpr const char* kCpuBindHelp =
    "CPU bind options:\n"
    "    --cpu-bind=         Bind tasks to CPUs\n"
    "        q[uiet]         bind without a word (default)\n"
    "        v[erbose]       report the binding before a task runs\n"
    "        no[ne]          leave tasks unbound\n"
    "        rank            by the task's rank\n"
    "        map_cpu:<list>  a CPU for each task\n"
    "        mask_cpu:<list> a mask of CPUs for each task\n"
    "        sockets         to whole sockets\n"
    "        cores           to whole cores\n"
    "        threads         to threads\n"
    "        ldoms           to locality domains\n"
    "        help            show this help message\n";
constexpr const char* kMemBindHelp =
    "Memory bind options:\n"
    "    --mem-bind=         Bind memory to locality domains (ldom)\n"
    "        nosort, sort    (do not) sort pages at the start\n"
    "        q[uiet]         bind without a word (default)\n"
    "        v[erbose]       report the binding before a task runs\n"
    "        no[ne]          leave memory unbound (default)\n"
    "        rank            by the task's rank\n"
    "        local           to the memory next to the processor\n"
    "        map_mem:<list>  a domain for each task\n"
    "        mask_mem:<list> a mask of domains for each task\n"
    "        help            show this help message\n";

// What is wrong with a number of a list, "3*2" as of a mask "0xf": Slurm names the first letter
// that is none.
std::optional<std::string> bad_item(std::string_view item, bool is_mask) {
  std::string_view number = item.substr(0, item.find('*'));
  const std::string_view times = item.substr(number.size());
  if (is_mask && starts_with_i(number, "0x")) number.remove_prefix(2);
  size_t bad = number.find_first_not_of(is_mask ? "0123456789abcdefABCDEF" : "0123456789");
  if (bad == std::string_view::npos) {
    number = times;
    bad = times.empty() ? std::string_view::npos : times.find_first_not_of("0123456789", 1);
  }
  if (bad == std::string_view::npos) return std::nullopt;
  return fmt::format("Failed to validate number: {}, the offending character is {}", number,
                     number[bad]);
}

// What is wrong with the lists of --cpu-bind or --mem-bind: what follows a list's colon is numbers,
// until a word begins.
std::optional<std::string> bad_lists(std::string_view option, std::string_view value) {
  constexpr std::string_view kLists[] = {"map_cpu",   "mask_cpu", "map_ldom",
                                         "mask_ldom", "map_mem",  "mask_mem"};
  bool in_list = false, is_mask = false;
  for (std::string_view item : split(value, ',')) {
    const std::string_view name = item.substr(0, item.find(':'));
    if (std::ranges::any_of(kLists,
                            [name](std::string_view list) { return iequals(name, list); })) {
      item.remove_prefix(std::min(name.size() + 1, item.size()));
      if (item.empty())
        return fmt::format("missing list for \"--{}={}:<list>\"", option, to_lower(name));
      in_list = true;
      is_mask = starts_with_i(name, "mask");
    } else if (!item.empty() && (item[0] < '0' || item[0] > '9') && item[0] != '-') {
      in_list = in_list && is_mask && !bad_item(item, true);
    }
    if (!in_list) continue;
    if (auto bad = bad_item(item, is_mask)) return bad;
  }
  return std::nullopt;
}

OptionResult set_cpu_bind(Submission& s, const Input& in) {
  const std::vector<std::string> words = split_list(in.value);
  if (std::ranges::find(words, "help") != words.end()) {
    const bool binds = in.binds_cpus == nullptr || in.binds_cpus();
    return show(
        binds ? kCpuBindHelp : "CPU bind options not supported with current configuration\n", 1);
  }
  std::optional<std::string> bad = bad_lists("cpu-bind", in.value);
  if (const auto word = bad_cpu_bind(in.value); word && !bad)
    bad = fmt::format("unrecognized --cpu-bind argument \"{}\"", *word);
  if (bad)
    return tl::unexpected<OptionProblem>(
        OptionProblem{{*bad, "fatal: Failed to parse --cpu-bind= values."}, 1, {}});
  s.step.cpu_bind = in.value;
  return {};
}

OptionResult set_mem_bind(Submission& s, const Input& in) {
  if (in.value == "help") return show(kMemBindHelp, 255);
  if (const auto bad = bad_lists("mem-bind", in.value)) return refuse(*bad);
  if (const auto bad = bad_mem_bind(in.value)) {
    return refuse(fmt::format("unrecognized --mem-bind argument \"{}\"", *bad));
  }
  s.step.mem_bind = in.value;
  return {};
}

// Letters for kinds of devices (g: GPUs) that tasks use near to their CPUs, and v to say which.
// Slurm wants one that it knows and passes over the others. What --gpu-bind says is more exact.
OptionResult set_accel_bind(Submission& s, const Input& in) {
  if (in.value.find_first_of("gmnv") == std::string::npos) return bad_specification(in);
  if (in.value.find('g') == std::string::npos || !s.job.tres_bind.empty()) return {};
  s.job.tres_bind =
      in.value.find('v') == std::string::npos ? "gres/gpu:closest" : "gres/gpu:verbose,closest";
  return {};
}

OptionResult set_mpi(Submission& s, const Input& in) {
  if (in.value == "list") return show(mpi_list());
  if (in.value.empty() || !mpi_kind(in.value)) {
    return tl::unexpected<OptionProblem>(OptionProblem{unknown_mpi_errors(in.value), 1, {}});
  }
  s.step.mpi = in.value;
  return {};
}

// A value may be left out; it is kept as "".
template <auto Member>
OptionResult set_perhaps_text(Submission& s, const Input& in) {
  place<Member>(s) = in.has_value ? in.value : std::string();
  return {};
}

OptionResult set_ignored_signals(Submission& s, const Input& in) {
  for (const std::string& name : split_list(in.value)) {
    const auto number = parse_signal(name);
    if (!number || *number == 0) return bad_specification(in);
    s.settings.ignored_signals.push_back(static_cast<int>(*number));
  }
  return {};
}

OptionResult set_send_libraries(Submission& s, const Input& in) {
  const bool no = iequals(in.value, "no");
  if (in.has_value && !in.value.empty() && !no && !iequals(in.value, "yes"))
    return bad_specification(in);
  s.settings.send_libraries = !no;
  return {};
}

OptionResult set_kill_on_bad_exit(Submission& s, const Input& in) {
  uint32_t value = 1;
  if (in.has_value && !in.value.empty()) {
    const auto number = to_number<uint32_t>(in.value);
    if (!number) return bad_number(in);
    value = *number != 0 ? 1 : 0;
  }
  s.step.kill_on_bad_exit = value;
  return {};
}

OptionResult set_overlap(Submission& s, const Input&) {
  s.step.overlap = OverlapKind::kOverlap;
  return {};
}

OptionResult set_debug(Submission& s, const Input& in) {
  constexpr std::string_view kLevels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                          "debug", "debug2", "debug3", "debug4", "debug5"};
  for (uint32_t i = 0; i < std::size(kLevels); ++i) {
    if (iequals(kLevels[i], in.value)) s.step.slurmd_debug = i;
  }
  if (const auto number = to_number<uint32_t>(in.value)) s.step.slurmd_debug = *number;
  return {};
}

OptionResult set_job_id(Submission& s, const Input& in) {
  const auto number = to_number<uint32_t>(in.value);
  if (!number || *number == 0) return bad_number(in);
  s.settings.job_id = *number;
  return {};
}

// kMostComponents: more than any job has.
OptionResult set_het_group(Submission& s, const Input& in) {
  constexpr uint32_t kMostComponents = 128;
  const auto groups = IndexSet::parse(in.value, kMostComponents);
  if (!groups || groups->empty()) return refuse("Invalid --het-group value: " + in.value, 1);
  s.settings.het_groups = *groups;
  return {};
}

constexpr SubmitOption kRows[] = {
    {.name = "accel-bind",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .set = set_accel_bind},
    {.name = "async",
     .commands = kSrun,
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05",
     .set = ignore},
    {.name = "bcast",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_BCAST",
     .tier = 2,
     .set = set_perhaps_text<&SubmitSettings::broadcast>,
     .section = OptionSection::kRun,
     .value_name = "<dest_path>",
     .help = "copy the program to the nodes first"},
    {.name = "bcast-exclude",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_BCAST_EXCLUDE",
     .set = set_text<&SubmitSettings::broadcast_exclude>,
     .section = OptionSection::kRun,
     .value_name = "<paths>",
     .help = "folders whose libraries are not copied"},
    {.name = "compress",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_COMPRESS",
     .tier = 2,
     .set = set_perhaps_text<&SubmitSettings::compress>,
     .section = OptionSection::kRun,
     .value_name = "[=library]",
     .help = "compress what --bcast copies"},
    {.name = "cpu-bind",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_CPU_BIND",
     .tier = 1,
     .set = set_cpu_bind,
     .section = OptionSection::kAffinity,
     .value_name = "type",
     .help = "how tasks are bound to CPUs (see --cpu-bind=help)"},
    {.name = "cpu_bind",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .set = set_cpu_bind},
    {.name = "debugger-test", .commands = kSrun, .set = set_true<&SubmitSettings::debugger_test>},
    {.name = "disable-status",
     .letter = 'X',
     .commands = kSrun,
     .environment = "SLURM_DISABLE_STATUS",
     .set = set_true<&SubmitSettings::disable_status>,
     .section = OptionSection::kRun,
     .help = "Ctrl-C is passed to the tasks at once"},
    {.name = "epilog",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_EPILOG",
     .tier = 2,
     .set = set_text<&SubmitSettings::epilog>,
     .section = OptionSection::kRun,
     .value_name = "program",
     .help = "program run here after the step"},
    {.name = "exact",
     .commands = kSrun,
     .environment = "SLURM_EXACT",
     .tier = 1,
     .set = set_true<&StepSpec::exact>,
     .section = OptionSection::kConsumable,
     .help = "the step takes only what it asked for, not all of the job's nodes"},
    {.name = "external-launcher",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_EXTERNAL_LAUNCHER",
     .status = OptionStatus::kMissing,
     .subject = "external launchers",
     .set = ignore},
    {.name = "het-group",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .tier = 2,
     .set = set_het_group,
     .section = OptionSection::kRun,
     .value_name = "value",
     .help = "parts of a heterogeneous job to start in"},
    {.name = "ignore-signals",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .tier = 2,
     .set = set_ignored_signals},
    {.name = "interactive", .commands = kSrun, .set = set_true<&StepSpec::interactive>},
    {.name = "jobid",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_JOB_ID",
     .tier = 1,
     .set = set_job_id,
     .section = OptionSection::kRun,
     .value_name = "id",
     .help = "start in this job"},
    {.name = "kill-on-bad-exit",
     .letter = 'K',
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_KILL_BAD_EXIT",
     .tier = 1,
     .set = set_kill_on_bad_exit,
     .section = OptionSection::kRun,
     .help = "end the step when a task fails"},
    {.name = "label",
     .letter = 'l',
     .commands = kSrun,
     .environment = "SLURM_LABELIO",
     .tier = 1,
     .set = set_true<&StepSpec::label>,
     .section = OptionSection::kRun,
     .help = "the task's number before each line of output"},
    {.name = "mem-bind",
     .argument = OptionArgument::kRequired,
     .environment = "*_MEM_BIND",
     .tier = 2,
     .set = set_mem_bind,
     .section = OptionSection::kAffinity,
     .value_name = "type",
     .help = "how memory is bound (see --mem-bind=help)"},
    {.name = "mpi",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_MPI_TYPE",
     .tier = 1,
     .set = set_mpi,
     .section = OptionSection::kRun,
     .value_name = "type",
     .help = "kind of MPI (see --mpi=list)"},
    {.name = "msg-timeout",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .set = set_count<&SubmitSettings::message_seconds>},
    {.name = "multi-prog",
     .commands = kSrun,
     .environment = "SLURM_SRUN_MULTI",
     .tier = 1,
     .set = set_true<&SubmitSettings::multi_prog>,
     .section = OptionSection::kRun,
     .help = "the program named is a file that says which task runs what"},
    {.name = "no-allocate",
     .letter = 'Z',
     .commands = kSrun,
     .tier = 2,
     .set = set_true<&SubmitSettings::no_allocate>,
     .section = OptionSection::kConstraint,
     .help = "run on nodes without a job (needs -w)"},
    {.name = "overlap",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_OVERLAP",
     .tier = 1,
     .set = set_overlap,
     .section = OptionSection::kRun,
     .help = "other steps may use the same resources"},
    {.name = "pack-group",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .set = set_het_group},
    {.name = "preserve-env",
     .letter = 'E',
     .commands = kSrun,
     .set = set_true<&StepSpec::preserve_env>,
     .section = OptionSection::kRun,
     .help = "leave counts of nodes and tasks in the environment as they are"},
    {.name = "prolog",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_PROLOG",
     .tier = 2,
     .set = set_text<&SubmitSettings::prolog>,
     .section = OptionSection::kRun,
     .value_name = "program",
     .help = "program run here before the step"},
    {.name = "pty",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .tier = 1,
     .set = set_true<&StepSpec::pty>,
     .section = OptionSection::kRun,
     .help = "task 0 gets a terminal"},
    {.name = "quit-on-interrupt",
     .commands = kSrun,
     .set = set_true<&SubmitSettings::quit_on_interrupt>,
     .section = OptionSection::kRun,
     .help = "one Ctrl-C ends the step"},
    {.name = "relative",
     .letter = 'r',
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .tier = 2,
     .set = set_number<&StepSpec::relative>,
     .section = OptionSection::kRun,
     .value_name = "n",
     .help = "start at node n of the job"},
    {.name = "send-libs",
     .argument = OptionArgument::kOptional,
     .commands = kSrun,
     .environment = "SLURM_SEND_LIBS",
     .set = set_send_libraries,
     .section = OptionSection::kRun,
     .value_name = "[=yes|no]",
     .help = "copy the program's libraries too"},
    {.name = "slurmd-debug",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURMD_DEBUG",
     .status = OptionStatus::kAccepted,
     .subject = "logs of step daemons",
     .set = set_debug,
     .section = OptionSection::kRun,
     .value_name = "level",
     .help = "how much the step daemons say"},
    {.name = "task-epilog",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_TASK_EPILOG",
     .tier = 2,
     .set = set_text<&StepSpec::task_epilog>,
     .section = OptionSection::kRun,
     .value_name = "program",
     .help = "program run on the node after each task"},
    {.name = "task-prolog",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_TASK_PROLOG",
     .tier = 2,
     .set = set_text<&StepSpec::task_prolog>,
     .section = OptionSection::kRun,
     .value_name = "program",
     .help = "program run on the node before each task"},
    {.name = "threads",
     .letter = 'T',
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .environment = "SLURM_THREADS",
     .status = OptionStatus::kAccepted,
     .subject = "the launch goes through the tree of agents",
     .set = set_count<&SubmitSettings::threads>,
     .section = OptionSection::kRun,
     .value_name = "threads",
     .help = "threads for the launch"},
    {.name = "treewidth",
     .argument = OptionArgument::kRequired,
     .commands = kSrun,
     .set = set_count<&StepSpec::tree_width>},
    {.name = "unbuffered",
     .letter = 'u',
     .commands = kSrun,
     .environment = "SLURM_UNBUFFEREDIO",
     .tier = 1,
     .set = set_true<&StepSpec::unbuffered>,
     .section = OptionSection::kRun,
     .help = "pass output on at once, not line by line"},
    {.name = "wait-for-children", .commands = kSrun, .set = set_true<&StepSpec::wait_for_children>},
    {.name = "whole", .commands = kSrun, .set = set_true<&StepSpec::whole>},
};

}  // namespace

std::span<const SubmitOption> step_rows() { return kRows; }

}  // namespace sluice::submit
