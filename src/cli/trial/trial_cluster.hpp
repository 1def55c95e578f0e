// A trial cluster on this host: a controller and virtual nodes on loopback, all in one folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cli {

struct TrialOptions {
  // absolute; holds everything: configuration, state, spool, logs, pid files
  std::string dir;
  uint32_t nodes = 4;       // 1 … 4096
  uint32_t cpus = 2;        // per node; more than the host has is fine, they are virtual
  uint64_t memory_mib = 0;  // per node; 0: the host's memory, shared
  std::string extra_conf;   // text added to the written slurm.conf (of --conf)
  bool accounting = true;   // with an accounting daemon, whose database is in the folder
  bool shaped = false;      // the user has named one of the four above
};

struct TrialNodes {
  size_t idle = 0;
  size_t kept_down = 0;  // by DownNodes lines of extra_conf
  size_t later = 0;      // CLOUD and FUTURE ones
  // those that registered and can run nothing: "n[1-2]: gres/gpu count reported lower ..."
  std::vector<std::string> unfit;
  bool own_conf = false;  // slurm.conf is as the user has edited it
};

// The folder used when --dir is not given: $SLUICE_DIR, else ~/.sluice.
[[nodiscard]] std::string default_trial_dir();

// Writes DIR/slurm.conf, of the last time's shape where none is named, unless there is one that was
// edited, and the cluster's key, starts the
// daemons and waits until every node is idle that is not kept down, or is drained, so that waiting
// would not help it. On failure what was started is
// stopped again and the error quotes the daemons' logs.
[[nodiscard]] Result<TrialNodes> start_trial(const TrialOptions& options);

// Stops the daemons and step daemons that run from DIR's slurm.conf, and nothing else. Fine when
// none runs. Returns how many processes were stopped.
[[nodiscard]] Result<uint32_t> stop_trial(const std::string& dir);

}  // namespace sluice::cli
