#include "dbd/archive/purge.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/log/log.hpp"
#include "dbd/archive/purge_blobs.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

constexpr int kBatch = 5000;  // rows of a transaction

// A table that is purged. `select` gives what names the row (two numbers, a text), its time and its
// record, of a cluster before a time; `erase` takes what names it.
struct Table {
  Purged kind;
  const char* name;  // of files, too
  const char* select;
  const char* erase;
};
constexpr Table kTables[] = {
    {Purged::kSteps, "step",
     "SELECT step.job, step.number, '', job.ended, step.record FROM step JOIN job ON job.id = step.job "
     "WHERE job.cluster = :c AND job.ended < :t LIMIT :n",
     "DELETE FROM step WHERE job = :a AND number = :b"},
    {Purged::kJobs, "job",
     "SELECT id, part, '', ended, record FROM job WHERE cluster = :c AND ended < :t "
     "ORDER BY ended LIMIT :n",
     "DELETE FROM job WHERE id = :a AND part = :b"},
    {Purged::kEvents, "node_event",
     "SELECT cluster, start, node, ended, record FROM node_event WHERE cluster = :c AND ended < :t "
     "ORDER BY ended LIMIT :n",
     "DELETE FROM node_event WHERE cluster = :a AND start = :b AND node = :n"},
    {Purged::kEvents, "cluster_event",
     "SELECT cluster, start, '', ended, record FROM cluster_event WHERE cluster = :c AND ended < :t "
     "ORDER BY ended LIMIT :n",
     "DELETE FROM cluster_event WHERE cluster = :a AND start = :b"},
    {Purged::kReservations, "reservation",
     "SELECT cluster, start, name, ended, record FROM reservation WHERE cluster = :c AND ended < :t "
     "ORDER BY ended LIMIT :n",
     "DELETE FROM reservation WHERE cluster = :a AND start = :b AND name = :n"},
};

struct Row {
  long long a = 0, b = 0, time = 0;
  std::string text, record;
};

// One cluster's purge.
class Purge {
 public:
  Purge(Database& database, const PurgeRules& rules, Time now, PurgeResult& result)
      : database_(database), rules_(rules), now_(now), result_(result) {}

  Status cluster(long long id, const std::string& name) {
    for (const Table& table : kTables) {
      const PurgeRule& rule = rules_.of(table.kind);
      if (!rule.age) continue;
      Status done = until_none(
          [&](Session& sql, bool& more) { return batch(sql, table, rule, id, name, more); });
      if (!done) return done;
    }
    if (Status done = usage(id, name); !done) return done;
    return purge_blobs(database_, rules_, id, name, now_, result_);
  }

  Status transactions() {
    const PurgeRule& rule = rules_.of(Purged::kTransactions);
    if (!rule.age) return {};
    const long long before = micros(purge_before(*rule.age, now_));
    return until_none([&](Session& sql, bool& more) -> Status {
      Row row;
      std::vector<Row> rows;
      soci::statement list =
          (sql.prepare << "SELECT id, time, record FROM txn WHERE time < :t "
                          "ORDER BY id LIMIT :n",
           use(before), use(kBatch), into(row.a), into(row.time), into(row.record));
      list.execute();
      while (list.fetch()) rows.push_back({row.a, 0, row.time, {}, sql.read_bytes(row.record)});
      more = rows.size() == kBatch;
      ArchiveFile file;
      for (Row& one : rows)
        file.rows.push_back({"txn", std::move(one.record), {static_cast<uint64_t>(one.time)}, {}});
      if (Status kept = keep(rule, "txn", std::move(file), rows); !kept) return kept;
      for (const Row& one : rows) sql << "DELETE FROM txn WHERE id = :i", use(one.a);
      result_.rows += rows.size();
      return {};
    });
  }

 private:
  template <class Work>
  Status until_none(Work work) {
    for (bool more = true; more;) {
      Status done = database_.write([&](Session& sql) -> Status { return work(sql, more); });
      if (!done) return done;
    }
    return {};
  }

