#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "dbd/store/usage_store.hpp"
#include "dbd/usage/rollup.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

constexpr Duration kHour = std::chrono::hours(1);
enum Period : int { kHours = 0, kDays = 1, kMonths = 2 };

Time time_of(long long count) { return Time(Duration(count)); }
Time hour_of(Time at) { return time_of(micros(at) - micros(at) % kHour.count()); }

Time from_parts(std::tm parts) {
  parts.tm_isdst = -1;
  return Time(std::chrono::seconds(std::mktime(&parts)));
}
std::tm parts_of(Time at) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  parts.tm_sec = parts.tm_min = parts.tm_hour = 0;
  return parts;
}

template <class T, class Take>
void each_record(const Session& sql, soci::statement& statement, std::string& bytes, Take take) {
  statement.execute();
  while (statement.fetch()) {
    Result<T> record = wire::decode<T>(sql.read_bytes(bytes));
    if (!record) throw std::runtime_error("a record of history is damaged");
    take(std::move(*record));
  }
}

// The first hour of a cluster that has anything; kNever: it has nothing.
Time first_hour(Session& sql, long long cluster) {
  long long first = 0;
  long long submitted = 0;
  sql << "SELECT coalesce(min(start), :n) FROM cluster_event WHERE cluster = :c", use(kNotEnded),
      use(cluster), into(first);
  sql << "SELECT coalesce(min(submit), :n) FROM job WHERE cluster = :c", use(kNotEnded),
      use(cluster), into(submitted);
  first = std::min(first, submitted);
  return first == kNotEnded ? kNever : hour_of(time_of(first));
}

std::vector<ReservationHistory> reservations_of(Session& sql, long long cluster, long long begin,
                                                long long end) {
  std::vector<ReservationHistory> out;
  std::string bytes;
  soci::statement rows = (sql.prepare << "SELECT record FROM reservation WHERE cluster = :c AND "
                                         "ended > :f AND start < :t",
                          use(cluster), use(begin), use(end), into(bytes));
  each_record<ReservationHistory>(
      sql, rows, bytes, [&](ReservationHistory&& record) { out.push_back(std::move(record)); });
  return out;
}

// Accounts and users of associations, the user of an account's own being empty.
using Holders = std::vector<std::pair<std::string, std::string>>;

// All of a cluster, in order, each once: they may stand in several partitions.
Holders associations_of(Session& sql, long long cluster) {
  Holders out;
  std::string account;
  std::string user;
  soci::statement rows =
      (sql.prepare << "SELECT DISTINCT account, \"user\" FROM association WHERE deleted = 0 AND "
                      "cluster = (SELECT name FROM cluster WHERE id = :c)",
       use(cluster), into(account), into(user));
  rows.execute();
  while (rows.fetch()) out.emplace_back(account, user);
  std::ranges::sort(out);
  return out;
}

// Those whose use a reservation is: its accounts, or the associations of its users, in these
// accounts where it has both. Nobody where it only keeps some out.
Holders holders_of(const ReservationHistory& record, const Holders& associations) {
  const std::vector<std::string> accounts = split_list(record.accounts);
  const std::vector<std::string> users = split_list(record.users);
  Holders out;
  for (const auto& [account, user] : associations) {
    const bool in_accounts = contains_iequal(accounts, account);
    const bool named = users.empty() ? user.empty() && in_accounts
                                     : !user.empty() && contains_iequal(users, user) &&
                                           (accounts.empty() || in_accounts);
    if (named) out.emplace_back(account, user);
  }
  return out;
}

