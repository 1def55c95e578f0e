#include "cli/compatibility.hpp"

namespace sluice::cli {
namespace {

// By subject, in the words of a command line that shows the difference.
constexpr CompatibilityDifference kDifferences[] = {
    // updates, and values that are refused
    {"scontrol update", "`Nice=`, `ArrayTaskThrottle=`, `SiteFactor=` and `Switches=` refuse what is no number", "takes it as 0 or in part"},
    {"scontrol update", "`ArrayTaskThrottle=` of a job that is no array is refused", "takes it"},
    {"scontrol update", "an unknown name in a list of nodes, or a value that does not fit a node, changes nothing", "changes what it can"},
    {"scontrol update", "a bad `Gres=` or `TresPerNode=` is refused in other words", ""},
    {"scontrol update", "`Gres=gpu:0` is shown as no GRES", ""},
    {"scontrol update", "`MinMemory=` takes `2G`", "takes megabytes alone"},
    {"scontrol update", "`NumCPUs` follows `NumTasks`", "keeps it"},
    {"scontrol update", "`Deadline=` of a held job is compared with its time limit", "is not"},
    {"scontrol update", "`TimeLimit=0` of a waiting job is one minute", "is no time at all"},
    {"scontrol update", "a job of `-w n1 -n9` keeps its number of nodes when `ReqNodeList` is emptied", "works it out anew"},
    {"scontrol update", "who may not change a job is told \"Access/permission denied\"", "says \"Invalid user id\""},
    {"scontrol show hostnames", "a list that is cut off (`n[1-`) ends with exit code 0", "exits with 1"},
    {"scontrol show step", "a step that is not there is told in other words, by `sattach 1.2.3` as well", ""},
    {"scontrol create reservation", "`NodeCnt=` on named nodes keeps the flag SPEC_NODES", "removes it"},
    {"sbatch", "words after an empty one in a `#SBATCH` line are refused", "passes them over"},
    {"sbatch, srun, salloc", "numbers with blanks or a plus sign (`-n ' 2'`) are refused", "takes them"},
    {"sbatch, srun, salloc", "`map_mem:,` and its like are refused", "takes them"},
    {"sbatch, srun, salloc", "`--usage` lists all options", "lists some of them"},
    // constraints and resources
    {"sbatch, srun, salloc", "`-C` takes counts without brackets, and `[a*1\\|c*2]` and `((a&c))*1`; it refuses `c&`", "refuses the former and takes the latter"},
    {"sbatch, srun, salloc", "`--prefer` passes over counts and brackets", ""},
    {"sbatch, srun, salloc", "`[a*1&b*1]` with `--contiguous` looks at the first node of each feature only", ""},
    {"sbatch, srun, salloc", "shards of one job may come from several GPUs of a node (`Flags=one_sharing` forbids it)", "does so with `MULTIPLE_SHARING_GRES_PJ`"},
    {"sbatch, srun, salloc", "`-m plane=SIZE` never puts more tasks on a node than it has room for", "does"},
    {"srun", "a step that needs more memory than its job has is refused", "waits"},
    {"srun", "an error about `--ntasks-per-node` is told also where SLURM_NTASKS_PER_NODE is what contradicts", ""},
    {"squeue", "NumNodes of a waiting `-n20` is 1", "estimates it"},
    {"squeue", "`-s` with `-A` and `-t` filters steps", "shows all steps"},
    {"salloc", "`-n` with `--ntasks-per-node` keeps `-n` in SLURM_NTASKS", "works it out from the nodes"},
    {"salloc", "`-n1 : -n1 -t 3` gives the first component 3 minutes as well", "gives it the default"},
    // dependencies and arrays
    {"dependencies", "a job that ended and is queued again has an AccrueTime", "has none"},
    {"dependencies", "`aftercorr` is told at once that its partner was cancelled", "is told when the array is over"},
    {"dependencies", "`aftercorr:JOB_1` of an array is met by task 1 alone", "ignores the number"},
    {"dependencies", "the text of an array's dependency may repeat a dependency", "does not"},
    {"dependencies", "a job that ends by `--kill-on-invalid-dep` shows `(unfulfilled)`", "shows `(failed)`"},
    {"scontrol requeuehold", "`state=SpecialExit` shows the reason JobHeldUser", ""},
    // heterogeneous jobs
    {"heterogeneous jobs", "each component has a reason of its own", "shows one for all"},
    {"heterogeneous jobs", "`srun A : B` in a job that is not heterogeneous is refused", "shares out the job's nodes"},
    {"heterogeneous jobs", "`srun --jobid=JOB --het-group=1` from outside runs in the first component; input follows the first component's `-i`", "runs in the component that is named"},
    // signals and ends
    {"scancel", "the text about a step that is not there has the step's name", "has the job's alone"},
    {"scancel", "`-s` of a waiting job says so at once", "tries again for a minute and a half"},
    {"scancel", "`-s` of a suspended job says nothing, and `JOB+0` of a plain job neither", "exits with 228 and 58"},
    {"srun", "tasks behind a SrunProlog that fails never begin", "launches and kills them"},
    {"srun", "`DUE TO …` is told after a TERM as well", "is not told then"},
    {"srun", "a step that its limit ends is told \"Job step aborted\"", "says \"Force Terminated\""},
    {"srun", "a script that ends while its background srun runs takes the step with it at once", "lets KillWait pass"},
    {"srun", "`--export` and `--export=NIL` treat quotes and HOME otherwise", ""},
    {"srun", "`--task-prolog` may be a relative path, and `--propagate` takes names in any case", "does not take them"},
    {"srun", "lines of `--multi-prog` that end in a backslash are joined with one blank less", "keeps it"},
    {"srun", "parallel debuggers find no symbols (MPIR)", "has them"},
    {"srun", "a job's next step may be told once that its node is busy after a restart of the agent", "is not"},
    {"mails", "a requeue by RequeueExit is mailed", "is not"},
    // files
    {"names of files", "`%N` is the name of the node where slurm.conf has several nodes on one host, and `%4%` is `%`", "has one file for all"},
    // administration
    {"priority", "without `PriorityType` and `PriorityWeight…` priorities are those of priority/basic, as in 22.05", "is priority/multifactor since 24.05"},
    {"preemption", "`sbatch --test-only` does not name whom the job would preempt", "names them"},
    {"preemption", "jobs on shared cores (OverSubscribe) have whole cores made free for them", ""},
    {"power saving", "a job's time limit counts while its nodes boot", "starts when they are up"},
    {"power saving", "features of sleeping nodes are not changed for a job", ""},
    {"reconfigure", "warnings are in the controller's log alone", ""},
};

}  // namespace

std::span<const CompatibilityDifference> compatibility_differences() { return kDifferences; }

}  // namespace sluice::cli
