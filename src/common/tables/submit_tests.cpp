// Which test holds each submit option to what it does, where it is seen on a running cluster.
#include "common/tables/submit_options.hpp"

namespace sluice {
namespace {

struct Row {
  std::string_view option;
  std::string_view test;
  CommandSet commands = kEverySubmitter;
};
constexpr std::string_view kNodesTest = "system:submit_options test_which_nodes";
constexpr std::string_view kSizeTest = "system:submit_options test_how_much";
constexpr std::string_view kKeptTest = "system:submit_options test_what_is_kept";
constexpr Row kTests[] = {
    {"account", kKeptTest},
    {"array", "system:batch test_array_tasks_run_each_once"},
    {"begin", "system:submit_options test_times"},
    {"bell", "system:salloc_options test_bell"},
    {"chdir", kKeptTest},
    {"cluster", "system:sbatch_options test_what_is_said", kSbatch},
    {"cluster", "system:submit_options test_unknown_cluster", kSrun | kSalloc},
    {"clusters", "system:sbatch_options test_what_is_said", kSbatch},
    {"clusters", "system:submit_options test_unknown_cluster", kSrun | kSalloc},
    {"comment", kKeptTest},
    {"constraint", kNodesTest},
    {"contiguous", kNodesTest},
    {"cores-per-socket", kNodesTest},
    {"cpu-bind", "system:srun_options test_cpu_bind"},
    {"cpu_bind", "system:srun_options test_cpu_bind"},
    {"cpus-per-task", kSizeTest},
    {"deadline", "system:submit_options test_times"},
    {"dependency", "system:sbatch_options test_dependencies", kSbatch},
    {"dependency", "system:submit_options test_dependency", kSrun | kSalloc},
    {"disable-status", "system:srun_options test_signals"},
    {"distribution", "system:srun_options test_distribution_over_nodes", kSrun},
    {"distribution", kSizeTest},
    {"epilog", "system:srun_options test_programs_around_it"},
    {"error", "system:batch test_streams_go_where_they_were_sent"},
    {"exact", "system:srun_options test_steps_of_a_job"},
    {"exclude", kNodesTest},
    {"exclusive", "system:srun_options test_steps_of_a_job", kSrun},
    {"exclusive", kSizeTest},
    {"export", "system:sbatch_options test_environment", kSbatch},
    {"export", "system:srun_options test_environment", kSrun},
    {"export-file", "system:sbatch_options test_environment", kSbatch},
    {"extra", kKeptTest},
    {"extra-node-info", kNodesTest},
    {"get-user-env", "system:sbatch_options test_environment", kSbatch},
    {"gid", "system:users test_root_runs_jobs_as_others"},
    {"hold", "system:submit_options test_hold"},
    {"ignore-pbs", "system:sbatch_options test_foreign_directives", kSbatch},
    {"immediate", "system:interactive Srun.test_busy_resources_are_waited_for"},
    {"input", "system:interactive Srun.test_standard_input"},
    {"interactive", "system:interactive Salloc.test_interactive_shell_runs_on_the_node"},
    {"job-name", kKeptTest},
    {"jobid", "system:interactive Salloc.test_no_shell"},
    {"kill-command", "system:interactive Salloc.test_revoked"},
    {"kill-on-bad-exit", "system:interactive Srun.test_bad_exit_ends_the_step"},
    {"kill-on-invalid-dep", "system:sbatch_options test_dependencies", kSbatch},
    {"label", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"mail-type", "system:sbatch_options test_mail", kSbatch},
    {"mail-type", kKeptTest},
    {"mail-user", "system:sbatch_options test_mail", kSbatch},
    {"mail-user", kKeptTest},
    {"mem", kNodesTest},
    {"mem-per-cpu", kNodesTest},
    {"mincpus", kNodesTest},
    {"multi-prog", "system:interactive Srun.test_multi_prog"},
    {"nice", kKeptTest},
    {"no-bell", "system:salloc_options test_bell"},
    {"mpi", "system:mpi Mpich.test_srun", kSrun},
    {"no-kill", "system:sbatch_options test_node_failure", kSbatch},
    {"no-kill", "system:srun_options test_node_failure", kSrun},
    {"no-kill", "system:salloc_options test_node_failure", kSalloc},
    {"no-requeue", "system:submit_options test_no_requeue"},
    {"no-shell", "system:interactive Salloc.test_no_shell"},
    {"nodefile", kNodesTest},
    {"nodelist", kNodesTest},
    {"nodes", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"ntasks", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"ntasks-per-core", kSizeTest},
    {"ntasks-per-node", kSizeTest},
    {"ntasks-per-socket", kSizeTest},
    {"open-mode", "system:sbatch_options test_files", kSbatch},
    {"open-mode", "system:srun_options test_output", kSrun},
    {"output", "system:interactive Srun.test_output_files"},
    {"overcommit", kSizeTest},
    {"overlap", "system:srun_options test_steps_of_a_job"},
    {"parsable", "system:sbatch_options test_what_is_said", kSbatch},
    {"partition", kNodesTest},
    {"preserve-env", "system:srun_options test_environment"},
    {"priority", kKeptTest},
    {"prolog", "system:srun_options test_programs_around_it"},
    {"propagate", "system:sbatch_options test_propagated_limits", kSbatch},
    {"propagate", "system:srun_options test_environment", kSrun},
    {"pty", "system:interactive Srun.test_terminal"},
    {"qos", kKeptTest},
    {"quiet", "system:sbatch_options test_what_is_said", kSbatch},
    {"quiet", "system:srun_options test_what_is_said", kSrun},
    {"quiet", "system:salloc_options test_what_is_said", kSalloc},
    {"quit-on-interrupt", "system:srun_options test_signals"},
    {"relative", "system:srun_options test_steps_of_a_job"},
    {"requeue", "system:sbatch_options test_requeue", kSbatch},
    {"signal", "system:sbatch_options test_signals_before_the_end", kSbatch},
    {"signal", "system:srun_options test_signals", kSrun},
    {"signal", "system:salloc_options test_signal", kSalloc},
    {"sockets-per-node", kNodesTest},
    {"spread-job", kSizeTest},
    {"task-epilog", "system:srun_options test_programs_around_it"},
    {"task-prolog", "system:srun_options test_programs_around_it"},
    {"tasks-per-node", kSizeTest},
    {"test-only", "system:interactive Srun.test_test_only"},
    {"threads-per-core", kNodesTest},
    {"time", kKeptTest},
    {"time-min", kKeptTest},
    {"tmp", kNodesTest},
    {"tres-per-task", kSizeTest},
    {"uid", "system:users test_root_runs_jobs_as_others"},
    {"unbuffered", "system:srun_options test_output"},
    {"use-min-nodes", kSizeTest},
    {"verbose", "system:sbatch_options test_what_is_said", kSbatch},
    {"verbose", "system:srun_options test_what_is_said", kSrun},
    {"verbose", "system:salloc_options test_what_is_said", kSalloc},
    {"wait", "system:batch test_wait_gives_the_exit_code"},
    {"wckey", kKeptTest},
    {"whole", "system:srun_options test_steps_of_a_job"},
    {"wrap", "system:batch test_streams_go_where_they_were_sent"},
    {"help", "golden:submit_help"},
    {"usage", "golden:submit_help"},
    {"version", "golden:sbatch_options"},
};
constexpr std::string_view kGeneral =
    "tables:SubmitOptionsTest.EveryOptionThatActsChangesWhatIsSubmitted";

}  // namespace

std::string_view test_of(const SubmitOption& option, CommandSet command) {
  if (option.status != OptionStatus::kActs) return {};
  for (const Row& row : kTests) {
    if (row.option == option.name && (row.commands & command) != 0) return row.test;
  }
  return kGeneral;
}

}  // namespace sluice
