#include "dbd/history/ingest.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/log/log.hpp"
#include "common/names/job_states.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/store/blob_role.hpp"
#include "dbd/store/usage_mark.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

// The statements of one transaction, each prepared when it is first needed.
class Writer {
 public:
  Writer(Session& sql, int64_t cluster)
      : sql_(sql),
        cluster_(cluster),
        find_run_((sql.prepare << "SELECT id, eligible, start, ended FROM job WHERE cluster = :c "
                                  "AND job_id = :j AND submit = :s AND restarts = :r AND part = :p",
                   use(cluster_), use(job_), use(submit_), use(restarts_), use(part_), into(row_),
                   into(known_.eligible), into(known_.start), into(known_.ended))),
        add_job_(
            (sql.prepare << "INSERT INTO job(cluster, job_id, submit, restarts, part, array_job, "
                            "het_job, uid, gid, account, state, eligible, start, ended, record) "
                            "VALUES(:c, :j, :s, :r, :p, :a, :h, :u, :g, :k, :t, :e, :b, :d, :x)",
             use(cluster_), use(job_), use(submit_), use(restarts_), use(part_), use(array_job_),
             use(het_job_), use(uid_), use(gid_), use(account_), use(state_), use(times_.eligible),
             use(times_.start), use(times_.ended), use(record_))),
        change_job_((sql.prepare << "UPDATE job SET account = :k, state = :t, eligible = :e, "
                                    "start = :b, ended = :d, record = :x WHERE id = :i",
                     use(account_), use(state_), use(times_.eligible), use(times_.start),
                     use(times_.ended), use(record_), use(row_))),
        find_record_(
            (sql.prepare << "SELECT record FROM job WHERE id = :i", use(row_), into(before_))),
        find_step_((sql.prepare << "SELECT record FROM step WHERE job = :j AND number = :n",
                    use(row_), use(number_), into(record_))),
        add_step_((sql.prepare << "INSERT INTO step(job, number, record) VALUES(:j, :n, :r)",
                   use(row_), use(number_), use(record_))),
        change_step_((sql.prepare << "UPDATE step SET record = :r WHERE job = :j AND number = :n",
                      use(record_), use(row_), use(number_))),
        find_use_((sql.prepare << "SELECT used FROM blob_use WHERE cluster = :c AND \"key\" = :k "
                                  "AND role = :r",
                   use(cluster_), use(key_), use(role_), into(used_))) {}

  // A run or step ends once: who tells another end has an older state, which was put back.
  void keep_ends() { keeps_ends_ = true; }

  // Whether there is such a run, or step.
  bool has(const JobHistory& job) {
    job_ = job.id;
    submit_ = micros(job.submit);
    restarts_ = job.restarts;
    part_ = job.part;
    return find_run_.execute(true);
  }
  bool has(const StepHistory& step) {
    job_ = step.id.job;
    submit_ = micros(step.job_submit);
    restarts_ = step.job_restarts;
    part_ = 0;
    number_ = step.id.step;
    return find_run_.execute(true) && find_step_.execute(true);
  }

  void put(const JobHistory& job) {
    job_ = job.id;
    submit_ = micros(job.submit);
    restarts_ = job.restarts;
    part_ = job.part;
    array_job_ = job.array_job;
    het_job_ = job.het_job;
    uid_ = job.uid;
    gid_ = job.gid;
    account_ = sql_.text(job.account);
    state_ = static_cast<int>(job.state);
    times_ = {micros(job.eligible), micros(job.start),
              job.end == kNoTime ? kNotEnded : micros(job.end)};
    const bool there = find_run_.execute(true);
    record_ = sql_.bytes(there ? with_reason(job) : wire::encode(job));
    if (there) {
      if (keeps_ends_ && known_.ended != kNotEnded && times_.ended != known_.ended) return;
      mark_.changed(known_, times_);
      change_job_.execute(true);
    } else {
      mark_.added(times_, submit_);
      add_job_.execute(true);
    }
    if (there && times_.ended == kNotEnded) return;
    const int64_t used = std::max(submit_, times_.ended == kNotEnded ? 0 : times_.ended);
    note_use(job.script_blob, BlobRole::kScript, used);
    note_use(job.environment_blob, BlobRole::kEnvironment, used);
  }

