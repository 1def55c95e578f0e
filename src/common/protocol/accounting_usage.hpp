// What sreport asks the accounting daemon.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/history.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::protocol {

// Values travel: add, never renumber.
// Events are of operators, with PrivateData=events. RunawayJobs: those of the database that have no
// end, whatever the time.
enum class UsageReport : uint8_t {
  kCluster = 0,
  kJobs = 1,
  kJobSizes = 2,
  kReservations = 3,
  kEvents = 4,
  kRunawayJobs = 5,
};

// Sums are of whole hours: both times are beginnings of one. PrivateData=usage leaves others than
// operators their own.
struct QueryReportRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryReport";
  using Reply = struct QueryReportReply;
  UsageReport report = UsageReport::kCluster;
  Time from = kNoTime, until = kNoTime;
  std::vector<std::string> clusters;  // empty: all
  std::vector<std::string> tres;      // empty: all
  // lists that are empty say nothing
  std::vector<std::string> accounts, users, wckeys, qos, partitions, names;
  std::vector<uint32_t> sizes;  // of JobSizes: where the next group of CPU counts begins
  bool each_size = false;       // each CPU count that jobs had is a group, whatever `sizes` says
  // of JobSizes: these jobs alone
  std::vector<uint32_t> gids;
  std::vector<HistoryJobName> jobs;
  std::string nodes;  // host list: those that ran on one of them
  template <class V>
  static void describe(V&& field) {
    field(1, "report", &QueryReportRequest::report);
    field(2, "from", &QueryReportRequest::from);
    field(3, "until", &QueryReportRequest::until);
    field(4, "clusters", &QueryReportRequest::clusters);
    field(5, "tres", &QueryReportRequest::tres);
    field(6, "accounts", &QueryReportRequest::accounts);
    field(7, "users", &QueryReportRequest::users);
    field(8, "wckeys", &QueryReportRequest::wckeys);
    field(9, "qos", &QueryReportRequest::qos);
    field(10, "partitions", &QueryReportRequest::partitions);
    field(11, "names", &QueryReportRequest::names);
    field(12, "sizes", &QueryReportRequest::sizes);
    field(13, "each_size", &QueryReportRequest::each_size);
    field(14, "gids", &QueryReportRequest::gids);
    field(15, "jobs", &QueryReportRequest::jobs);
    field(16, "nodes", &QueryReportRequest::nodes);
  }
};
// Amounts times seconds, here and below.
struct ClusterUsageRow {
  std::string cluster, tres;
  uint64_t count = 0;  // that the cluster had, on average of the time that is known
  uint64_t allocated = 0, down = 0, planned_down = 0, idle = 0, planned = 0, over = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &ClusterUsageRow::cluster);
    field(2, "tres", &ClusterUsageRow::tres);
    field(3, "count", &ClusterUsageRow::count);
    field(4, "allocated", &ClusterUsageRow::allocated);
    field(5, "down", &ClusterUsageRow::down);
    field(6, "planned_down", &ClusterUsageRow::planned_down);
    field(7, "idle", &ClusterUsageRow::idle);
    field(8, "planned", &ClusterUsageRow::planned);
    field(9, "over", &ClusterUsageRow::over);
  }
};
struct JobUsageRow {
  std::string cluster, account, user, wckey, qos, tres;
  uint64_t used = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &JobUsageRow::cluster);
    field(2, "account", &JobUsageRow::account);
    field(3, "user", &JobUsageRow::user);
    field(4, "wckey", &JobUsageRow::wckey);
    field(5, "qos", &JobUsageRow::qos);
    field(6, "tres", &JobUsageRow::tres);
    field(7, "used", &JobUsageRow::used);
  }
};
struct JobSizeRow {
  std::string cluster, account, wckey;
  std::vector<uint64_t> cpu_seconds;  // by group: those below sizes[0], then from each on
  std::vector<uint64_t> jobs;
  std::vector<uint32_t> cpus;  // with each_size: of each group, ascending
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &JobSizeRow::cluster);
    field(2, "account", &JobSizeRow::account);
    field(3, "wckey", &JobSizeRow::wckey);
    field(4, "cpu_seconds", &JobSizeRow::cpu_seconds);
    field(5, "jobs", &JobSizeRow::jobs);
    field(6, "cpus", &JobSizeRow::cpus);
  }
};
struct ReservationUsageRow {
  std::string cluster, name, nodes, flags, accounts, users, tres;
  Time start = kNoTime, end = kNoTime;
  uint64_t count = 0, allocated = 0, idle = 0;
  uint32_t id = 0;  // 0: not known
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &ReservationUsageRow::cluster);
    field(2, "name", &ReservationUsageRow::name);
    field(3, "nodes", &ReservationUsageRow::nodes);
    field(4, "flags", &ReservationUsageRow::flags);
    field(5, "accounts", &ReservationUsageRow::accounts);
    field(6, "users", &ReservationUsageRow::users);
    field(7, "tres", &ReservationUsageRow::tres);
    field(8, "start", &ReservationUsageRow::start);
    field(9, "end", &ReservationUsageRow::end);
    field(10, "count", &ReservationUsageRow::count);
    field(11, "allocated", &ReservationUsageRow::allocated);
    field(12, "idle", &ReservationUsageRow::idle);
    field(13, "id", &ReservationUsageRow::id);
  }
};
struct EventRow {
  std::string cluster, node, state, reason, user, nodes;  // node: empty, of the cluster
  Time start = kNoTime, end = kNoTime;                    // kNoTime: it lasts
  std::string tres;                                       // "cpu=4,mem=4000M"
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &EventRow::cluster);
    field(2, "node", &EventRow::node);
    field(3, "state", &EventRow::state);
    field(4, "reason", &EventRow::reason);
    field(5, "user", &EventRow::user);
    field(6, "nodes", &EventRow::nodes);
    field(7, "start", &EventRow::start);
    field(8, "end", &EventRow::end);
    field(9, "tres", &EventRow::tres);
  }
};
struct RunawayRow {
  std::string cluster, name, partition, state;
  uint64_t index = 0;  // its number in the database
  uint32_t job = 0;
  Time submit = kNoTime, start = kNoTime;
  uint32_t restarts = 0, part = 0;  // with job and submit: which run, as of JobHistory
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &RunawayRow::cluster);
    field(2, "name", &RunawayRow::name);
    field(3, "partition", &RunawayRow::partition);
    field(4, "state", &RunawayRow::state);
    field(5, "index", &RunawayRow::index);
    field(6, "job", &RunawayRow::job);
    field(7, "submit", &RunawayRow::submit);
    field(8, "start", &RunawayRow::start);
    field(9, "restarts", &RunawayRow::restarts);
    field(10, "part", &RunawayRow::part);
  }
};
// What its controller knows of a run that is over.
struct RunawayEnd {
  uint64_t index = 0;
  JobState state = JobState::kCompleted;
  JobFlags flags = 0;
  int32_t exit_status = 0, derived_exit_status = 0;
  uint32_t ended_by = UINT32_MAX;
  Time eligible = kNoTime, start = kNoTime, end = kNoTime;
  std::string nodes;  // empty: it never had any
  uint32_t node_count = 0, cpus = 0;
  NamedTresList allocated_tres;
  template <class V>
  static void describe(V&& field) {
    field(1, "index", &RunawayEnd::index);
    field(2, "state", &RunawayEnd::state);
    field(3, "flags", &RunawayEnd::flags);
    field(4, "exit_status", &RunawayEnd::exit_status);
    field(5, "derived_exit_status", &RunawayEnd::derived_exit_status);
    field(6, "ended_by", &RunawayEnd::ended_by);
    field(7, "eligible", &RunawayEnd::eligible);
    field(8, "start", &RunawayEnd::start);
    field(9, "end", &RunawayEnd::end);
    field(10, "nodes", &RunawayEnd::nodes);
    field(11, "node_count", &RunawayEnd::node_count);
    field(12, "cpus", &RunawayEnd::cpus);
    field(13, "allocated_tres", &RunawayEnd::allocated_tres);
  }
};
// Ends jobs of the database: those that no controller knows at the latest of their start, eligible
// and submit times, in `state`, others as their controller says. Of operators. Those that have an
// end by now stay as they are.
struct EndRunawayJobsRequest {
  static constexpr std::string_view kMethod = "Accounting/EndRunawayJobs";
  using Reply = struct EndRunawayJobsReply;
  std::vector<uint64_t> indexes;
  std::vector<RunawayEnd> known;
  JobState state = JobState::kCompleted;  // one that ends a job
  template <class V>
  static void describe(V&& field) {
    field(1, "indexes", &EndRunawayJobsRequest::indexes);
    field(2, "known", &EndRunawayJobsRequest::known);
    field(3, "state", &EndRunawayJobsRequest::state);
  }
};
struct EndRunawayJobsReply {
  uint32_t ended = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "ended", &EndRunawayJobsReply::ended);
  }
};
struct QueryReportReply {
  std::vector<ClusterUsageRow> cluster;  // of Cluster, and of JobSizes for its shares
  std::vector<JobUsageRow> jobs;
  std::vector<JobSizeRow> sizes;
  std::vector<ReservationUsageRow> reservations;
  std::vector<EventRow> events;
  std::vector<RunawayRow> runaway;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &QueryReportReply::cluster);
    field(2, "jobs", &QueryReportReply::jobs);
    field(3, "sizes", &QueryReportReply::sizes);
    field(4, "reservations", &QueryReportReply::reservations);
    field(5, "events", &QueryReportReply::events);
    field(6, "runaway", &QueryReportReply::runaway);
  }
};

}  // namespace sluice::protocol
