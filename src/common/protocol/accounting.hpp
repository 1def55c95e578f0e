// What is said to the accounting daemon about history: controllers send records, commands ask for
// them. Its methods are of the service Accounting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/history.hpp"

namespace sluice::protocol {

// Open to all.
struct PingAccountingRequest {
  static constexpr std::string_view kMethod = "Accounting/Ping";
  using Reply = struct PingAccountingReply;
  template <class V>
  static void describe(V&&) {}
};
struct PingAccountingReply {
  std::string host;
  std::string version;
  uint32_t protocol_version = 0;  // protocol_version.hpp
  template <class V>
  static void describe(V&& field) {
    field(1, "host", &PingAccountingReply::host);
    field(2, "version", &PingAccountingReply::version);
    field(3, "protocol_version", &PingAccountingReply::protocol_version);
  }
};

// Records of one controller, in the order in which they came to be: the first has the number
// `first`, the others follow without a gap. Those that the daemon has already are passed over; the
// answer, which comes when all are durable, names the last that it has. Of root and SlurmUser.
struct StoreHistoryRequest {
  static constexpr std::string_view kMethod = "Accounting/StoreHistory";
  using Reply = struct StoreHistoryReply;
  std::string cluster;
  // numbers begin anew in another stream: a state that was begun, or put back from a backup
  std::string stream;
  uint64_t first = 1;
  std::vector<std::string> records;  // encoded HistoryRecords
  std::string control_host;
  uint32_t control_port = 0;
  uint32_t protocol_version = 0;
  std::string cluster_id;      // of the controller's state: one of each ClusterName is let in
  uint64_t known_version = 0;  // of the accounting records that the controller began with
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &StoreHistoryRequest::cluster);
    field(2, "stream", &StoreHistoryRequest::stream);
    field(3, "first", &StoreHistoryRequest::first);
    field(4, "records", &StoreHistoryRequest::records);
    field(5, "control_host", &StoreHistoryRequest::control_host);
    field(6, "control_port", &StoreHistoryRequest::control_port);
    field(7, "protocol_version", &StoreHistoryRequest::protocol_version);
    field(8, "cluster_id", &StoreHistoryRequest::cluster_id);
    field(9, "known_version", &StoreHistoryRequest::known_version);
  }
};
struct StoreHistoryReply {
  uint64_t last = 0;  // all up to it are durable
  template <class V>
  static void describe(V&& field) {
    field(1, "last", &StoreHistoryReply::last);
  }
};

// The highest job id among the last that a cluster was given: a controller whose state is an older
// one, which was put back, goes on behind it. Of root and SlurmUser.
struct QueryLastJobRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryLastJob";
  using Reply = struct QueryLastJobReply;
  std::string cluster;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &QueryLastJobRequest::cluster);
  }
};
struct QueryLastJobReply {
  JobId last = kNoJob;  // kNoJob: it had none
  template <class V>
  static void describe(V&& field) {
    field(1, "last", &QueryLastJobReply::last);
  }
};

// A job that is asked for by number: kNoTask, kNoOffset: all of it.
inline constexpr uint32_t kNoOffset = UINT32_MAX;
struct HistoryJobName {
  JobId job = kNoJob;            // of the job, its array or its heterogeneous job
  uint32_t task = kNoTask;       // "12_3"
  uint32_t offset = kNoOffset;   // "12+1"
  StepNumber step = UINT32_MAX;  // "12.0"; UINT32_MAX: the job with all of them
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &HistoryJobName::job);
    field(2, "task", &HistoryJobName::task);
    field(3, "offset", &HistoryJobName::offset);
    field(4, "step", &HistoryJobName::step);
  }
};
// Least and most, both included; 0 and 0: not asked for.
struct HistoryRange {
  uint32_t least = 0, most = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "least", &HistoryRange::least);
    field(2, "most", &HistoryRange::most);
  }
};

