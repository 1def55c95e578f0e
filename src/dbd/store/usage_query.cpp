#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/history/history_filter.hpp"
#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "dbd/store/usage_mark.hpp"
#include "dbd/store/usage_store.hpp"
#include "dbd/usage/rollup.hpp"

namespace sluice::dbd {
namespace {

using protocol::ClusterUsageRow;
using protocol::JobUsageRow;
using protocol::QueryReportReply;
using protocol::QueryReportRequest;
using soci::into;
using soci::use;

constexpr size_t kMostSizes = 100;  // each group of jobs has a number for every one
constexpr size_t kMostWords = 1000;

// Whole periods that together are a time: months in the middle, days and hours at its ends.
struct Segment {
  int period;
  Time from, to;
};
std::vector<Segment> segments(Time from, Time to) {
  std::vector<Segment> out;
  const auto put = [&](int period, Time begin, Time end) {
    if (begin < end) out.push_back({period, begin, end});
  };
  const Time first_day = day_of(from) == from ? from : day_of(from, 1);
  const Time last_day = day_of(to);
  if (first_day >= last_day) {
    put(0, from, to);
    return out;
  }
  put(0, from, first_day);
  const Time first_month = month_of(first_day) == first_day ? first_day : month_of(first_day, 1);
  const Time last_month = month_of(last_day);
  if (first_month >= last_month) {
    put(1, first_day, last_day);
  } else {
    put(1, first_day, first_month);
    put(2, first_month, last_month);
    put(1, last_month, last_day);
  }
  put(0, last_day, to);
  return out;
}

bool among(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || contains_iequal(list, name);
}

// One cluster's part of the answer.
class Asker {
 public:
  Asker(Session& sql, const QueryReportRequest& request, Time now, long long id, std::string name,
        const history::Filter& jobs, const std::function<bool()>& is_over)
      : sql_(sql),
        request_(request),
        now_(now),
        cluster_(id),
        name_(std::move(name)),
        jobs_(jobs),
        is_over_(is_over) {}

  void cluster_rows(QueryReportReply& reply) {
    struct Counted {
      uint64_t sum = 0, hours = 0;
    };
    std::map<std::string, ClusterUsageRow> sums;
    std::map<std::string, Counted> counts;  // of the rows, each weighed by its hours
    for (const Segment& segment : segments(request_.from, request_.until)) {
      const long long begin = micros(segment.from);
      const long long end = micros(segment.to);
      std::string tres;
      long long n[7] = {};
      long long rows = 0;
      soci::statement statement =
          (sql_.prepare << "SELECT tres, sum(count), sum(allocated), sum(down), "
                           "sum(planned_down), sum(idle), sum(planned), sum(\"over\"), count(*) "
                           "FROM cluster_usage WHERE cluster = :c AND period = :p AND "
                           "time >= :f AND time < :t GROUP BY tres",
           use(cluster_), use(segment.period), use(begin), use(end), into(tres), into(n[0]),
           into(n[1]), into(n[2]), into(n[3]), into(n[4]), into(n[5]), into(n[6]), into(rows));
      statement.execute();
      while (statement.fetch()) {
        if (!among(request_.tres, tres)) continue;
        constexpr uint64_t kHoursOfPeriod[] = {1, 24, 720};
        const uint64_t hours = kHoursOfPeriod[segment.period];
        counts[tres].sum += static_cast<uint64_t>(n[0]) * hours;
        counts[tres].hours += static_cast<uint64_t>(rows) * hours;
        ClusterUsageRow& row = sums[tres];
        row.cluster = name_;
        row.tres = tres;
        uint64_t* const into_fields[] = {&row.allocated, &row.down,    &row.planned_down,
                                         &row.idle,      &row.planned, &row.over};
        for (size_t i = 0; i < std::size(into_fields); ++i)
          *into_fields[i] += static_cast<uint64_t>(n[i + 1]);
      }
    }
    for (auto& [tres, row] : sums) {
      row.count = counts[tres].sum / std::max<uint64_t>(counts[tres].hours, 1);
      reply.cluster.push_back(std::move(row));
    }
  }

