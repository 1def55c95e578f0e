// Which test holds each submit option to what it does, where it is seen on a running cluster.
#include "common/tables/submit_setters.hpp"

namespace sluice::submit {
namespace {

struct Row {
  std::string_view option;
  std::string_view test;
};
constexpr Row kTests[] = {
    {"array", "system:batch test_array_tasks_run_each_once"},
    {"error", "system:batch test_streams_go_where_they_were_sent"},
    {"hold", "system:batch test_hold_and_release"},
    {"immediate", "system:interactive Srun.test_busy_resources_are_waited_for"},
    {"input", "system:interactive Srun.test_standard_input"},
    {"job-name", "system:batch test_output_and_environment"},
    {"jobid", "system:interactive Salloc.test_no_shell"},
    {"kill-command", "system:interactive Salloc.test_revoked"},
    {"kill-on-bad-exit", "system:interactive Srun.test_bad_exit_ends_the_step"},
    {"label", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"multi-prog", "system:interactive Srun.test_multi_prog"},
    {"no-shell", "system:interactive Salloc.test_no_shell"},
    {"nodes", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"ntasks", "system:interactive Srun.test_tasks_over_nodes_with_labels"},
    {"output", "system:interactive Srun.test_output_files"},
    {"pty", "system:interactive Srun.test_terminal"},
    {"test-only", "system:interactive Srun.test_test_only"},
    {"time", "system:batch test_time_limit"},
    {"wait", "system:batch test_wait_gives_the_exit_code"},
    {"wrap", "system:batch test_streams_go_where_they_were_sent"},
    {"help", "golden:submit_help"},
    {"usage", "golden:submit_help"},
    {"version", "golden:sbatch_options"},
};
constexpr std::string_view kGeneral =
    "tables:SubmitOptionsTest.EveryOptionThatActsChangesWhatIsSubmitted";

}  // namespace

std::string_view test_of(std::string_view option) {
  for (const Row& row : kTests) {
    if (row.option == option) return row.test;
  }
  return kGeneral;
}

}  // namespace sluice::submit
