// What commands ask the controller only to see it: jobs, nodes and partitions, licenses, the
// configuration, a job's script. A part of ctld.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/model/job.hpp"
#include "common/model/job_update.hpp"
#include "common/model/node.hpp"

namespace sluice::protocol {

// Filters are joined with "and"; an empty list filters nothing.
struct QueryJobsRequest {
  static constexpr uint32_t kRetired[] = {14};
  static constexpr std::string_view kMethod = "Controller/QueryJobs";
  using Chunk = struct JobChunk;
  std::vector<std::string> ids;  // 12, 12_3, 12_[1-4], 12+1
  std::vector<uint32_t> uids;
  std::vector<std::string> partitions, accounts, qos, names, licenses, reservations;
  std::vector<JobState> states;  // base states; with flag_states empty too: squeue's default
  JobFlags flag_states = 0;      // or any of these flags
  bool all_states = false;
  bool hidden_partitions = false;  // -a
  bool steps = false;              // fill Job::steps
  std::string nodes;               // host list: jobs that use one of them
  bool missing_is_error = true;    // one id alone that is unknown: kInvalidJobId
  std::vector<std::string> wckeys;
  template <class V>
  static void describe(V&& field) {
    field(1, "ids", &QueryJobsRequest::ids);
    field(2, "uids", &QueryJobsRequest::uids);
    field(3, "partitions", &QueryJobsRequest::partitions);
    field(4, "accounts", &QueryJobsRequest::accounts);
    field(5, "qos", &QueryJobsRequest::qos);
    field(6, "names", &QueryJobsRequest::names);
    field(7, "licenses", &QueryJobsRequest::licenses);
    field(8, "reservations", &QueryJobsRequest::reservations);
    field(9, "states", &QueryJobsRequest::states);
    field(10, "flag_states", &QueryJobsRequest::flag_states);
    field(11, "all_states", &QueryJobsRequest::all_states);
    field(12, "hidden_partitions", &QueryJobsRequest::hidden_partitions);
    field(13, "steps", &QueryJobsRequest::steps);
    field(15, "nodes", &QueryJobsRequest::nodes);
    field(16, "missing_is_error", &QueryJobsRequest::missing_is_error);
    field(17, "wckeys", &QueryJobsRequest::wckeys);
  }
};
struct JobRecord {
  Job job;
  SchedulerHints soft;
  std::string batch_host;
  std::string dependency;  // what is left of it, as squeue shows it
  std::string required_tres, allocated_tres;
  // what it gets where it asked for no memory; kDefault: all of a node's
  MemoryKind default_memory_kind = MemoryKind::kDefault;
  uint64_t default_memory_mib = 0;
  bool shares_by_force = false;  // asked for nothing, in a partition of OverSubscribe=FORCE
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobRecord::job);
    field(2, "soft", &JobRecord::soft);
    field(3, "batch_host", &JobRecord::batch_host);
    field(4, "dependency", &JobRecord::dependency);
    field(5, "required_tres", &JobRecord::required_tres);
    field(6, "allocated_tres", &JobRecord::allocated_tres);
    field(7, "default_memory_kind", &JobRecord::default_memory_kind);
    field(8, "default_memory_mib", &JobRecord::default_memory_mib);
    field(9, "shares_by_force", &JobRecord::shares_by_force);
  }
};
struct JobChunk {  // streamed
  std::vector<JobRecord> jobs;
  Time now = kNoTime;  // the controller's clock
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &JobChunk::jobs);
    field(2, "now", &JobChunk::now);
  }
};

struct QueryNodesRequest {
  static constexpr std::string_view kMethod = "Controller/QueryNodes";
  using Reply = struct QueryNodesReply;
  std::string nodes;  // host list; empty: all
  // What the answer is for: with PrivateData the other part may be missing from it.
  bool nodes_only = false;
  bool partitions_only = false;
  // -a: those that the user is not shown otherwise, and their nodes
  bool hidden_partitions = false;
  bool powered_down = false;  // scontrol -F: nodes of a cloud that are off, too
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &QueryNodesRequest::nodes);
    field(2, "nodes_only", &QueryNodesRequest::nodes_only);
    field(3, "partitions_only", &QueryNodesRequest::partitions_only);
    field(4, "hidden_partitions", &QueryNodesRequest::hidden_partitions);
    field(5, "powered_down", &QueryNodesRequest::powered_down);
  }
};
struct NodeRecord {
  Node node;
  NodeSoft soft;
  uint32_t used_cpus = 0;
  uint64_t used_memory_mib = 0;
  uint32_t running_jobs = 0;
  uint32_t completing_jobs = 0;
  NodeBaseState shown_base = NodeBaseState::kUnknown;  // with ALLOCATED, MIXED worked out
  NodeFlags shown_flags = 0;
  std::vector<std::string> partitions;
  GresShares used_gres;
  std::string reservation;  // that holds now
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeRecord::node);
    field(2, "soft", &NodeRecord::soft);
    field(3, "used_cpus", &NodeRecord::used_cpus);
    field(4, "used_memory_mib", &NodeRecord::used_memory_mib);
    field(5, "running_jobs", &NodeRecord::running_jobs);
    field(6, "completing_jobs", &NodeRecord::completing_jobs);
    field(7, "shown_base", &NodeRecord::shown_base);
    field(8, "shown_flags", &NodeRecord::shown_flags);
    field(9, "partitions", &NodeRecord::partitions);
    field(10, "used_gres", &NodeRecord::used_gres);
    field(300, "reservation", &NodeRecord::reservation);
  }
};
struct PartitionRecord {
  PartitionConfig config;
  std::string node_list;
  uint32_t total_cpus = 0;
  uint32_t total_nodes = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &PartitionRecord::config);
    field(2, "node_list", &PartitionRecord::node_list);
    field(3, "total_cpus", &PartitionRecord::total_cpus);
    field(4, "total_nodes", &PartitionRecord::total_nodes);
  }
};
struct QueryNodesReply {  // also serves sinfo: both in one answer
  std::vector<NodeRecord> nodes;
  std::vector<PartitionRecord> partitions;
  Time now = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &QueryNodesReply::nodes);
    field(2, "partitions", &QueryNodesReply::partitions);
    field(3, "now", &QueryNodesReply::now);
  }
};

