#include <memory>

#include <fmt/format.h>

#include "common/protocol/accounting_admin.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/archive/archive_file.hpp"
#include "dbd/archive/purge.hpp"
#include "dbd/history/ingest.hpp"

namespace sluice::dbd {
namespace {

using soci::use;

constexpr size_t kMostNumbers = 9;

tl::unexpected<Error> damaged(const std::string& table) {
  return failure(ErrorCode::kDamaged, fmt::format("a record of table {} is damaged", table));
}

// Puts the rows of one file back.
class Loader {
 public:
  Loader(Session& sql, int64_t cluster) : sql_(sql), cluster_(cluster) {}

  Status put(const ArchivedRow& row) {
    if (row.numbers.size() > kMostNumbers) return damaged(row.table);
    for (size_t i = 0; i < kMostNumbers; ++i)
      n_[i] = i < row.numbers.size() ? static_cast<long long>(row.numbers[i]) : 0;
    if (row.table == "job" || row.table == "step") return put_history(row);
    if (row.table == "node_event") return put_event<NodeHistory>(row, &NodeHistory::node);
    if (row.table == "reservation")
      return put_event<ReservationHistory>(row, &ReservationHistory::name);
    if (row.table == "cluster_event") return put_cluster(row);
    if (row.table == "txn") return put_transaction(row);
    if (row.table == "job_script") return put_blob(row, BlobRole::kScript);
    if (row.table == "job_env") return put_blob(row, BlobRole::kEnvironment);
    if (row.table == "job_usage" && row.texts.size() == 5) return put_job_usage(row);
    if (row.table == "cluster_usage" && row.texts.size() == 1) return put_cluster_usage(row);
    return damaged(row.table);
  }
  uint64_t finish() { return count_ + restore_history(sql_, cluster_, history_); }

 private:
  Status put_history(const ArchivedRow& row) {
    HistoryRecord out;
    if (row.table == "job") {
      auto job = wire::decode<JobHistory>(row.record);
      if (!job) return damaged(row.table);
      out.job = std::make_shared<const JobHistory>(std::move(*job));
    } else {
      auto step = wire::decode<StepHistory>(row.record);
      if (!step) return damaged(row.table);
      out.step = std::make_shared<const StepHistory>(std::move(*step));
    }
    history_.push_back(std::move(out));
    return {};
  }

  template <class T>
  Status put_event(const ArchivedRow& row, std::string T::*name) {
    const auto record = wire::decode<T>(row.record);
    if (!record) return damaged(row.table);
    const std::string text = sql_.text((*record).*name);
    const std::string column = row.table == "node_event" ? "node" : "name";
    const auto start = static_cast<long long>(record->start.time_since_epoch().count());
    if (is_there("SELECT count(*) FROM " + row.table + " WHERE cluster = :c AND start = :s AND " +
                     column + " = :n",
                 start, text))
      return {};
    const std::string bytes = sql_.bytes(row.record);
    sql_ << "INSERT INTO " + row.table + "(cluster, " + column +
                ", start, ended, record) VALUES(:c, :n, :s, :e, :r)",
        use(cluster_), use(text), use(start), use(n_[0]), use(bytes);
    ++count_;
    return {};
  }

  Status put_cluster(const ArchivedRow& row) {
    const auto record = wire::decode<ClusterHistory>(row.record);
    if (!record) return damaged(row.table);
    const auto start = static_cast<long long>(record->time.time_since_epoch().count());
    int there = 0;
    sql_ << "SELECT count(*) FROM cluster_event WHERE cluster = :c AND start = :s", use(cluster_),
        use(start), soci::into(there);
    if (there != 0) return {};
    const std::string bytes = sql_.bytes(row.record);
    sql_ << "INSERT INTO cluster_event(cluster, start, ended, record) VALUES(:c, :s, :e, :r)",
        use(cluster_), use(start), use(n_[0]), use(bytes);
    ++count_;
    return {};
  }

