// Rows of options about how a job is treated while it waits and runs.
#include <fmt/format.h>

#include "common/syntax/cpu_frequency.hpp"
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

OptionResult set_acctg_freq(Submission& s, const Input& in) {
  if (!is_acctg_freq(in.value)) {
    return refuse(fmt::format("Invalid --acctg-freq specification: {}", in.value));
  }
  s.job.acctg_frequency = in.value;
  s.step.acctg_frequency = in.value;
  return {};
}

OptionResult set_cpu_freq(Submission& s, const Input& in) {
  if (const auto wanted = parse_cpu_frequency(in.value); !wanted) {
    return tl::unexpected<OptionProblem>(
        OptionProblem{{wanted.error().text, "Invalid --cpu-freq argument"}, 255, {}});
  }
  s.job.cpu_freq = s.step.cpu_freq = in.value;
  return {};
}

OptionResult set_nice(Submission& s, const Input& in) {
  if (!in.has_value) {
    s.job.nice = 100;
    return {};
  }
  const auto number = to_number<int64_t>(in.value);
  if (!number || *number > 2147483645 || *number < -2147483645) {
    return refuse("Invalid --nice value, out of range (+/- 2147483645)");
  }
  s.job.nice = static_cast<int32_t>(*number);
  return {};
}

OptionResult set_priority(Submission& s, const Input& in) {
  if (iequals(in.value, "TOP")) {
    s.job.priority = UINT32_MAX - 2;
    return {};
  }
  const auto number = to_number<int64_t>(in.value);
  if (!number) return bad_specification(in);
  if (*number < 0) return refuse("Priority must be >= 0");
  if (*number >= 4294967294) return refuse("Priority must be < 4294967294");
  if (*number != 0) s.job.priority = static_cast<uint32_t>(*number);  // 0: as if not given
  return {};
}

OptionResult set_no_kill(Submission& s, const Input& in) {
  if (in.has_value && !in.value.empty() && !iequals(in.value, "off")) return bad_specification(in);
  const bool off = iequals(in.value, "off");
  s.job.kill_on_node_fail = off;
  s.step.no_kill = !off;
  return {};
}

OptionResult set_profile(Submission& s, const Input& in) {
  if (!is_profile(in.value)) return refuse(fmt::format("invalid --profile={} option", in.value));
  s.job.profile = in.value;
  s.step.profile = in.value;
  return {};
}

OptionResult set_propagate(Submission& s, const Input& in) {
  const std::string names = in.value.empty() ? "ALL" : in.value;
  if (const Status known = check_propagate(names); !known) {
    return tl::unexpected<OptionProblem>(OptionProblem{
        {known.error().text, fmt::format("--propagate={} is not valid.", names)}, 1, {}});
  }
  s.settings.propagate = names;
  s.step.propagate = names;
  return {};
}

OptionResult set_requeue(Submission& s, const Input& in) {
  if (in.has_value && !in.from_environment && in.value != "expedite") return bad_specification(in);
  s.job.requeue = Toggle::kYes;
  return {};
}
OptionResult set_no_requeue(Submission& s, const Input&) {
  s.job.requeue = Toggle::kNo;
  return {};
}

OptionResult set_signal(Submission& s, const Input& in) {
  const auto signal = parse_signal_option(in.value);
  if (!signal || (signal->batch && in.command != kSbatch)) return bad_specification(in);
  s.job.signal = signal->signal;
  s.job.signal_seconds = signal->seconds;
  s.job.signal_batch = signal->batch;
  s.job.signal_reservation = signal->reservation;
  return {};
}

OptionResult set_wait_all(Submission& s, const Input& in) {
  const auto number = to_number<uint32_t>(in.value);
  if (!number) return bad_number(in);
  if (*number > 1) return bad_specification(in);
  s.job.wait_all_nodes = s.settings.wait_all_nodes.emplace(*number == 1);
  return {};
}

// Bare, it is 1.
OptionResult set_oom_kill(Submission& s, const Input& in) {
  const auto number =
      in.has_value && !in.value.empty() ? to_number<uint32_t>(in.value) : std::optional(1U);
  if (!number) return bad_number(in);
  if (*number > 1) return bad_specification(in);
  s.job.oom_kill_step = s.step.oom_kill_step = *number == 1 ? Toggle::kYes : Toggle::kNo;
  return {};
}