// Jobs that all of these hold for; an empty list: for all. With PrivateData=jobs of slurmdbd.conf
// others' jobs are left out for who is no operator. kAccessDenied: a time longer than
// MaxQueryTimeRange.
struct QueryHistoryRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryHistory";
  using Chunk = struct HistoryChunk;
  std::vector<std::string> clusters;
  std::vector<HistoryJobName> jobs;
  std::vector<uint32_t> uids, gids;
  std::vector<std::string> accounts, partitions, qos, names, wckeys, constraints, reservations;
  // base states and flags (JobFlags) that are asked for; none of both: any state
  std::vector<JobState> states;
  JobFlags flags = 0;
  std::vector<std::string> reasons;
  std::string nodes;  // host list: that had one of them
  // With states: in one of them at some time of this span. Else: eligible before its end, and not
  // over before its beginning.
  Time from = kNoTime, until = kNever;
  HistoryRange cpus, node_count, time_limit;
  bool duplicates = false;  // earlier runs of a job, and earlier jobs of the same number, too
  bool steps = true;
  template <class V>
  static void describe(V&& field) {
    field(1, "clusters", &QueryHistoryRequest::clusters);
    field(2, "jobs", &QueryHistoryRequest::jobs);
    field(3, "uids", &QueryHistoryRequest::uids);
    field(4, "gids", &QueryHistoryRequest::gids);
    field(5, "accounts", &QueryHistoryRequest::accounts);
    field(6, "partitions", &QueryHistoryRequest::partitions);
    field(7, "qos", &QueryHistoryRequest::qos);
    field(8, "names", &QueryHistoryRequest::names);
    field(9, "wckeys", &QueryHistoryRequest::wckeys);
    field(10, "constraints", &QueryHistoryRequest::constraints);
    field(11, "reservations", &QueryHistoryRequest::reservations);
    field(12, "states", &QueryHistoryRequest::states);
    field(13, "flags", &QueryHistoryRequest::flags);
    field(14, "reasons", &QueryHistoryRequest::reasons);
    field(15, "nodes", &QueryHistoryRequest::nodes);
    field(16, "from", &QueryHistoryRequest::from);
    field(17, "until", &QueryHistoryRequest::until);
    field(18, "cpus", &QueryHistoryRequest::cpus);
    field(19, "node_count", &QueryHistoryRequest::node_count);
    field(20, "time_limit", &QueryHistoryRequest::time_limit);
    field(21, "duplicates", &QueryHistoryRequest::duplicates);
    field(22, "steps", &QueryHistoryRequest::steps);
  }
};
struct HistoryJob {
  std::string cluster;
  uint64_t index = 0;  // its number in the database
  JobHistory job;
  std::vector<StepHistory> steps;                // named ones first
  uint32_t association = 0, qos = 0, wckey = 0;  // their numbers; 0: none, or it is gone
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &HistoryJob::cluster);
    field(2, "index", &HistoryJob::index);
    field(3, "job", &HistoryJob::job);
    field(4, "steps", &HistoryJob::steps);
    field(5, "association", &HistoryJob::association);
    field(6, "qos", &HistoryJob::qos);
    field(7, "wckey", &HistoryJob::wckey);
  }
};
// A cluster whose newest records the daemon could not store: its controller has them.
struct WaitingHistory {
  std::string cluster;
  Time since = kNoTime;  // when the first of them was to be stored
  std::string reason;
  bool operator==(const WaitingHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &WaitingHistory::cluster);
    field(2, "since", &WaitingHistory::since);
    field(3, "reason", &WaitingHistory::reason);
  }
};
struct HistoryChunk {  // streamed
  std::vector<HistoryJob> jobs;
  Time now = kNoTime;                   // the daemon's clock
  std::vector<WaitingHistory> waiting;  // in the first chunk, which may have no jobs
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &HistoryChunk::jobs);
    field(2, "now", &HistoryChunk::now);
    field(3, "waiting", &HistoryChunk::waiting);
  }
};

// The script or environment of a job, where it was kept (AccountingStoreFlags). For its user and
// operators. kInvalidJobId, kAccessDenied, kNotFound.
struct QueryJobTextRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryJobText";
  using Reply = struct QueryJobTextReply;
  std::string cluster;
  HistoryJobName job;
  bool environment = false;  // else the script
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &QueryJobTextRequest::cluster);
    field(2, "job", &QueryJobTextRequest::job);
    field(3, "environment", &QueryJobTextRequest::environment);
  }
};
struct QueryJobTextReply {
  std::string text;
  template <class V>
  static void describe(V&& field) {
    field(1, "text", &QueryJobTextReply::text);
  }
};

}  // namespace sluice::protocol
