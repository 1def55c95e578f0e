// The options of sbatch, srun and salloc: one row per option serves the command line, #SBATCH
// lines, the input environment, --help, --usage and the compatibility list. Reading argv and the
// process's environment is the commands' affair (cli/options/option_parser.hpp); rows only turn a
// value into what is submitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/job_spec.hpp"
#include "common/model/step.hpp"

namespace sluice {

// Which of the three commands, a bit each; an index (0, 1, 2) where one of them is meant.
using CommandSet = uint8_t;
inline constexpr CommandSet kSbatch = 1;
inline constexpr CommandSet kSrun = 2;
inline constexpr CommandSet kSalloc = 4;
inline constexpr CommandSet kEverySubmitter = kSbatch | kSrun | kSalloc;

enum class OptionArgument : uint8_t { kNone, kRequired, kOptional };

enum class OptionStatus : uint8_t {
  kActs,      // does what Slurm's does
  kAccepted,  // taken and checked, changes nothing
  kMissing,   // taken so that scripts go on; the feature is not there yet
};

enum class OptionSection : uint8_t {
  kHidden,  // not in --help: old spellings and options for wrappers
  kRun,
  kConstraint,
  kConsumable,
  kAffinity,
  kGpu,
  kHelp,
  kOther,
};

// What the commands do themselves; the rest of a request is in its specs. 0 or empty: not given.
struct SubmitSettings {
  uint32_t verbose = 0;  // -v, counted
  bool quiet = false;
  bool test_only = false;
  bool parsable = false;
  std::string export_list;  // --export as given
  bool export_given = false;
  std::string export_file;        // a path, or a number: a file descriptor
  std::string node_file;          // --nodefile, or --nodelist with a path
  bool node_file_option = false;  // it was --nodefile
  bool node_info_given = false;   // --extra-node-info
  std::string excluded_file;      // --exclude with a path
  std::string burst_buffer_file;
  std::string user, group;               // --uid, --gid: a name or number
  std::optional<std::string> propagate;  // names of limits; "ALL" without a value
  std::optional<uint32_t> immediate_seconds;
  std::optional<bool> wait_all_nodes;  // unset: SchedulerParameters says
  bool delay_boot_given = false;       // else SchedulerParameters says
  bool name_given = false;             // --job-name on the command line
  std::string gpus_per_node;           // --gpus-per-node, which --gres also says

  // sbatch
  bool wait_for_end = false;
  std::optional<std::string> wrap;
  bool ignore_pbs = false;

  // salloc
  std::optional<bool> bell;
  bool no_shell = false;
  std::optional<uint32_t> kill_signal;