  Status batch(Session& sql, const Table& table, const PurgeRule& rule, long long cluster,
               const std::string& name, bool& more) {
    more = false;
    const std::optional<long long> before = bound(sql, table, rule, cluster);
    if (!before) return {};
    std::vector<Row> rows;
    Row row;
    soci::statement list =
        (sql.prepare << table.select, use(cluster), use(*before), use(kBatch), into(row.a),
         into(row.b), into(row.text), into(row.time), into(row.record));
    list.execute();
    while (list.fetch())
      rows.push_back({row.a, row.b, row.time, row.text, sql.read_bytes(row.record)});
    if (rows.empty()) return {};
    more = rows.size() == kBatch;
    ArchiveFile file;
    file.cluster = name;
    for (const Row& one : rows) {
      const auto ended = static_cast<uint64_t>(one.time);
      file.rows.push_back({table.name, one.record, {ended}, {}});
      if (table.kind == Purged::kJobs) add_steps(sql, one.a, file);
    }
    if (Status kept = keep(rule, table.name, std::move(file), rows); !kept) return kept;
    for (const Row& one : rows) erase(sql, table, one);
    if (table.kind == Purged::kJobs || table.kind == Purged::kEvents)
      raise_floor(sql, cluster, *before);
    result_.rows += rows.size();
    return {};
  }

  // What is not summed up yet stays.
  std::optional<long long> bound(Session& sql, const Table& table, const PurgeRule& rule,
                                 long long cluster) const {
    const long long before = micros(purge_before(*rule.age, now_));
    if (table.kind != Purged::kJobs && table.kind != Purged::kEvents) return before;
    const long long rolled = summed_until(sql, cluster);
    if (rolled == 0) return std::nullopt;
    return std::min(before, rolled);
  }

  // A job's steps go with it.
  static void add_steps(Session& sql, long long job, ArchiveFile& file) {
    std::string record;
    soci::statement list = (sql.prepare << "SELECT record FROM step WHERE job = :j ORDER BY number",
                            use(job), into(record));
    list.execute();
    while (list.fetch()) file.rows.push_back({"step", sql.read_bytes(record), {}, {}});
  }

  static void erase(Session& sql, const Table& table, const Row& row) {
    if (table.kind == Purged::kJobs) sql << "DELETE FROM step WHERE job = :j", use(row.a);
    const std::string statement = table.erase;
    if (statement.find(":n") != std::string::npos)
      sql << statement, use(row.a), use(row.b), use(row.text);
    else sql << statement, use(row.a), use(row.b);
  }

  // Hours go by whole days, and days by whole months: sums of what is left stay right.
  Status usage(long long cluster, const std::string& name) {
    const PurgeRule& rule = rules_.of(Purged::kUsage);
    if (!rule.age) return {};
    const Time before = purge_before(*rule.age, now_);
    const long long bounds[] = {micros(day_of(before)), micros(month_of(before)),
                                micros(month_of(before))};
    for (int period = 0; period < 3; ++period) {
      Status done = database_.write([&](Session& sql) -> Status {
        ArchiveFile file;
        file.cluster = name;
        std::vector<Row> times;
        if (rule.archive) read_usage(sql, cluster, period, bounds[period], file, times);
        if (Status kept = keep(rule, "usage", std::move(file), times); !kept) return kept;
        for (const char* table : {"job_usage", "cluster_usage"})
          sql << fmt::format("DELETE FROM {} WHERE cluster = :c AND period = :p AND time < :t",
                             table),
              use(cluster), use(period), use(bounds[period]);
        return {};
      });
      if (!done) return done;
    }
    return {};
  }