  void put(StepHistory step) {
    job_ = step.id.job;
    submit_ = micros(step.job_submit);
    restarts_ = step.job_restarts;
    part_ = 0;
    if (!find_run_.execute(true)) return;  // without its job nobody could find it
    number_ = step.id.step;
    const bool there = find_step_.execute(true);
    if (there) {
      if (const auto known = wire::decode<StepHistory>(sql_.read_bytes(record_))) {
        if (keeps_ends_ && known->end != kNoTime && known->end != step.end) return;
        if (known->end == kNoTime) step.usage = sum_of(known->usage, step.usage);
        else if (step.usage.tasks == 0) step.usage = known->usage;
      }
    }
    record_ = sql_.bytes(wire::encode(step));
    (there ? change_step_ : add_step_).execute(true);
  }

  void put(const NodeHistory& event) {
    const int64_t at = micros(event.end == kNoTime ? event.start : event.end);
    const std::string node = sql_.text(event.node);
    int64_t open = 0;
    std::string before;
    sql_ << "SELECT start, record FROM node_event WHERE cluster = :c AND node = :n AND ended = :e",
        use(cluster_), use(node), use(kNotEnded), into(open), into(before);
    if (sql_.got_data()) {
      auto known = wire::decode<NodeHistory>(sql_.read_bytes(before));
      // told again by a controller that has started
      const bool same = known && event.end == kNoTime && known->state == event.state &&
                        known->reason == event.reason;
      if (same) return;
      if (known) known->end = Time(Duration(at));
      record_ = sql_.bytes(known ? wire::encode(*known) : before);
      mark_.at(at);
      sql_ << "UPDATE node_event SET ended = :e, record = :r WHERE cluster = :c AND node = :n AND "
              "start = :s",
          use(at), use(record_), use(cluster_), use(node), use(open);
    }
    if (event.end != kNoTime) return;
    record_ = sql_.bytes(wire::encode(event));
    sql_ << "DELETE FROM node_event WHERE cluster = :c AND start = :s AND node = :n", use(cluster_),
        use(at), use(node);
    sql_ << "INSERT INTO node_event(cluster, node, start, ended, record) "
            "VALUES(:c, :n, :s, :e, :r)",
        use(cluster_), use(node), use(at), use(kNotEnded), use(record_);
    mark_.at(at);
  }

  void put(const ClusterHistory& event) {
    const int64_t at = micros(event.time);
    std::string before;
    sql_ << "SELECT record FROM cluster_event WHERE cluster = :c AND ended = :o", use(cluster_),
        use(kNotEnded), into(before);
    if (sql_.got_data()) {
      const auto known = wire::decode<ClusterHistory>(sql_.read_bytes(before));
      if (known && known->tres == event.tres && known->nodes == event.nodes) return;
    }
    sql_ << "UPDATE cluster_event SET ended = :e WHERE cluster = :c AND ended = :o AND start < :s",
        use(at), use(cluster_), use(kNotEnded), use(at);
    record_ = sql_.bytes(wire::encode(event));
    sql_ << "DELETE FROM cluster_event WHERE cluster = :c AND start = :s", use(cluster_), use(at);
    sql_ << "INSERT INTO cluster_event(cluster, start, ended, record) VALUES(:c, :s, :e, :r)",
        use(cluster_), use(at), use(kNotEnded), use(record_);
    mark_.at(at);
  }

  void put(const ReservationHistory& reservation) {
    const int64_t start = micros(reservation.start), end = micros(reservation.end);
    const std::string name = sql_.text(reservation.name);
    record_ = sql_.bytes(wire::encode(reservation));
    sql_ << "DELETE FROM reservation WHERE cluster = :c AND start = :s AND name = :n",
        use(cluster_), use(start), use(name);
    sql_ << "INSERT INTO reservation(cluster, name, start, ended, record) "
            "VALUES(:c, :n, :s, :e, :r)",
        use(cluster_), use(name), use(start), use(end), use(record_);
  }

  bool has(const BlobHistory& blob) {
    const std::string key = sql_.bytes(blob.key);
    int64_t there = 0;
    sql_ << "SELECT cluster FROM \"blob\" WHERE cluster = :c AND \"key\" = :k", use(cluster_),
        use(key), into(there);
    return sql_.got_data();
  }

