// Rows of options that name, place and time a job, and say where its files are.
#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

OptionResult set_partition(Submission& s, const Input& in) {
  s.job.partitions = in.value.empty() ? kNoPartition : in.value;
  return {};
}

OptionResult set_clusters(Submission& s, const Input& in) {
  if (in.value.empty()) return refuse(unknown_cluster(in.value), 1);
  s.job.clusters = in.value;
  return {};
}

OptionResult set_begin(Submission& s, const Input& in) {
  const Result<Time> at = parse_time(in.value, in.now);
  if (!at) {
    OptionProblem problem = bad_specification(in).value();
    problem.print = at.error().text;
    return tl::unexpected<OptionProblem>(std::move(problem));
  }
  (in.option->name == "begin" ? s.job.begin : s.job.deadline) = *at;
  return {};
}

// Whom a job runs as is root's to say.
template <auto Member>
OptionResult set_identity(Submission& s, const Input& in) {
  if (!in.by_root) return refuse(fmt::format("--{} only permitted by root user", in.option->name));
  return set_text<Member>(s, in);
}

template <auto Member>
OptionResult set_minutes(Submission& s, const Input& in) {
  const auto minutes = parse_minutes(in.value);
  if (!minutes) return bad_specification(in);
  place<Member>(s) = *minutes == 0 ? kInfiniteMinutes : *minutes;  // 0 asks for no limit
  return {};
}

OptionResult set_delay_boot(Submission& s, const Input& in) {
  const auto minutes = parse_minutes(in.value);
  if (!minutes) return bad_specification(in);
  s.job.delay_boot_seconds = minutes_in_seconds(*minutes);
  s.settings.delay_boot_given = true;
  return {};
}

OptionResult set_folder(Submission& s, const Input& in) {
  s.job.work_dir = in.value.starts_with('/') ? in.value : fmt::format("{}/{}", in.folder, in.value);
  return {};
}

OptionResult set_name(Submission& s, const Input& in) {
  s.job.name = in.value;
  s.settings.name_given = !in.from_environment;
  return {};
}

OptionResult set_open_mode(Submission& s, const Input& in) {
  if (in.value.starts_with('a') || in.value.starts_with('A')) {
    s.job.open_mode = OpenMode::kAppend;
  } else if (in.value.starts_with('t') || in.value.starts_with('T')) {
    s.job.open_mode = OpenMode::kTruncate;
  } else {
    return bad_specification(in);
  }
  return {};
}

OptionResult set_export(Submission& s, const Input& in) {
  const std::string list = in.value.empty() ? "NONE" : in.value;  // no name at all
  s.settings.export_list = list;
  s.settings.export_given = true;
  s.job.export_list = list;
  s.step.export_list = list;
  return {};
}

OptionResult set_invalid_dependency(Submission& s, const Input& in) {
  if (iequals(in.value, "yes")) {
    s.job.kill_on_invalid_dependency = Toggle::kYes;
  } else if (iequals(in.value, "no")) {
    s.job.kill_on_invalid_dependency = Toggle::kNo;
  } else {
    return bad_specification(in);
  }
  return {};
}

OptionResult set_mail_type(Submission& s, const Input& in) {
  const auto types = parse_mail_types(in.value);
  if (!types) return bad_specification(in);
  s.job.mail_type = *types;
  return {};
}

OptionResult set_account(Submission& s, const Input& in) {
  // names of accounts have no capitals
  s.job.account = in.value.empty() ? std::string(kNoAccount) : to_lower(in.value);
  return {};
}

OptionResult set_qos(Submission& s, const Input& in) {
  s.job.qos = in.value.empty() ? std::string(kNoQos) : std::string(in.value);
  return {};
}

// sbatch: no file at all is /dev/null. srun has a "none" of its own.
template <SharedText JobSpec::*member>
OptionResult set_stream(Submission& s, const Input& in) {
  const bool nowhere = in.command == kSbatch && iequals(in.value, "none");
  s.job.*member = nowhere ? "/dev/null" : in.value;
  return {};
}

