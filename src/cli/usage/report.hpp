// What `sluice usage` tells a user: usage, target, shares, limits and the efficiency of jobs. Made
// of what sshare, scontrol show assoc_mgr and sacct are answered; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/sacct/efficiency.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli {

// What of a cluster shares are parts of.
struct ClusterSize {
  uint64_t cpus = 0, cores = 0, gpus = 0;
};
[[nodiscard]] ClusterSize cluster_size(const std::vector<protocol::NodeRecord>& nodes);

// Usage is as fair share counts it: decayed, with what runs.
struct UsedResources {
  double cpu_hours = 0, gpu_hours = 0, core_years = 0, gpu_years = 0;
};
// What a share of the cluster comes to over the period.
struct UsageTarget {
  std::string account;       // whose share it is, where the user has none of their own; else empty
  double cluster_share = 0;  // 0 … 1
  double cores = 0, gpus = 0;  // in use all the time
  double core_years = 0, gpu_years = 0;
  UsedResources used;                          // of whom the share is
  double average_cores = 0, average_gpus = 0;  // that were in use
};
struct UsageAssociation {
  std::string account, partition, raw_shares;
  double norm_shares = 0, effective_usage = 0, factor = 0;
  UsedResources used;
  std::optional<UsageTarget> target;  // none: no period, or no size of the cluster
};
struct UsageLimit {
  std::string owner;  // "account physics", "QOS normal"
  std::string name;   // "GrpTRES cpu"
  std::string unit;   // "MB", "minutes"
  uint64_t limit = 0;
  std::optional<uint64_t> used;  // none: it is of each job
};
struct UsageJob {
  std::string id, name, state;
  JobEfficiency efficiency;
};
struct UsageReport {
  std::string user, cluster;
  Duration period{0};         // that targets are of; 0: none
  std::string period_text;    // which keys of slurm.conf make it
  bool tracks_gpus = false;   // AccountingStorageTRES has gres/gpu
  bool shows_cluster = true;  // its size is known
  bool in_priority = false;   // fair share has a weight
  std::vector<UsageAssociation> associations;
  std::vector<UsageLimit> limits;
  std::vector<UsageJob> jobs;   // the newest first
  std::string history_missing;  // why there are none; empty: these are all
};

// All but the jobs. `all`: of this user, with the accounts and QOS. `partitions`: those that are
// shown to the user.
[[nodiscard]] UsageReport usage_report(
    const std::string& user, const ClusterConfig& config, const protocol::AssocMgrReply& all,
    const ClusterSize& size, const std::vector<protocol::PartitionRecord>& partitions = {});
[[nodiscard]] UsageJob usage_job(const protocol::HistoryJob& record, const SacctContext& context);

}  // namespace sluice::cli