  void put(const BlobHistory& blob) {
    if (has(blob)) return;
    const std::string key = sql_.bytes(blob.key);
    record_ = sql_.bytes(blob.bytes);
    sql_ << "INSERT INTO \"blob\"(cluster, \"key\", bytes) VALUES(:c, :k, :b)", use(cluster_),
        use(key), use(record_);
  }

  void put(const HistoryRecord& record) {
    if (record.job != nullptr) put(*record.job);
    if (record.step != nullptr) put(*record.step);
    if (record.node != nullptr) put(*record.node);
    if (record.cluster != nullptr) put(*record.cluster);
    if (record.reservation != nullptr) put(*record.reservation);
    if (record.blob != nullptr) put(*record.blob);
  }

  // An event that is over, or the last one that is known.
  void put_past(const PastEvent& event) {
    const int64_t start = micros(event.start);
    int64_t end = event.end == kNoTime ? kNotEnded : micros(event.end);
    const std::string node = event.record.node ? sql_.text(event.record.node->node) : "";
    const std::string table = event.record.node ? "node_event" : "cluster_event";
    const std::string whose = event.record.node ? " AND node = :n" : "";
    int64_t known = 0, next = 0;
    soci::indicator found = soci::i_null;
    soci::statement look(sql_);
    look.exchange(use(start));
    look.exchange(use(start));
    look.exchange(use(cluster_));
    if (event.record.node) look.exchange(use(node));
    look.exchange(into(known));
    look.exchange(into(next, found));
    look.alloc();
    look.prepare(
        "SELECT coalesce(sum(CASE WHEN start = :s THEN 1 ELSE 0 END), 0), "
        "min(CASE WHEN start > :t THEN start END) FROM " +
        table + " WHERE cluster = :c" + whose);
    look.define_and_bind();
    look.execute(true);
    if (known != 0) return;
    if (found == soci::i_ok) end = std::min(end, next);
    record_ = sql_.bytes(event.record.node ? wire::encode(*event.record.node)
                                           : wire::encode(*event.record.cluster));
    if (event.record.node)
      sql_ << "INSERT INTO node_event(cluster, node, start, ended, record) "
              "VALUES(:c, :n, :s, :e, :r)",
          use(cluster_), use(node), use(start), use(end), use(record_);
    else
      sql_ << "INSERT INTO cluster_event(cluster, start, ended, record) VALUES(:c, :s, :e, :r)",
          use(cluster_), use(start), use(end), use(record_);
    mark_.at(start);
  }

  // To a day: most scripts that are used again are used again soon.
  void note_use(const std::string& key, BlobRole role, int64_t time) {
    if (key.empty()) return;
    constexpr int64_t kDay = 86'400'000'000;
    key_ = sql_.bytes(key);
    role_ = static_cast<int>(role);
    if (find_use_.execute(true)) {
      if (used_ >= time - kDay) return;
      sql_ << "UPDATE blob_use SET used = :u WHERE cluster = :c AND \"key\" = :k AND role = :r",
          use(time), use(cluster_), use(key_), use(role_);
      return;
    }
    constexpr int kUnknown = static_cast<int>(BlobRole::kUnknown);
    sql_ << "DELETE FROM blob_use WHERE cluster = :c AND \"key\" = :k AND role = :r", use(cluster_),
        use(key_), use(kUnknown);
    sql_ << "INSERT INTO blob_use(cluster, \"key\", role, used) VALUES(:c, :k, :r, :u)",
        use(cluster_), use(key_), use(role_), use(time);
  }

  // What was changed of the past is summed up again.
  void finish() { mark_.write(sql_, cluster_); }

 private:
  // The record of a run that is there already. What it waited for only the scheduler knew when it
  // started: later records, which say nothing of it, leave that as it is.
  std::string with_reason(const JobHistory& job) {
    if (job.state == JobState::kPending || job.reason != reason_text(JobReason::kNone))
      return wire::encode(job);
    find_record_.execute(true);
    const auto known = wire::decode<JobHistory>(sql_.read_bytes(before_));
    if (!known || known->reason == job.reason) return wire::encode(job);
    JobHistory whole = job;
    whole.reason = known->reason;
    return wire::encode(whole);
  }

