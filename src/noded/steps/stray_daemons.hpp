// Step daemons of this node of which its spool folder tells nothing: the folder was lost, or is
// another one now. What they run would go on beside what the controller orders anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/base/ids.hpp"
#include "noded/process/process_mark.hpp"

namespace sluice::noded {

// Whose daemons are meant.
struct DaemonOwner {
  std::string node_name;
  std::string spool_dir;
  std::string config_path;
  std::string cluster_id;  // empty: not known yet
  std::string spool_id;    // likewise
};

struct StepDaemon {
  ProcessMark process;
  std::string step;  // "5.batch"
};

// What a step daemon calls itself.
[[nodiscard]] std::string daemon_name(const StepId& id);
// Whether the process is that step's daemon still, and not another one that has its number now.
[[nodiscard]] bool is_step_daemon(pid_t pid, const StepId& id, const std::string& spool_dir);

// What /proc says of a process that matters here.
struct ProcessTexts {
  std::string_view command_line;  // of words that end with NUL, as the next one
  std::string_view environment;
  std::string_view program;  // its path
  std::string_view status;
};

// The name of the step whose daemon this is; empty: it is none of this owner's. Only what no user
// can make up counts: who started the process (`uid`, the agent's), with which program and
// environment. Of this owner is who has its node's name, and its cluster's id; where one of them
// does not know that, its folder or its slurm.conf. Those of this very spool folder are told of
// there, or will be in a moment: they are not meant.
[[nodiscard]] std::string step_of_daemon(const ProcessTexts& texts, const DaemonOwner& owner,
                                         uint32_t uid);

// Those that run on this host now.
[[nodiscard]] std::vector<StepDaemon> find_step_daemons(const DaemonOwner& owner);

// Ends the daemon and all that runs below it, whoever's that is, so that nothing gets away; waits
// for that a moment. How many processes there were below it.
size_t end_with_tasks(const ProcessMark& daemon);
// The same for a daemon that does not do as it was told, and a line in the log, where all below it
// can be killed. Else it goes on: it knows what is left.
void end_deaf(pid_t daemon, const StepId& step);
// Sends SIGSTOP or SIGCONT to all that runs below a daemon that does not do so, and says it in the
// log. Who is born meanwhile is stopped, too.
void signal_below(pid_t daemon, const StepId& step, int signal);

}  // namespace sluice::noded