constexpr SubmitOption kRows[] = {
    {.name = "account",
     .letter = 'A',
     .argument = OptionArgument::kRequired,
     .environment = "*_ACCOUNT",
     .tier = 1,
     .set = set_account,
     .section = OptionSection::kRun,
     .value_name = "name",
     .help = "account that pays for the job"},
    {.name = "array",
     .letter = 'a',
     .argument = OptionArgument::kRequired,
     .commands = kSbatch,
     .environment = "SBATCH_ARRAY_INX",
     .tier = 1,
     .set = set_text<&JobSpec::array>,
     .section = OptionSection::kRun,
     .value_name = "indexes",
     .help = "submit a job array with these index values"},
    {.name = "begin",
     .letter = 'b',
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_begin,
     .section = OptionSection::kRun,
     .value_name = "time",
     .help = "start the job no earlier than this time"},
    {.name = "chdir",
     .letter = 'D',
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_WORKING_DIR SLURM_REMOTE_CWD",
     .unset_if_empty = "SLURM_WORKING_DIR SLURM_REMOTE_CWD",
     .tier = 1,
     .set = set_folder,
     .section = OptionSection::kRun,
     .value_name = "path",
     .help = "working folder of what runs"},
    {.name = "cluster", .argument = OptionArgument::kRequired, .set = set_clusters},
    {.name = "clusters",
     .letter = 'M',
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_CLUSTERS SALLOC_CLUSTERS +SLURM_CLUSTERS",
     .tier = 1,
     .set = set_clusters,
     .section = OptionSection::kRun,
     .value_name = "names",
     .help = "clusters to send the request to, separated by commas"},
    {.name = "comment",
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_text<&JobSpec::comment>,
     .section = OptionSection::kRun,
     .value_name = "text",
     .help = "a remark kept with the job"},
    {.name = "deadline",
     .argument = OptionArgument::kRequired,
     .set = set_begin,
     .section = OptionSection::kRun,
     .value_name = "time",
     .help = "drop the job when it cannot end before this time"},
    {.name = "delay-boot",
     .argument = OptionArgument::kRequired,
     .environment = "*_DELAY_BOOT",
     .set = set_delay_boot,
     .section = OptionSection::kRun,
     .value_name = "mins",
     .help = "wait so long before nodes are booted for their features"},
    {.name = "dependency",
     .letter = 'd',
     .argument = OptionArgument::kRequired,
     .environment = "SLURM_DEPENDENCY",
     .tier = 1,
     .set = set_text<&JobSpec::dependency>,
     .section = OptionSection::kRun,
     .value_name = "type:jobid[:time]",
     .help = "start only after these jobs did what the type says"},
    {.name = "error",
     .letter = 'e',
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .environment = "SBATCH_ERROR SLURM_STDERRMODE SRUN_ERROR",
     .tier = 1,
     .set = set_stream<&JobSpec::std_err>,
     .section = OptionSection::kRun,
     .value_name = "err",
     .help = "file for standard error (may hold % symbols)"},
    {.name = "export",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .environment = "SBATCH_EXPORT SLURM_EXPORT_ENV SRUN_EXPORT_ENV",
     .tier = 1,
     .set = set_export,
     .section = OptionSection::kRun,
     .value_name = "[names|ALL|NONE]",
     .help = "which variables what runs gets, and values of further ones"},
    {.name = "export-file",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch,
     .tier = 2,
     .set = set_text<&SubmitSettings::export_file>,
     .section = OptionSection::kRun,
     .value_name = "file|fd",
     .help = "read variables, each ended by NUL, from a file or descriptor"},
    {.name = "extra",
     .argument = OptionArgument::kRequired,
     .set = set_text<&JobSpec::extra>,
     .section = OptionSection::kRun,
     .value_name = "text",
     .help = "free text kept with the job, for filters on nodes"},
    {.name = "gid",
     .argument = OptionArgument::kRequired,
     .set = set_identity<&SubmitSettings::group>,
     .section = OptionSection::kRun,
     .value_name = "group",
     .help = "group to run the job as (root only)"},
    {.name = "hold",
     .letter = 'H',
     .tier = 1,
     .set = set_true<&JobSpec::hold>,
     .section = OptionSection::kRun,
     .help = "submit the job held"},
    {.name = "input",
     .letter = 'i',
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .environment = "SBATCH_INPUT SLURM_STDINMODE SRUN_INPUT",
     .tier = 1,
     .set = set_stream<&JobSpec::std_in>,
     .section = OptionSection::kRun,
     .value_name = "in",
     .help = "file for standard input (may hold % symbols)"},
    {.name = "job-name",
     .letter = 'J',
     .argument = OptionArgument::kRequired,
     .environment = "SBATCH_JOB_NAME SLURM_JOB_NAME",
     .tier = 1,
     .set = set_name,
     .section = OptionSection::kRun,
     .value_name = "jobname",
     .help = "name of the job"},
    {.name = "kill-on-invalid-dep",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch,
     .tier = 2,
     .set = set_invalid_dependency,
     .section = OptionSection::kRun,
     .value_name = "yes|no",
     .help = "end the job when its dependency can never be met"},
    {.name = "licenses",
     .letter = 'L',
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_text<&JobSpec::licenses>,
     .section = OptionSection::kRun,
     .value_name = "names",
     .help = "licenses the job holds, as name:count"},
    {.name = "mail-type",
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_mail_type,
     .section = OptionSection::kRun,
     .value_name = "type",
     .help = "mail at these events: BEGIN, END, FAIL, ALL and others"},
    {.name = "mail-user",
     .argument = OptionArgument::kRequired,
     .tier = 1,
     .set = set_text<&JobSpec::mail_user>,
     .section = OptionSection::kRun,
     .value_name = "user",
     .help = "who gets the mail"},
    {.name = "mcs-label",
     .argument = OptionArgument::kRequired,
     .status = OptionStatus::kAccepted,
     .subject = "MCS labels",
     .set = set_text<&JobSpec::mcs_label>,
     .section = OptionSection::kRun,
     .value_name = "mcs",
     .help = "security label of the job"},
    {.name = "open-mode",
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .environment = "SBATCH_OPEN_MODE SLURM_OPEN_MODE",
     .tier = 1,
     .set = set_open_mode,
     .section = OptionSection::kRun,
     .value_name = "append|truncate",
     .help = "how output files that exist are opened"},
    {.name = "output",
     .letter = 'o',
     .argument = OptionArgument::kRequired,
     .commands = kSbatch | kSrun,
     .environment = "SBATCH_OUTPUT SLURM_STDOUTMODE SRUN_OUTPUT",
     .tier = 1,
     .set = set_stream<&JobSpec::std_out>,
     .section = OptionSection::kRun,
     .value_name = "out",
     .help = "file for standard output (may hold % symbols)"},
    {.name = "partition",
     .letter = 'p',
     .argument = OptionArgument::kRequired,
     .environment = "*_PARTITION",
     .tier = 1,
     .set = set_partition,
     .section = OptionSection::kRun,
     .value_name = "partition",
     .help = "partition, or several separated by commas"},
    {.name = "qos",
     .letter = 'q',
     .argument = OptionArgument::kRequired,
     .environment = "*_QOS",
     .tier = 1,
     .set = set_qos,
     .section = OptionSection::kRun,
     .value_name = "qos",
     .help = "quality of service"},
    {.name = "reservation",
     .argument = OptionArgument::kRequired,
     .environment = "*_RESERVATION",
     .tier = 1,
     .set = set_text<&JobSpec::reservation>,
     .section = OptionSection::kConstraint,
     .value_name = "name",
     .help = "use the resources of this reservation"},
    {.name = "time",
     .letter = 't',
     .argument = OptionArgument::kRequired,
     .environment = "*_TIMELIMIT",
     .tier = 1,
     .set = set_minutes<&JobSpec::time_limit>,
     .section = OptionSection::kRun,
     .value_name = "minutes",
     .help = "time limit"},
    {.name = "time-min",
     .argument = OptionArgument::kRequired,
     .tier = 2,
     .set = set_minutes<&JobSpec::time_min>,
     .section = OptionSection::kRun,
     .value_name = "minutes",
     .help = "least time limit the job may be given to start earlier"},
    {.name = "uid",
     .argument = OptionArgument::kRequired,
     .set = set_identity<&SubmitSettings::user>,
     .section = OptionSection::kRun,
     .value_name = "user",
     .help = "user to run the job as (root only)"},
    {.name = "wckey",
     .argument = OptionArgument::kRequired,
     .environment = "*_WCKEY",
     .tier = 2,
     .set = set_text<&JobSpec::wckey>,
     .section = OptionSection::kRun,
     .value_name = "wckey",
     .help = "workload key the job is accounted under"},
};

}  // namespace

std::span<const SubmitOption> job_rows() { return kRows; }

}  // namespace sluice::submit
