// Which options a heterogeneous job's component hands on to the next: what is about the job as a
// whole rather than about what each component needs.
#include <algorithm>
#include <array>

#include "common/submit/submit_options.hpp"

namespace sluice {
namespace {

constexpr std::array kCarried = {"account",
                                 "acctg-freq",
                                 "begin",
                                 "chdir",
                                 "cluster",
                                 "cluster-constraint",
                                 "clusters",
                                 "comment",
                                 "deadline",
                                 "delay-boot",
                                 "dependency",
                                 "disable-status",
                                 "distribution",
                                 "epilog",
                                 "error",
                                 "exclude",
                                 "export",
                                 "export-file",
                                 "get-user-env",
                                 "gid",
                                 "hold",
                                 "ignore-pbs",
                                 "input",
                                 "job-name",
                                 "kill-on-bad-exit",
                                 "kill-on-invalid-dep",
                                 "label",
                                 "mcs-label",
                                 "mem",
                                 "mpi",
                                 "msg-timeout",
                                 "nice",
                                 "no-allocate",
                                 "no-kill",
                                 "no-requeue",
                                 "open-mode",
                                 "output",
                                 "parsable",
                                 "priority",
                                 "profile",
                                 "prolog",
                                 "propagate",
                                 "pty",
                                 "qos",
                                 "quiet",
                                 "quit-on-interrupt",
                                 "reboot",
                                 "requeue",
                                 "reservation",
                                 "signal",
                                 "slurmd-debug",
                                 "task-epilog",
                                 "task-prolog",
                                 "test-only",
                                 "threads",
                                 "time",
                                 "time-min",
                                 "uid",
                                 "unbuffered",
                                 "verbose",
                                 "wait",
                                 "wait-all-nodes",
                                 "wckey"};

}  // namespace

bool carries_over(std::string_view option) {
  return std::ranges::find(kCarried, option) != kCarried.end();
}

}  // namespace sluice