  static void read_usage(Session& sql, long long cluster, int period, long long before,
                         ArchiveFile& file, std::vector<Row>& times) {
    long long time = 0, used = 0;
    std::string account, user, wckey, qos, tres;
    const auto row = [&](const char* table, std::vector<uint64_t> numbers,
                         std::vector<std::string> texts) {
      numbers.insert(numbers.begin(), {static_cast<uint64_t>(period), static_cast<uint64_t>(time)});
      file.rows.push_back({table, {}, std::move(numbers), std::move(texts)});
      times.push_back({0, 0, time, {}, {}});
    };
    soci::statement jobs =
        (sql.prepare << "SELECT time, account, \"user\", wckey, qos, tres, used FROM job_usage "
                        "WHERE cluster = :c AND period = :p AND time < :t",
         use(cluster), use(period), use(before), into(time), into(account), into(user), into(wckey),
         into(qos), into(tres), into(used));
    jobs.execute();
    while (jobs.fetch())
      row("job_usage", {static_cast<uint64_t>(used)}, {account, user, wckey, qos, tres});
    long long n[7] = {};
    soci::statement clusters =
        (sql.prepare << "SELECT time, tres, count, allocated, down, planned_down, idle, planned, "
                        "\"over\" FROM cluster_usage WHERE cluster = :c AND period = :p AND "
                        "time < :t",
         use(cluster), use(period), use(before), into(time), into(tres), into(n[0]), into(n[1]),
         into(n[2]), into(n[3]), into(n[4]), into(n[5]), into(n[6]));
    clusters.execute();
    while (clusters.fetch())
      row("cluster_usage", std::vector<uint64_t>(std::begin(n), std::end(n)), {tres});
  }

  Status keep(const PurgeRule& rule, const char* kind, ArchiveFile file,
              const std::vector<Row>& rows) {
    if (!rule.archive || rows.empty()) return {};
    const auto [first, last] = std::minmax_element(
        rows.begin(), rows.end(), [](const Row& x, const Row& y) { return x.time < y.time; });
    return keep_rows(rules_, kind, std::move(file), first->time, last->time, result_);
  }

  Database& database_;
  const PurgeRules& rules_;
  const Time now_;
  PurgeResult& result_;
};

}  // namespace

Status keep_rows(const PurgeRules& rules, const char* kind, ArchiveFile file, long long first,
                 long long last, PurgeResult& result) {
  if (file.rows.empty()) return {};
  const size_t count = file.rows.size();
  auto path = write_archive(rules.folder, kind, std::move(file), Time(Duration(first)),
                            Time(Duration(last)));
  if (!path) return tl::unexpected<Error>(path.error());
  log::info("archived {} row(s) in {}", count, *path);
  result.files.push_back(std::move(*path));
  return {};
}

void raise_floor(Session& sql, long long cluster, long long before) {
  constexpr long long kHour = 3'600'000'000;
  const long long wanted = (before + kHour - 1) / kHour * kHour;
  long long floor = 0;
  sql << "SELECT coalesce(max(floor), 0) FROM purge_state WHERE cluster = :c", use(cluster),
      into(floor);
  if (floor >= wanted) return;
  sql << "DELETE FROM purge_state WHERE cluster = :c", use(cluster);
  sql << "INSERT INTO purge_state(cluster, floor) VALUES(:c, :f)", use(cluster), use(wanted);
}

long long summed_until(Session& sql, long long cluster) {
  long long rolled = 0;
  sql << "SELECT coalesce(max(rolled), 0) FROM usage_state WHERE cluster = :c", use(cluster),
      into(rolled);
  return rolled;
}

Result<std::map<long long, std::string>> cluster_names(const Database& database) {
  std::map<long long, std::string> out;
  Status done = database.read([&](Session& sql) -> Status {
    long long id = 0;
    std::string name;
    soci::statement list = (sql.prepare << "SELECT id, name FROM cluster", into(id), into(name));
    list.execute();
    while (list.fetch()) out[id] = name;
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return out;
}

Result<PurgeResult> purge(Database& database, const PurgeRules& rules, Time now) {
  PurgeResult result;
  if (!purges_anything(rules)) return result;
  if (Status rolled = roll_up(database, now); !rolled) return tl::unexpected<Error>(rolled.error());
  const auto clusters = cluster_names(database);
  if (!clusters) return tl::unexpected<Error>(clusters.error());
  Status done;
  Purge work(database, rules, now, result);
  for (const auto& [id, name] : *clusters)
    if (done) done = work.cluster(id, name);
  if (done) done = work.transactions();
  if (!done) return tl::unexpected<Error>(done.error());
  return result;
}

}  // namespace sluice::dbd