std::vector<HourUsage> sums_of(Session& sql, long long cluster, Time from, Time to, Time now) {
  Rollup rollup(from, static_cast<size_t>((to - from) / kHour), now);
  const long long begin = micros(from);
  const long long end = micros(to);
  std::string bytes;
  long long ended = 0;
  soci::statement clusters = (sql.prepare << "SELECT record, ended FROM cluster_event WHERE "
                                             "cluster = :c AND ended > :f AND start < :t",
                              use(cluster), use(begin), use(end), into(bytes), into(ended));
  each_record<ClusterHistory>(sql, clusters, bytes, [&](const ClusterHistory& record) {
    rollup.add(record, ended == kNotEnded ? kNever : time_of(ended));
  });
  soci::statement nodes = (sql.prepare << "SELECT record, ended FROM node_event WHERE "
                                          "cluster = :c AND ended > :f AND start < :t",
                           use(cluster), use(begin), use(end), into(bytes), into(ended));
  each_record<NodeHistory>(sql, nodes, bytes, [&](const NodeHistory& record) {
    rollup.add(record, ended == kNotEnded ? kNoTime : time_of(ended));
  });
  soci::statement jobs = (sql.prepare << "SELECT record FROM job WHERE cluster = :c AND "
                                         "ended > :f AND submit < :t",
                          use(cluster), use(begin), use(end), into(bytes));
  each_record<JobHistory>(sql, jobs, bytes, [&](const JobHistory& record) { rollup.add(record); });
  const std::vector<ReservationHistory> reserved = reservations_of(sql, cluster, begin, end);
  const Holders associations = reserved.empty() ? Holders() : associations_of(sql, cluster);
  for (const ReservationHistory& record : reserved)
    rollup.add(record, holders_of(record, associations));
  return rollup.finish();
}

// Puts the sums of whole hours in place of those that are there.
void write_hours(Session& sql, long long cluster, Time from, const std::vector<HourUsage>& hours) {
  const long long begin = micros(from);
  const long long end = micros(from + kHour * static_cast<int64_t>(hours.size()));
  const int period = kHours;
  for (const char* table : {"job_usage", "cluster_usage"})
    sql << std::string("DELETE FROM ") + table +
               " WHERE cluster = :c AND period = :p AND time >= :f AND time < :t",
        use(cluster), use(period), use(begin), use(end);
  UsageKey key;
  ClusterUsage row;
  long long time = 0;
  long long used = 0;
  std::string tres;
  long long n[7] = {};
  soci::statement put_job =
      (sql.prepare << "INSERT INTO job_usage(cluster, period, time, account, \"user\", wckey, "
                      "qos, tres, used) VALUES(:c, :p, :t, :a, :u, :w, :q, :r, :s)",
       use(cluster), use(period), use(time), use(key.account), use(key.user), use(key.wckey),
       use(key.qos), use(key.tres), use(used));
  soci::statement put_cluster =
      (sql.prepare << "INSERT INTO cluster_usage(cluster, period, time, tres, count, allocated, "
                      "down, planned_down, idle, planned, \"over\") "
                      "VALUES(:c, :p, :t, :r, :n, :a, :d, :m, :i, :w, :o)",
       use(cluster), use(period), use(time), use(tres), use(n[0]), use(n[1]), use(n[2]), use(n[3]),
       use(n[4]), use(n[5]), use(n[6]));
  for (size_t hour = 0; hour < hours.size(); ++hour) {
    time = micros(from + kHour * static_cast<int64_t>(hour));
    for (const auto& [whose, amount] : hours[hour].jobs) {
      key = whose;
      for (std::string* text : {&key.account, &key.user, &key.wckey, &key.qos, &key.tres})
        *text = sql.text(*text);
      used = static_cast<long long>(amount);
      put_job.execute(true);
    }
    for (const auto& [name, usage] : hours[hour].cluster) {
      tres = name;
      const uint64_t values[] = {usage.count, usage.allocated, usage.down, usage.planned_down,
                                 usage.idle,  usage.planned,   usage.over};
      std::copy(std::begin(values), std::end(values), std::begin(n));
      put_cluster.execute(true);
    }
  }
}