// Other words than these forward nothing, as with Slurm.
OptionResult set_x11(Submission& s, const Input& in) {
  constexpr std::pair<std::string_view, X11Nodes> kPlaces[] = {{"all", X11Nodes::kAll},
                                                               {"batch", X11Nodes::kBatch},
                                                               {"first", X11Nodes::kFirst},
                                                               {"last", X11Nodes::kLast}};
  s.step.x11 = in.has_value && !in.value.empty() ? X11Nodes::kNone : X11Nodes::kAll;
  for (const auto& [name, nodes] : kPlaces) {
    if (in.value == name) s.step.x11 = nodes;
  }
  return {};
}

OptionResult set_immediate(Submission& s, const Input& in) {
  uint32_t seconds = 1;
  if (in.has_value && !in.value.empty()) {
    const auto number = to_number<uint32_t>(in.value);
    if (!number) return bad_number(in);
    seconds = *number;
  }
  s.job.immediate = s.step.immediate = seconds != 0;
  s.settings.immediate_seconds = seconds;
  return {};
}

OptionResult set_resv_ports(Submission& s, const Input& in) {
  if (!in.has_value || in.value.empty()) {
    s.job.resv_ports = 1;
    return {};
  }
  return set_number<&JobSpec::resv_ports>(s, in);
}