  void job_rows(QueryReportReply& reply) {
    std::map<std::vector<std::string>, uint64_t> sums;
    for (const Segment& segment : segments(request_.from, request_.until)) {
      const long long begin = micros(segment.from);
      const long long end = micros(segment.to);
      std::string account, user, wckey, qos, tres;
      long long used = 0;
      soci::statement statement =
          (sql_.prepare << "SELECT account, \"user\", wckey, qos, tres, sum(used) FROM "
                           "job_usage WHERE cluster = :c AND period = :p AND time >= :f AND "
                           "time < :t GROUP BY account, \"user\", wckey, qos, tres",
           use(cluster_), use(segment.period), use(begin), use(end), into(account), into(user),
           into(wckey), into(qos), into(tres), into(used));
      statement.execute();
      while (statement.fetch()) {
        if (!among(request_.tres, tres) || !among(request_.accounts, account) ||
            !among(request_.users, user) || !among(request_.wckeys, wckey) ||
            !among(request_.qos, qos))
          continue;
        sums[{account, user, wckey, qos, tres}] += static_cast<uint64_t>(used);
      }
    }
    for (const auto& [key, used] : sums)
      reply.jobs.push_back({name_, key[0], key[1], key[2], key[3], key[4], used});
  }

  // Where the job counts among the groups of its row.
  size_t group_of(uint32_t cpus, protocol::JobSizeRow& row) const {
    if (!request_.each_size) {
      row.cpu_seconds.resize(request_.sizes.size() + 1);
      row.jobs.resize(request_.sizes.size() + 1);
      return static_cast<size_t>(
          std::upper_bound(request_.sizes.begin(), request_.sizes.end(), cpus) -
          request_.sizes.begin());
    }
    const auto at = std::lower_bound(row.cpus.begin(), row.cpus.end(), cpus);
    const auto group = at - row.cpus.begin();
    if (at == row.cpus.end() || *at != cpus) {
      row.cpus.insert(at, cpus);
      row.cpu_seconds.insert(row.cpu_seconds.begin() + group, 0);
      row.jobs.insert(row.jobs.begin() + group, 0);
    }
    return static_cast<size_t>(group);
  }

  void size_rows(QueryReportReply& reply) {
    std::map<std::pair<std::string, std::string>, protocol::JobSizeRow> rows;
    each_job([&](const JobHistory& job, uint64_t seconds) {
      if (seconds == 0) return;
      auto& row = rows[{job.account, job.wckey}];
      const size_t group = group_of(job.cpus, row);
      row.cpu_seconds[group] += worked(job, seconds) * job.cpus;
      ++row.jobs[group];
    });
    for (auto& [key, row] : rows) {
      row.cluster = name_;
      row.account = key.first;
      row.wckey = key.second;
      reply.sizes.push_back(std::move(row));
    }
  }

  void reservation_rows(QueryReportReply& reply) {
    std::vector<ReservationHistory> reservations = reservations_there();
    std::map<std::pair<size_t, std::string>, uint64_t> used;
    each_job([&](const JobHistory& job, uint64_t) {
      if (job.reservation.empty()) return;
      for (size_t i = 0; i < reservations.size(); ++i) {
        const ReservationHistory& one = reservations[i];
        if (one.name != job.reservation) continue;
        if (one.id != 0 && job.reservation_id != 0 && one.id != job.reservation_id) continue;
        const Time job_end = job.end == kNoTime ? now_ : job.end;
        const Time begin = std::max({job.start, one.start, request_.from});
        const Time end = std::min({job_end, one.end, request_.until});
        if (begin >= end) continue;
        const auto seconds = static_cast<uint64_t>((end - begin) / std::chrono::seconds(1));
        for (const NamedTres& tres : job.allocated_tres)
          used[{i, tres.name}] += seconds * tres.count;
      }
    });
    for (size_t i = 0; i < reservations.size(); ++i)
      put_reservation(reply, reservations[i], i, used);
  }

