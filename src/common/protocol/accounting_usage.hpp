// What sreport asks the accounting daemon.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::protocol {

// Values travel: add, never renumber.
enum class UsageReport : uint8_t { Cluster = 0, Jobs = 1, JobSizes = 2, Reservations = 3 };

// Of whole hours: both times are beginnings of one. PrivateData=usage leaves others than operators
// their own.
struct QueryUsageRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryUsage";
  using Reply = struct QueryUsageReply;
  UsageReport report = UsageReport::Cluster;
  Time from = kNoTime, until = kNoTime;
  std::vector<std::string> clusters;  // empty: all
  std::vector<std::string> tres;      // empty: all
  // lists that are empty say nothing
  std::vector<std::string> accounts, users, wckeys, qos, partitions, names;
  std::vector<uint32_t> sizes;  // of JobSizes: where the next group of CPU counts begins
  template <class V>
  static void describe(V&& field) {
    field(1, "report", &QueryUsageRequest::report);
    field(2, "from", &QueryUsageRequest::from);
    field(3, "until", &QueryUsageRequest::until);
    field(4, "clusters", &QueryUsageRequest::clusters);
    field(5, "tres", &QueryUsageRequest::tres);
    field(6, "accounts", &QueryUsageRequest::accounts);
    field(7, "users", &QueryUsageRequest::users);
    field(8, "wckeys", &QueryUsageRequest::wckeys);
    field(9, "qos", &QueryUsageRequest::qos);
    field(10, "partitions", &QueryUsageRequest::partitions);
    field(11, "names", &QueryUsageRequest::names);
    field(12, "sizes", &QueryUsageRequest::sizes);
  }
};
// Amounts times seconds, here and below.
struct ClusterUsageRow {
  std::string cluster, tres;
  uint64_t count = 0;
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
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &JobSizeRow::cluster);
    field(2, "account", &JobSizeRow::account);
    field(3, "wckey", &JobSizeRow::wckey);
    field(4, "cpu_seconds", &JobSizeRow::cpu_seconds);
    field(5, "jobs", &JobSizeRow::jobs);
  }
};
struct ReservationUsageRow {
  std::string cluster, name, nodes, flags, accounts, users, tres;
  Time start = kNoTime, end = kNoTime;
  uint64_t count = 0, allocated = 0, idle = 0;
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
  }
};
struct QueryUsageReply {
  std::vector<ClusterUsageRow> cluster;  // of Cluster, and of JobSizes for its shares
  std::vector<JobUsageRow> jobs;
  std::vector<JobSizeRow> sizes;
  std::vector<ReservationUsageRow> reservations;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster", &QueryUsageReply::cluster);
    field(2, "jobs", &QueryUsageReply::jobs);
    field(3, "sizes", &QueryUsageReply::sizes);
    field(4, "reservations", &QueryUsageReply::reservations);
  }
};

}  // namespace sluice::protocol