constexpr SubmitOption kRows[] = {
    {.name = "acctg-freq",
     .argument = OptionArgument::kRequired,
     .environment = "*_ACCTG_FREQ",
     .unset_if_empty = "*_ACCTG_FREQ",
     .tier = 2,
     .set = set_acctg_freq,
     .section = OptionSection::kRun,
     .value_name = "<datatype>=<interval>",
     .help = "seconds between samples of task, energy, network or filesystem use"},
    {.name = "autocomplete",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kMissing,
     .subject = "completion of shells",
     .set = ignore},
    {.name = "bb",
     .argument = OptionArgument::kRequired,
     .environment = "*_BURST_BUFFER",
     .status = OptionStatus::kMissing,
     .subject = "burst buffers",
     .set = set_text<&JobSpec::burst_buffer>,
     .section = OptionSection::kRun,
     .value_name = "<spec>",
     .help = "burst buffer to set up"},
    {.name = "bbf",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kMissing,
     .subject = "burst buffers",
     .set = set_text<&SubmitSettings::burst_buffer_file>,
     .section = OptionSection::kRun,
     .value_name = "<file_name>",
     .help = "file that describes the burst buffer"},
    {.name = "container",
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_CONTAINER SRUN_CONTAINER SALLOC_CONTAINER",
     .status = OptionStatus::kMissing,
     .subject = "containers",
     .set = set_text<&JobSpec::container>,
     .section = OptionSection::kRun,
     .value_name = "path",
     .help = "folder of an OCI container"},
    {.name = "container-id",
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_CONTAINER_ID SRUN_CONTAINER_ID SALLOC_CONTAINER_ID",
     .status = OptionStatus::kMissing,
     .subject = "containers",
     .set = ignore,
     .section = OptionSection::kRun,
     .value_name = "id",
     .help = "name of the OCI container"},
    {.name = "context",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kMissing,
     .subject = "SELinux contexts",
     .set = ignore},
    {.name = "cpu-freq",
     .argument = OptionArgument::kRequired,
     .environment = "*_CPU_FREQ_REQ",
     .set = set_cpu_freq,
     .section = OptionSection::kRun,
     .value_name = "min[-max[:gov]]",
     .help = "frequency (and governor) the CPUs should run at"},
    {.name = "immediate",
     .letter = 'I',
     .argument = OptionArgument::kOptional,
     .commands = kSrun | kSalloc,
     .environment = "SALLOC_IMMEDIATE SLURM_IMMEDIATE",
     .tier = 1,
     .set = set_immediate,
     .section = OptionSection::kRun,
     .value_name = "[=secs]",
     .help = "give up when the resources are not there within so many seconds"},
    {.name = "mem-update",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05",
     .set = ignore},
    {.name = "network",
     .argument = OptionArgument::kRequired,
     .environment = "*_NETWORK",
     .set = set_text<&JobSpec::network>,
     .section = OptionSection::kHidden},
    {.name = "nice",
     .argument = OptionArgument::kOptional,
     .tier = 2,
     .set = set_nice,
     .section = OptionSection::kRun,
     .value_name = "[=value]",
     .help = "lower the priority by this much"},
    {.name = "no-kill",
     .letter = 'k',
     .argument = OptionArgument::kOptional,
     .environment = "*_NO_KILL",
     .tier = 2,
     .set = set_no_kill,
     .section = OptionSection::kRun,
     .help = "go on when a node of the job fails"},
    {.name = "no-requeue",
     .commands = kSbatch,
     .environment = "SBATCH_NO_REQUEUE",
     .tier = 1,
     .set = set_no_requeue,
     .section = OptionSection::kRun,
     .help = "never run the job again"},
    {.name = "oom-kill-step",
     .argument = OptionArgument::kOptional,
     .environment = "SLURM_OOM_KILL_STEP",
     .set = set_oom_kill},
    {.name = "power",
     .argument = OptionArgument::kRequired,
     .environment = "*_POWER",
     .status = OptionStatus::kAccepted,
     .subject = "power saving",
     .set = set_text<&JobSpec::power>},
    {.name = "priority",
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_priority,
     .section = OptionSection::kRun,
     .value_name = "value",
     .help = "set the job's priority"},
    {.name = "profile",
     .argument = OptionArgument::kRequired,
     .environment = "*_PROFILE",
     .tier = 2,
     .status = OptionStatus::kAccepted,
     .subject = "accounting",
     .set = set_profile,
     .section = OptionSection::kRun,
     .value_name = "value",
     .help = "detailed data to gather: all, none, energy, lustre, network, task"},
    {.name = "propagate",
     .argument = OptionArgument::kOptional,
     .commands = kSbatch | kSrun,
     .tier = 2,
     .set = set_propagate,
     .section = OptionSection::kRun,
     .value_name = "[=rlimits]",
     .help = "give what runs these resource limits of the caller"},
    {.name = "quiet",
     .letter = 'Q',
     .tier = 1,
     .set = set_true<&SubmitSettings::quiet>,
     .section = OptionSection::kRun,
     .help = "say nothing but errors"},
    {.name = "reboot",
     .set = set_true<&JobSpec::reboot>,
     .section = OptionSection::kRun,
     .help = "boot the nodes before the job starts"},
    {.name = "requeue",
     .argument = OptionArgument::kOptional,
     .commands = kSbatch,
     .environment = "SBATCH_REQUEUE",
     .tier = 1,
     .set = set_requeue,
     .section = OptionSection::kRun,
     .help = "the job may be put back into the queue"},
    {.name = "resv-ports",
     .argument = OptionArgument::kOptional,
     .environment = "SLURM_RESV_PORTS",
     .status = OptionStatus::kAccepted,
     .subject = "ports of old MPI libraries",
     .set = set_resv_ports,
     .section = OptionSection::kConsumable,
     .value_name = "[=count]",
     .help = "reserve ports for communication"},
    {.name = "resources",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05",
     .set = ignore},
    {.name = "runtime",
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_RUNTIME SRUN_RUNTIME SALLOC_RUNTIME",
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05",
     .set = ignore},
    {.name = "signal",
     .argument = OptionArgument::kRequired,
     .environment = "*_SIGNAL",
     .tier = 1,
     .set = set_signal,
     .section = OptionSection::kRun,
     .value_name = "[[R][B]:]num[@time]",
     .help = "signal the job when its end is at most so many seconds away"},
    {.name = "stepmgr",
     .status = OptionStatus::kAccepted,
     .subject = "the controller manages every step",
     .set = ignore},
    {.name = "verbose",
     .letter = 'v',
     .environment = "SBATCH_DEBUG SLURM_DEBUG SRUN_DEBUG SALLOC_DEBUG",
     .tier = 1,
     .set = [](Submission& s, const Input& in) -> OptionResult {
       s.settings.verbose = in.count;
       return {};
     },
     .section = OptionSection::kRun,
     .help = "say more (-vv: still more)"},
    {.name = "wait-all-nodes",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSalloc,
     .environment = "SBATCH_WAIT_ALL_NODES SALLOC_WAIT_ALL_NODES",
     .unset_if_empty = "SBATCH_WAIT_ALL_NODES SALLOC_WAIT_ALL_NODES",
     .tier = 2,
     .set = set_wait_all,
     .section = OptionSection::kHidden},
    {.name = "x11",
     .argument = OptionArgument::kOptional,
     .commands = kSrun | kSalloc,
     .environment = "SLUICE_X11",
     .tier = 1,
     .set = set_x11},
};

}  // namespace

std::span<const SubmitOption> life_rows() { return kRows; }

}  // namespace sluice::submit