struct QueryLicensesRequest {
  static constexpr std::string_view kMethod = "Controller/QueryLicenses";
  using Reply = struct QueryLicensesReply;
  template <class V>
  static void describe(V&&) {}
};
struct LicenseRecord {
  std::string name;
  uint64_t total = 0;
  uint64_t used = 0;      // by all jobs, whoever asks
  uint64_t reserved = 0;  // by reservations that hold now
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &LicenseRecord::name);
    field(2, "total", &LicenseRecord::total);
    field(3, "used", &LicenseRecord::used);
    field(4, "reserved", &LicenseRecord::reserved);
  }
};
struct QueryLicensesReply {
  std::vector<LicenseRecord> licenses;  // by name
  template <class V>
  static void describe(V&& field) {
    field(1, "licenses", &QueryLicensesReply::licenses);
  }
};
struct QueryConfigRequest {
  static constexpr std::string_view kMethod = "Controller/QueryConfig";
  using Reply = struct QueryConfigReply;
  template <class V>
  static void describe(V&&) {}
};
struct QueryConfigReply {
  ClusterConfig config;
  Time boot_time = kNoTime;
  uint32_t next_job_id = 0;
  std::string host;
  std::string config_path;
  std::map<std::string, std::string> runtime;  // further values of scontrol show config
  Time now = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &QueryConfigReply::config);
    field(2, "boot_time", &QueryConfigReply::boot_time);
    field(3, "next_job_id", &QueryConfigReply::next_job_id);
    field(4, "host", &QueryConfigReply::host);
    field(5, "config_path", &QueryConfigReply::config_path);
    field(6, "runtime", &QueryConfigReply::runtime);
    field(7, "now", &QueryConfigReply::now);
  }
};

struct PingRequest {
  static constexpr std::string_view kMethod = "Controller/Ping";
  using Reply = struct PingReply;
  template <class V>
  static void describe(V&&) {}
};
struct PingReply {
  std::string host;
  std::string version;
  std::string mode;  // primary, backup
  // how to prove who asks, for callers that have no slurm.conf
  std::string cluster;
  std::string auth_type;
  std::string auth_socket;  // AuthInfo=socket=…; empty: the usual one
  uint32_t slurm_user = 0;
  uint32_t protocol_version = 0;  // protocol_version.hpp
  template <class V>
  static void describe(V&& field) {
    field(1, "host", &PingReply::host);
    field(2, "version", &PingReply::version);
    field(3, "mode", &PingReply::mode);
    field(4, "cluster", &PingReply::cluster);
    field(5, "auth_type", &PingReply::auth_type);
    field(6, "auth_socket", &PingReply::auth_socket);
    field(7, "slurm_user", &PingReply::slurm_user);
    field(8, "protocol_version", &PingReply::protocol_version);
  }
};

struct BatchScriptRequest {
  static constexpr std::string_view kMethod = "Controller/BatchScript";
  using Reply = struct BatchScriptReply;
  JobId job = kNoJob;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &BatchScriptRequest::job);
  }
};
struct BatchScriptReply {
  std::string script;
  template <class V>
  static void describe(V&& field) {
    field(1, "script", &BatchScriptReply::script);
  }
};

// sluice explain JOB: lines in words, and the change that would let the job start.
struct ExplainRequest {
  static constexpr std::string_view kMethod = "Controller/Explain";
  using Reply = struct ExplainReply;
  std::string job;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &ExplainRequest::job);
  }
};
struct ExplainReply {
  std::vector<std::string> lines;
  std::optional<JobUpdate> change;
  template <class V>
  static void describe(V&& field) {
    field(1, "lines", &ExplainReply::lines);
    field(2, "change", &ExplainReply::change);
  }
};

}  // namespace sluice::protocol
