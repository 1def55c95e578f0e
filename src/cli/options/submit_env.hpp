// What sbatch, srun and salloc tell of the process that called them, and which of its variables
// what they start gets to see.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/environment/environment.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

// This process's variables.
[[nodiscard]] Environment current_environment();

// The variables to send along, as --export and --export-file say. `caller` is what there is to
// choose from. Errors: the file cannot be read (the text is Slurm's).
[[nodiscard]] Result<Environment> exported_environment(const SubmitSettings& settings,
                                                       const Environment& caller);

// Fills in who submits, from where, with which limits and by which command line; values that
// options gave stay.
void fill_caller(Submission& submission, const ClusterConfig& config, int argc, char** argv);

// SLURM_SUBMIT_DIR, SLURM_SUBMIT_HOST and SLURM_PRIO_PROCESS.
void set_caller_variables(Environment& out);

// SLURM_WORKING_CLUSTER, of what sbatch and srun start.
void set_cluster_variable(const ClusterConfig& config, Environment& out);

// The nodes of the file that --nodefile, --nodelist or SLURM_HOSTFILE named; finish_submission()
// needs to know them.
[[nodiscard]] OptionResult read_host_file(Submission& submission);

// Reads the burst buffer's file and looks up users and groups.
[[nodiscard]] OptionResult resolve_outside(Submission& submission);

// The limits to send: pairs of soft and hard by RLIMIT_ number, a pair (1, 0) where the node's own
// limit stays. `names` is the value of --propagate.
[[nodiscard]] std::vector<uint64_t> collect_limits(std::string_view names);

// Empty when it was deleted.
[[nodiscard]] std::string working_folder();
// Says so when it was.
[[nodiscard]] bool has_working_folder(std::string_view command);
// What the options of a step mean to the sruns in the job that sbatch and salloc ask for.
void set_request_variables(const StepSpec& step, Environment& environment);
// A number that no other request has.
[[nodiscard]] uint64_t new_request_id();

}  // namespace sluice::cli