 private:
  // Of seconds of a job those in which it was not suspended.
  [[nodiscard]] uint64_t worked(const JobHistory& job, uint64_t seconds) const {
    const Time end = job.end == kNoTime ? now_ : job.end;
    return without_suspension(seconds, suspended_until(job, end), end - job.start);
  }
  // Jobs that ran in the time, and for how many seconds of it.
  template <class Take>
  void each_job(Take take) {
    const long long begin = micros(request_.from);
    const long long end = micros(request_.until);
    std::string bytes;
    soci::statement statement =
        (sql_.prepare << "SELECT record FROM job WHERE cluster = :c AND ended > :f AND "
                         "start > 0 AND start < :t",
         use(cluster_), use(begin), use(end), into(bytes));
    statement.execute();
    while (statement.fetch()) {
      if (is_over_ && is_over_()) throw std::runtime_error("nobody waits for the answer any more");
      const Result<JobHistory> job = wire::decode<JobHistory>(sql_.read_bytes(bytes));
      if (!job) throw std::runtime_error("a record of history is damaged");
      if (!jobs_.matches(*job) || !among(request_.accounts, job->account) ||
          !among(request_.users, job->user) || !among(request_.wckeys, job->wckey) ||
          !among(request_.partitions, job->partition))
        continue;
      const Time from = std::max(job->start, request_.from);
      const Time to = std::min({job->end == kNoTime ? now_ : job->end, request_.until});
      // whole seconds as sacct shows them
      if (from < to) take(*job, static_cast<uint64_t>(to_seconds(to) - to_seconds(from)));
    }
  }
  std::vector<ReservationHistory> reservations_there() {
    std::vector<ReservationHistory> out;
    const long long begin = micros(request_.from);
    const long long end = micros(request_.until);
    std::string bytes;
    soci::statement statement =
        (sql_.prepare << "SELECT record FROM reservation WHERE cluster = :c AND ended > :f AND "
                         "start < :t ORDER BY start",
         use(cluster_), use(begin), use(end), into(bytes));
    statement.execute();
    while (statement.fetch()) {
      Result<ReservationHistory> record = wire::decode<ReservationHistory>(sql_.read_bytes(bytes));
      if (!record) throw std::runtime_error("a record of history is damaged");
      if (among(request_.names, record->name)) out.push_back(std::move(*record));
    }
    return out;
  }
  void put_reservation(QueryReportReply& reply, const ReservationHistory& one, size_t number,
                       std::map<std::pair<size_t, std::string>, uint64_t>& used) {
    const Time begin = std::max(one.start, request_.from);
    const Time end = std::min({one.end, request_.until, now_});
    if (begin >= end) return;
    const auto seconds = static_cast<uint64_t>((end - begin) / std::chrono::seconds(1));
    for (const NamedTres& tres : one.tres) {
      if (!among(request_.tres, tres.name)) continue;
      protocol::ReservationUsageRow row;
      row.cluster = name_;
      row.name = one.name;
      row.id = one.id;
      row.nodes = one.nodes;
      row.flags = one.flags;
      row.accounts = one.accounts;
      row.users = one.users;
      row.tres = tres.name;
      row.start = one.start;
      row.end = one.end;
      row.count = tres.count;
      row.allocated = std::min(used[{number, tres.name}], seconds * tres.count);
      row.idle = seconds * tres.count - row.allocated;
      reply.reservations.push_back(std::move(row));
    }
  }