  // srun
  uint32_t job_id = 0;
  uint32_t threads = 0;
  bool disable_status = false;
  bool quit_on_interrupt = false;
  bool multi_prog = false;
  bool debugger_test = false;  // say which program each task runs
  bool no_allocate = false;
  IndexSet het_groups;                   // --het-group: components of the job; empty: not given
  std::optional<std::string> broadcast;  // --bcast; empty: under a name of its own
  std::optional<std::string> broadcast_exclude;
  std::optional<std::string> compress;  // as given
  std::optional<bool> send_libraries;
  std::vector<int> ignored_signals;
  uint32_t message_seconds = 0;     // --msg-timeout
  bool nodes_inherited = false;     // --nodes is the count of the allocation that srun is in
  bool exclusive_step = false;      // --exclusive: CPUs of its own when in an allocation
  bool exact_by_exclusive = false;  // and nothing else says that the step is exact
  std::string prolog, epilog;
};

struct Submission {
  JobSpec job;
  StepSpec step;  // what only a step has; make_step() adds what it shares with a job
  SubmitSettings settings;
};

// Why a value is refused.
struct OptionProblem {
  std::vector<std::string> errors;  // each shown as `COMMAND: error: TEXT`
  int exit_status = 255;
  // shown first and bare; on stdout when it is all that was asked for (--mpi=list)
  std::string print;
};
using OptionResult = tl::expected<void, OptionProblem>;

struct SubmitOption;

// One use of an option.
struct OptionInput {
  const SubmitOption* option = nullptr;
  bool has_value = false;
  std::string value;
  CommandSet command = kSbatch;
  bool from_environment = false;
  uint32_t count = 1;  // how often it was given
  Time now = kNoTime;
  std::string_view folder;         // where the command was started
  bool by_root = true;             // who started it
  bool (*binds_cpus)() = nullptr;  // whether the cluster does: TaskPlugin; null: yes
  std::vector<std::string> (*gres_types)() = nullptr;  // GresTypes of the cluster; null: none
};

using OptionSetter = OptionResult (*)(Submission&, const OptionInput&);

struct SubmitOption {
  std::string_view name;
  char letter = 0;
  OptionArgument argument = OptionArgument::kNone;
  CommandSet commands = kEverySubmitter;
  CommandSet no_argument_for = 0;  // these commands take none (sbatch -W)
  // Variables that stand for it, separated by blanks; a later one wins. `*_ACCOUNT` is
  // SBATCH_ACCOUNT for sbatch, SLURM_ACCOUNT for srun and SALLOC_ACCOUNT for salloc; a whole name
  // counts for the command of its prefix (SLURM_ and SRUN_ for srun), or for all with a plus before
  // it.
  std::string_view environment = {};
  // Those of them, written in the same way, that count as not set when they are empty. With the
  // others nothing is a value like any other: most options that need one refuse it.
  std::string_view unset_if_empty = {};
  uint8_t tier = 3;
  OptionStatus status = OptionStatus::kActs;
  // of one that does not act: what it belongs to, or why there is nothing to do
  std::string_view subject = {};
  bool in_script = true;  // allowed on #SBATCH lines (others are read there and have no effect)
  OptionSetter set = nullptr;
  OptionSection section = OptionSection::kHidden;
  std::string_view value_name = {};  // as --help shows it: "ncpus", "[=rlimits]" keeps its brackets
  std::string_view help = {};

  [[nodiscard]] OptionArgument argument_of(CommandSet command) const {
    return (no_argument_for & command) != 0 ? OptionArgument::kNone : argument;
  }
};

// All rows, by name.
[[nodiscard]] const std::vector<SubmitOption>& submit_options();
[[nodiscard]] const SubmitOption* find_submit_option(std::string_view name, CommandSet command);
// The test that fails when the command ignores an option that acts; see submit_tests.cpp.
[[nodiscard]] std::string_view test_of(const SubmitOption& option, CommandSet command);
// The variables of one command, in rising precedence.
[[nodiscard]] std::vector<std::string> option_variables(const SubmitOption& option,
                                                        CommandSet command);

// Those of them that count as not set when they are empty.
[[nodiscard]] std::vector<std::string> variables_unset_if_empty(const SubmitOption& option,
                                                                CommandSet command);

// Whether an option that one component of a heterogeneous job gives counts for the later ones, too,
// unless they give it.
[[nodiscard]] bool carries_over(std::string_view option);

// Whether a variable's text switches on an option that takes no value ("0", "no", "off" do not).
[[nodiscard]] bool flag_is_on(std::string_view text);

// Checks that need more than one option, and what follows from several: warnings go to `warnings`.
[[nodiscard]] OptionResult finish_submission(Submission& submission, CommandSet command,
                                             std::vector<std::string>& warnings);

// What slurm.conf says where no option does, and options that it does not allow: they are dropped
// with a warning.
void follow_config(Submission& submission, const ClusterConfig& config,
                   std::vector<std::string>& warnings);

// The governor of --cpu-freq must be one of CpuFreqGovernors. From here on the request has its
// usual spelling.
[[nodiscard]] OptionResult settle_cpu_frequency(Submission& submission,
                                                const std::vector<std::string>& governors);

// kInvalidGres when the job asks for generic resources of other types than the cluster's.
[[nodiscard]] Status check_gres(const JobSpec& job, const std::vector<std::string>& types);

// The step that an srun with these options asks for; the program is not set yet.
[[nodiscard]] StepSpec make_step(const Submission& submission);

// --help and --usage of a command; `name` is sbatch, srun or salloc.
[[nodiscard]] std::string submit_help(CommandSet command);
[[nodiscard]] std::string submit_usage(CommandSet command);
[[nodiscard]] std::string_view submit_command_name(CommandSet command);

}  // namespace sluice
