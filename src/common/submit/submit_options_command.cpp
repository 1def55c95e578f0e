// Rows of options of one command alone that are about the command itself: sbatch's and salloc's,
// and those for help. (--help, --usage and --version are acted on by the parser as soon as it meets
// them.)
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

OptionResult set_user_environment(Submission& s, const Input& in) {
  // [timeout][mode]: seconds and S or L, from the days when this was slow.
  std::string_view text = in.value;
  if (in.has_value && !in.from_environment) {
    if (!text.empty() && (text.back() == 'S' || text.back() == 'L')) text.remove_suffix(1);
    if (!text.empty() && !to_number<uint32_t>(text)) return bad_specification(in);
  }
  s.job.get_user_env = true;
  return {};
}

OptionResult set_wait(Submission& s, const Input& in) {
  if (in.command == kSbatch) {
    s.settings.wait_for_end = true;
    return {};
  }
  return set_number<&StepSpec::wait_seconds>(s, in);
}

OptionResult set_wrap(Submission& s, const Input& in) {
  s.settings.wrap = in.value;
  return {};
}

OptionResult set_kill_command(Submission& s, const Input& in) {
  if (!in.has_value || in.value.empty()) {
    s.settings.kill_signal = 15;
    return {};
  }
  const auto signal = parse_signal(in.value);
  if (!signal) return bad_specification(in);
  s.settings.kill_signal = *signal;
  return {};
}

template <bool On>
OptionResult set_bell(Submission& s, const Input&) {
  s.settings.bell = On;
  return {};
}

constexpr SubmitOption kRows[] = {
    {.name = "bell",
     .commands = kSalloc,
     .environment = "SALLOC_BELL",
     .tier = 2,
     .set = set_bell<true>,
     .section = OptionSection::kRun,
     .help = "ring the terminal's bell when the job is there"},
    {.name = "external",
     .commands = kSbatch,
     .status = OptionStatus::kMissing,
     .subject = "new since 22.05",
     .set = ignore},
    {.name = "get-user-env",
     .argument = OptionArgument::kOptional,
     .commands = kSbatch | kSalloc,
     .environment = "SBATCH_GET_USER_ENV",
     .tier = 1,
     .set = set_user_environment,
     .section = OptionSection::kRun,
     .help = "give the job the environment of a fresh login"},
    {.name = "help",
     .letter = 'h',
     .tier = 1,
     .in_script = false,
     .set = ignore,
     .section = OptionSection::kHelp,
     .help = "show this help message"},
    {.name = "ignore-pbs",
     .commands = kSbatch,
     .environment = "SBATCH_IGNORE_PBS",
     .set = set_true<&SubmitSettings::ignore_pbs>,
     .section = OptionSection::kRun,
     .help = "pass over #PBS and #BSUB lines of the script"},
    {.name = "kill-command",
     .letter = 'K',
     .argument = OptionArgument::kOptional,
     .commands = kSalloc,
     .environment = "SALLOC_KILL_CMD",
     .tier = 2,
     .set = set_kill_command,
     .section = OptionSection::kRun,
     .value_name = "[=signal]",
     .help = "signal the command when the job is over"},
    {.name = "no-bell",
     .commands = kSalloc,
     .environment = "SALLOC_NO_BELL",
     .tier = 2,
     .set = set_bell<false>,
     .section = OptionSection::kRun,
     .help = "never ring the bell"},
    {.name = "no-shell",
     .commands = kSalloc,
     .tier = 1,
     .set = set_true<&SubmitSettings::no_shell>,
     .section = OptionSection::kRun,
     .help = "leave once the job is there; it goes on until it is cancelled"},
    {.name = "parsable",
     .commands = kSbatch,
     .tier = 1,
     .set = set_true<&SubmitSettings::parsable>,
     .section = OptionSection::kRun,
     .help = "print the job's id alone (and its cluster, after a semicolon)"},
    {.name = "parsable",
     .commands = kSrun,
     .status = OptionStatus::kAccepted,  // srun prints an id with --async only
     .subject = "new since 22.05: prints an id with `--async` only",
     .set = ignore,
     .section = OptionSection::kRun,
     .help = "print the job's id alone (and its cluster, after a semicolon)"},
    {.name = "test-only",
     .commands = kSbatch | kSrun,
     .tier = 1,
     .set = set_true<&SubmitSettings::test_only>,
     .section = OptionSection::kRun,
     .help = "say when and where the job would start, submit nothing"},
    {.name = "usage",
     .tier = 1,
     .in_script = false,
     .set = ignore,
     .section = OptionSection::kHelp,
     .help = "show a short list of the options"},
    {.name = "version",
     .letter = 'V',
     .tier = 1,
     .in_script = false,
     .set = ignore,
     .section = OptionSection::kOther,
     .help = "show the version"},
    {.name = "wait",
     .letter = 'W',
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .no_argument_for = kSbatch,
     .environment = "SBATCH_WAIT SLURM_WAIT",
     .unset_if_empty = "SLURM_WAIT",
     .tier = 1,
     .set = set_wait,
     .section = OptionSection::kRun,
     .value_name = "sec",
     .help = "sbatch: stay until the job ends; srun: seconds after the first task's end until the "
             "others are ended"},
    {.name = "wrap",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch,
     .tier = 1,
     .in_script = false,
     .set = set_wrap,
     .section = OptionSection::kRun,
     .value_name = "[command string]",
     .help = "submit a shell script of this one command"},
};

}  // namespace

std::span<const SubmitOption> command_rows() { return kRows; }

}  // namespace sluice::submit