  Session& sql_;
  const QueryReportRequest& request_;
  const Time now_;
  const long long cluster_;
  const std::string name_;
  const history::Filter& jobs_;
  const std::function<bool()>& is_over_;
};

std::string named_text(const NamedTresList& list) {
  std::string out;
  for (const NamedTres& one : list)
    out += fmt::format("{}{}={}{}", out.empty() ? "" : ",", one.name, one.count,
                       one.name == "mem" ? "M" : "");
  return out;
}

void event_rows(Session& sql, const QueryReportRequest& request, long long cluster,
                const std::string& name, QueryReportReply& reply) {
  const long long begin = micros(request.from);
  const long long end = micros(request.until);
  std::string bytes;
  long long ended = 0;
  soci::statement clusters =
      (sql.prepare << "SELECT record, ended FROM cluster_event WHERE cluster = :c AND ended > :f "
                      "AND start < :t ORDER BY start",
       use(cluster), use(begin), use(end), into(bytes), into(ended));
  clusters.execute();
  while (clusters.fetch()) {
    const Result<ClusterHistory> record = wire::decode<ClusterHistory>(sql.read_bytes(bytes));
    if (!record) throw std::runtime_error("a record of history is damaged");
    if (!request.names.empty()) continue;
    protocol::EventRow row;
    row.cluster = name;
    row.reason = "Cluster Registered TRES";
    row.nodes = record->nodes;
    row.start = record->time;
    row.end = ended == kNotEnded ? kNoTime : Time(Duration(ended));
    row.tres = named_text(record->tres);
    reply.events.push_back(std::move(row));
  }
  soci::statement nodes =
      (sql.prepare << "SELECT record, ended FROM node_event WHERE cluster = :c AND ended > :f "
                      "AND start < :t ORDER BY node, start",
       use(cluster), use(begin), use(end), into(bytes), into(ended));
  nodes.execute();
  while (nodes.fetch()) {
    const Result<NodeHistory> record = wire::decode<NodeHistory>(sql.read_bytes(bytes));
    if (!record) throw std::runtime_error("a record of history is damaged");
    if (!among(request.names, record->node)) continue;
    protocol::EventRow row;
    row.cluster = name;
    row.node = record->node;
    row.state = record->state;
    row.reason = record->reason;
    row.user = std::to_string(record->reason_uid);
    row.start = record->start;
    row.end = ended == kNotEnded ? kNoTime : Time(Duration(ended));
    row.tres = named_text(record->tres);
    reply.events.push_back(std::move(row));
  }
}

void runaway_rows(Session& sql, long long cluster, const std::string& name,
                  QueryReportReply& reply) {
  std::string bytes;
  long long id = 0;
  soci::statement jobs = (sql.prepare << "SELECT id, record FROM job WHERE cluster = :c AND "
                                         "ended = :e ORDER BY job_id",
                          use(cluster), use(kNotEnded), into(id), into(bytes));
  jobs.execute();
  while (jobs.fetch()) {
    const Result<JobHistory> job = wire::decode<JobHistory>(sql.read_bytes(bytes));
    if (!job) throw std::runtime_error("a record of history is damaged");
    protocol::RunawayRow row;
    row.cluster = name;
    row.name = job->name;
    row.partition = job->partition;
    row.state = job->state == JobState::kRunning     ? "RUNNING"
                : job->state == JobState::kSuspended ? "SUSPENDED"
                                                     : "PENDING";
    row.index = static_cast<uint64_t>(id);
    row.job = job->id;
    row.submit = job->submit;
    row.start = job->start;
    row.restarts = job->restarts;
    row.part = job->part;
    reply.runaway.push_back(std::move(row));
  }
}

// Those that the report is about, whenever they were.
Result<history::Filter> jobs_of(const QueryReportRequest& request) {
  protocol::QueryHistoryRequest out;
  out.until = kNever;
  out.gids = request.gids;
  out.jobs = request.jobs;
  out.nodes = request.nodes;
  return history::Filter::make(std::move(out));
}

}  // namespace

bool is_long(const QueryReportRequest& request) {
  size_t words = 0;
  for (const auto* list : {&request.clusters, &request.tres, &request.accounts, &request.users,
                           &request.wckeys, &request.qos, &request.partitions, &request.names})
    words += list->size();
  const auto hosts = count_hosts(request.nodes);
  words += request.gids.size() + request.jobs.size() + (hosts ? *hosts : 0);
  return words > kMostWords;
}

Result<QueryReportReply> query_usage(const Database& database, const QueryReportRequest& request,
                                     Time now, const std::function<bool()>& is_over) {
  QueryReportReply reply;
  if (request.sizes.size() > kMostSizes)
    return failure(ErrorCode::kBadRequest,
                   fmt::format("a report has at most {} sizes of jobs", kMostSizes));
  if (request.from >= request.until || !std::is_sorted(request.sizes.begin(), request.sizes.end()))
    return failure(ErrorCode::kBadRequest, "the time or the sizes of a report make no sense");
  const auto jobs = jobs_of(request);
  if (!jobs) return failure(ErrorCode::kBadRequest, jobs.error().text);
  Status done = database.read([&](Session& sql) -> Status {
    std::vector<std::pair<long long, std::string>> clusters;
    long long id = 0;
    std::string name;
    soci::statement statement =
        (sql.prepare << "SELECT id, name FROM cluster ORDER BY name", into(id), into(name));
    statement.execute();
    while (statement.fetch())
      if (among(request.clusters, name)) clusters.emplace_back(id, name);
    for (const auto& [number, title] : clusters) {
      Asker asker(sql, request, now, number, title, *jobs, is_over);
      switch (request.report) {
        case protocol::UsageReport::kCluster: asker.cluster_rows(reply); break;
        case protocol::UsageReport::kJobs:
          asker.job_rows(reply);
          asker.cluster_rows(reply);
          break;
        case protocol::UsageReport::kJobSizes:
          asker.size_rows(reply);
          asker.cluster_rows(reply);
          break;
        case protocol::UsageReport::kReservations: asker.reservation_rows(reply); break;
        case protocol::UsageReport::kEvents: event_rows(sql, request, number, title, reply); break;
        case protocol::UsageReport::kRunawayJobs: runaway_rows(sql, number, title, reply); break;
      }
    }
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return reply;
}

}  // namespace sluice::dbd