  Session& sql_;
  int64_t cluster_;
  int64_t job_ = 0, submit_ = 0, restarts_ = 0, part_ = 0, array_job_ = 0, het_job_ = 0, uid_ = 0,
          gid_ = 0, row_ = 0, number_ = 0;
  JobTimes known_, times_;
  UsageMark mark_;
  bool keeps_ends_ = false;
  int state_ = 0, role_ = 0;
  int64_t used_ = 0;
  std::string account_, record_, before_, key_;
  soci::statement find_run_, add_job_, change_job_, find_record_, find_step_, add_step_,
      change_step_, find_use_;
};

}  // namespace

bool restore_blob(Session& sql, int64_t cluster, const BlobHistory& blob, BlobRole role,
                  int64_t used) {
  Writer writer(sql, cluster);
  const bool was_there = writer.has(blob);
  writer.put(blob);
  writer.note_use(blob.key, role, used);
  return !was_there;
}

uint64_t restore_history(Session& sql, int64_t cluster, const std::vector<HistoryRecord>& records) {
  Writer writer(sql, cluster);
  uint64_t count = 0;
  for (const HistoryRecord& one : records) {
    if ((one.job == nullptr || writer.has(*one.job)) &&
        (one.step == nullptr || writer.has(*one.step)))
      continue;
    writer.put(one);
    ++count;
  }
  writer.finish();
  return count;
}

int64_t cluster_row(Session& sql, const std::string& name, Time now) {
  int64_t row = 0;
  const int64_t created = micros(now);
  sql << "SELECT id FROM cluster WHERE name = :n", use(name), into(row);
  if (sql.got_data()) return row;
  sql << "INSERT INTO cluster(name, stream, control_host, created) VALUES(:n, '', '', :c)",
      use(name), use(created);
  sql << "SELECT id FROM cluster WHERE name = :n", use(name), into(row);
  return row;
}

Status store_past(Database& database, const std::string& cluster,
                  const std::vector<HistoryRecord>& records, const std::vector<PastEvent>& events,
                  Time now) {
  return database.write([&](Session& sql) -> Status {
    Writer writer(sql, cluster_row(sql, cluster, now));
    for (const HistoryRecord& record : records) writer.put(record);
    for (const PastEvent& event : events) writer.put_past(event);
    writer.finish();
    return {};
  });
}

Result<protocol::StoreHistoryReply> store_history(Database& database,
                                                  const protocol::StoreHistoryRequest& request,
                                                  Time now) {
  if (request.cluster.empty() || request.first == 0)
    return failure(ErrorCode::kBadRequest, "records of no cluster");
  protocol::StoreHistoryReply reply;
  const Status done = database.write([&](Session& sql) -> Status {
    const int64_t cluster = cluster_row(sql, request.cluster, now);
    std::string stream;
    int64_t last = 0;
    sql << "SELECT stream, sequence FROM cluster WHERE id = :i", use(cluster), into(stream),
        into(last);
    // a new stream: what it begins with is what there is
    if (stream != request.stream) {
      if (!stream.empty())
        log::warning(
            "cluster {}: its controller begins a new stream of records behind number {}: it has a new state, or an older "
            "one that was put back",
            request.cluster, last);
      last = static_cast<int64_t>(request.first) - 1;
    }
    auto number = static_cast<int64_t>(request.first);
    // what a controller has removed was durable here: a copy of the database was put back
    if (number > last + 1)
      log::error("cluster {}: records {} to {} are not in the database any more", request.cluster,
                 last + 1, number - 1);
    Writer writer(sql, cluster);
    writer.keep_ends();
    for (const std::string& bytes : request.records) {
      if (number++ <= last) continue;
      if (const auto record = wire::decode<HistoryRecord>(bytes)) writer.put(*record);
      else
        log::error("cluster {}: record {} cannot be read: {}", request.cluster, number - 1,
                   record.error().text);
    }
    writer.finish();
    last = std::max(last, number - 1);
    sql << "UPDATE cluster SET stream = :t, sequence = :s, control_host = :h, control_port = :p, "
           "protocol_version = :v WHERE id = :i",
        use(request.stream), use(last), use(request.control_host), use(request.control_port),
        use(request.protocol_version), use(cluster);
    reply.last = static_cast<uint64_t>(last);
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return reply;
}

}  // namespace sluice::dbd