  Status put_transaction(const ArchivedRow& row) {
    const auto record = wire::decode<protocol::TransactionRecord>(row.record);
    if (!record) return damaged(row.table);
    const std::string subject = sql_.text(record->where);
    const std::string info = sql_.text(record->info);
    const std::string bytes = sql_.bytes(row.record);
    int there = 0;
    sql_ << "SELECT count(*) FROM txn WHERE time = :t AND action = :a AND actor = :w AND "
            "subject = :s AND info = :i",
        use(n_[0]), use(record->action), use(record->actor), use(subject), use(info),
        soci::into(there);
    if (there != 0) return {};
    sql_ << "INSERT INTO txn(time, action, actor, subject, info, record) "
            "VALUES(:t, :a, :w, :s, :i, :r)",
        use(n_[0]), use(record->action), use(record->actor), use(subject), use(info), use(bytes);
    ++count_;
    return {};
  }

  Status put_blob(const ArchivedRow& row, BlobRole role) {
    const auto blob = wire::decode<BlobHistory>(row.record);
    if (!blob) return damaged(row.table);
    if (restore_blob(sql_, cluster_, *blob, role, n_[0])) ++count_;
    return {};
  }

  Status put_job_usage(const ArchivedRow& row) {
    const auto& t = row.texts;
    int there = 0;
    sql_ << "SELECT count(*) FROM job_usage WHERE cluster = :c AND period = :p AND time = :t AND "
            "account = :a AND \"user\" = :u AND wckey = :w AND qos = :q AND tres = :r",
        use(cluster_), use(n_[0]), use(n_[1]), use(t[0]), use(t[1]), use(t[2]), use(t[3]),
        use(t[4]), soci::into(there);
    if (there != 0) return {};
    sql_ << "INSERT INTO job_usage(cluster, period, time, account, \"user\", wckey, qos, tres, "
            "used) VALUES(:c, :p, :t, :a, :u, :w, :q, :r, :n)",
        use(cluster_), use(n_[0]), use(n_[1]), use(t[0]), use(t[1]), use(t[2]), use(t[3]),
        use(t[4]), use(n_[2]);
    ++count_;
    return {};
  }

  Status put_cluster_usage(const ArchivedRow& row) {
    int there = 0;
    sql_ << "SELECT count(*) FROM cluster_usage WHERE cluster = :c AND period = :p AND time = :t "
            "AND tres = :r",
        use(cluster_), use(n_[0]), use(n_[1]), use(row.texts[0]), soci::into(there);
    if (there != 0) return {};
    sql_ << "INSERT INTO cluster_usage(cluster, period, time, tres, count, allocated, down, "
            "planned_down, idle, planned, \"over\") VALUES(:c, :p, :t, :r, :a, :b, :d, :e, :f, "
            ":g, :h)",
        use(cluster_), use(n_[0]), use(n_[1]), use(row.texts[0]), use(n_[2]), use(n_[3]),
        use(n_[4]), use(n_[5]), use(n_[6]), use(n_[7]), use(n_[8]);
    ++count_;
    return {};
  }

  bool is_there(const std::string& query, long long start, const std::string& text) {
    int there = 0;
    sql_ << query, use(cluster_), use(start), use(text), soci::into(there);
    return there != 0;
  }

  Session& sql_;
  const int64_t cluster_;
  long long n_[kMostNumbers] = {};
  std::vector<HistoryRecord> history_;
  uint64_t count_ = 0;
};

}  // namespace

Result<uint64_t> load_archive(Database& database, const std::string& path, Time now, bool commit) {
  const auto file = read_archive(path);
  if (!file) return tl::unexpected<Error>(file.error());
  uint64_t count = 0;
  bool tried = false;
  Status done = database.write([&](Session& sql) -> Status {
    const int64_t cluster = file->cluster.empty() ? 0 : cluster_row(sql, file->cluster, now);
    Loader loader(sql, cluster);
    for (const ArchivedRow& row : file->rows)
      if (Status ok = loader.put(row); !ok) return ok;
    count = loader.finish();
    tried = !commit;
    if (tried) return failure("it was only to be tried");
    return {};
  });
  if (!done && !tried) return tl::unexpected<Error>(done.error());
  return count;
}

}  // namespace sluice::dbd