// A day's or month's sums of those one period below.
void sum_up(Session& sql, long long cluster, int period, Time from, Time to) {
  const long long begin = micros(from);
  const long long end = micros(to);
  const int below = period - 1;
  for (const char* table : {"job_usage", "cluster_usage"})
    sql << std::string("DELETE FROM ") + table +
               " WHERE cluster = :c AND period = :p AND time >= :f AND time < :t",
        use(cluster), use(period), use(begin), use(end);
  // coalesce() gives a value that is bound the type of a column
  sql << "INSERT INTO job_usage(cluster, period, time, account, \"user\", wckey, qos, tres, used) "
         "SELECT max(cluster), coalesce(:p, max(period)), coalesce(:b, max(time)), account, "
         "\"user\", wckey, qos, tres, sum(used) FROM job_usage "
         "WHERE cluster = :c AND period = :l AND time >= :f AND time < :t "
         "GROUP BY account, \"user\", wckey, qos, tres",
      use(period), use(begin), use(cluster), use(below), use(begin), use(end);
  sql << "INSERT INTO cluster_usage(cluster, period, time, tres, count, allocated, down, "
         "planned_down, idle, planned, \"over\") SELECT max(cluster), coalesce(:p, max(period)), "
         "coalesce(:b, max(time)), tres, max(count), sum(allocated), sum(down), "
         "sum(planned_down), sum(idle), sum(planned), sum(\"over\") "
         "FROM cluster_usage WHERE cluster = :c AND period = :l AND time >= :f AND time < :t "
         "GROUP BY tres",
      use(period), use(begin), use(cluster), use(below), use(begin), use(end);
}

// Up to a day of one cluster. Gives false when nothing is left.
bool roll_some(Session& sql, long long cluster, Time now) {
  long long state = 0;
  soci::indicator there = soci::i_null;
  sql << "SELECT (SELECT rolled FROM usage_state WHERE cluster = :c)", use(cluster),
      into(state, there);
  constexpr Duration kLong = std::chrono::hours(24 * 100);
  Time from = there == soci::i_ok ? hour_of(time_of(state)) : kNoTime;
  // to ask for it takes a look at each job
  if (there != soci::i_ok || now - from > kLong) from = std::max(from, first_hour(sql, cluster));
  const Time until = hour_of(now);
  if (from >= until) return false;
  const Time to = std::min({until, day_of(from, 1), from + std::chrono::hours(26)});
  // a day may begin within an hour of UTC: what is over is summed up with the next
  const Time end = std::max(hour_of(to), from + kHour);
  write_hours(sql, cluster, from, sums_of(sql, cluster, from, end, now));
  sum_up(sql, cluster, kDays, day_of(from), day_of(from, 1));
  sum_up(sql, cluster, kMonths, month_of(from), month_of(from, 1));
  const long long rolled = micros(end);
  sql << "DELETE FROM usage_state WHERE cluster = :c", use(cluster);
  sql << "INSERT INTO usage_state(cluster, rolled) VALUES(:c, :r)", use(cluster), use(rolled);
  return true;
}

}  // namespace

Time day_of(Time at, int days_later) {
  std::tm parts = parts_of(at);
  parts.tm_mday += days_later;
  return from_parts(parts);
}
Time month_of(Time at, int months_later) {
  std::tm parts = parts_of(at);
  parts.tm_mday = 1;
  parts.tm_mon += months_later;
  return from_parts(parts);
}

Status roll_up(Database& database, Time now) {
  std::vector<long long> clusters;
  Status done = database.read([&](Session& sql) -> Status {
    long long id = 0;
    soci::statement statement = (sql.prepare << "SELECT id FROM cluster", into(id));
    statement.execute();
    while (statement.fetch()) clusters.push_back(id);
    return {};
  });
  for (const long long cluster : clusters) {
    // each day for itself, so that others may write in between
    for (bool more = true; done && more;) {
      done = database.write([&](Session& sql) -> Status {
        more = roll_some(sql, cluster, now);
        return {};
      });
    }
  }
  return done;
}

}  // namespace sluice::dbd
