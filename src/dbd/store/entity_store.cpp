#include "dbd/store/entity_store.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/model/history.hpp"
#include "common/os/clock.hpp"
#include "common/wire/codec.hpp"
#include "dbd/entities/query.hpp"
#include "dbd/store/entity_rows.hpp"

namespace sluice::dbd {

using protocol::ChangeAccountingReply;
using protocol::TransactionRecord;

namespace {

// Of transactions: what is read for one answer, about, and by one statement.
constexpr size_t kPageBytes = size_t{4} << 20;
constexpr size_t kPageRows = 20'000;
constexpr int kRowsAtOnce = 500;

// Versions go by the clock, so that a database that was made anew, or put back, has none that a
// controller knows of another.
uint64_t next_version(const Entities& before, Time now) {
  return std::max(before.version + 1, static_cast<uint64_t>(now.time_since_epoch().count()));
}

// The jobs that are not over of associations that `after` has no more, as lines.
Result<std::string> active_jobs(Session& sql, const Entities& before, const Entities& after) {
  std::string out;
  for (const auto& [id, stored] : before.associations) {
    const auto now = after.associations.find(id);
    const AssociationRecord& r = stored.record;
    if (stored.deleted || r.user.empty() || now == after.associations.end() || !now->second.deleted)
      continue;
    std::string bytes;
    soci::statement jobs =
        (sql.prepare << "SELECT record FROM job WHERE cluster IN (SELECT id FROM cluster WHERE "
                        "lower(name) = :c) AND account = :a AND ended = :e",
         soci::use(r.cluster), soci::use(r.account), soci::use(kNotEnded), soci::into(bytes));
    jobs.execute();
    while (jobs.fetch()) {
      const Result<JobHistory> job = wire::decode<JobHistory>(sql.read_bytes(bytes));
      if (!job) return failure("a record of table job is damaged");
      if (to_lower(job->user) != r.user ||
          (!r.partition.empty() && to_lower(job->partition) != r.partition))
        continue;
      out += fmt::format("\n  JobID = {:<10} C = {:<10} A = {:<10} U = {:<9}", job->id, r.cluster,
                         r.account, r.user);
    }
  }
  return out;
}

ChangeAccountingReply refusal_with(const std::string& jobs) {
  ChangeAccountingReply out;
  out.refused = true;
  out.errors = {" Error with request: Job(s) active, cancel job(s) before remove" + jobs};
  return out;
}

std::shared_ptr<const Entities> with_rules(Entities entities, SiteRules rules) {
  entities.rules = std::move(rules);
  return std::make_shared<const Entities>(std::move(entities));
}

}  // namespace

Status EntityStore::open() {
  std::shared_ptr<const Entities> read;
  Status done = database_.write([&](Session& sql) -> Status {
    if (stored_version(sql) == 0) {
      Entities fresh = new_entities();
      fresh.version = next_version(fresh, net::now());
      EntityDiff diff = difference({}, fresh);
      write_difference(sql, diff);
    }
    Entities held = read_entities(sql);
    held.rules = rules();
    read = std::make_shared<const Entities>(std::move(held));
    return {};
  });
  if (done) publish(std::move(read));
  return done;
}

void EntityStore::on_change(std::function<void(std::shared_ptr<const Entities>)> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
}

void EntityStore::use(SiteRules rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  if (current_) current_ = with_rules(*current_, rules_);
}

SiteRules EntityStore::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

std::shared_ptr<const Entities> EntityStore::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void EntityStore::publish(std::shared_ptr<const Entities> entities) {
  std::function<void(std::shared_ptr<const Entities>)> tell;
  {
    const std::lock_guard lock(mutex_);
    // a later commit may be here first
    if (current_ && current_->version >= entities->version) return;
    if (!(entities->rules == rules_)) entities = with_rules(*entities, rules_);
    current_ = entities;
    tell = tell_;
  }
  if (tell) tell(std::move(entities));
}

std::shared_ptr<const Entities> EntityStore::newest(Session& sql) const {
  const uint64_t version = stored_version(sql);
  std::shared_ptr<const Entities> mine = current();
  if (mine && mine->version == version) return mine;
  Entities held = read_entities(sql);
  held.rules = rules();
  return std::make_shared<const Entities>(std::move(held));
}

// With jobs that use it an association stays.
Status EntityStore::decide(Session& sql, const Entities& before,
                           const protocol::ChangeAccountingRequest& request, const Actor& actor,
                           Time now, ChangeOutcome& outcome) {
  outcome = decide_change(before, request, actor, now);
  if (outcome.reply.refused || request.verb != protocol::AccountingVerb::kDelete) return {};
  Result<std::string> jobs = active_jobs(sql, before, outcome.after);
  if (!jobs) return tl::unexpected<Error>(jobs.error());
  if (jobs->empty()) return {};
  outcome.reply = refusal_with(*jobs);
  outcome.reply.version = before.version;
  outcome.after = before;
  outcome.transactions.clear();
  return {};
}

Result<ChangeAccountingReply> EntityStore::change(const protocol::ChangeAccountingRequest& request,
                                                  const Actor& actor, Time now) {
  ChangeAccountingReply reply;
  if (!request.commit) {
    Status looked = database_.read([&](Session& sql) -> Status {
      ChangeOutcome outcome;
      Status decided = decide(sql, *current(), request, actor, now, outcome);
      reply = std::move(outcome.reply);
      return decided;
    });
    if (!looked) return tl::unexpected<Error>(looked.error());
    return reply;
  }
  std::shared_ptr<const Entities> after;
  Status done = database_.write([&](Session& sql) -> Status {
    const std::shared_ptr<const Entities> before = newest(sql);
    ChangeOutcome outcome;
    if (Status ok = decide(sql, *before, request, actor, now, outcome); !ok) return ok;
    reply = std::move(outcome.reply);
    if (reply.refused) return {};
    EntityDiff diff = difference(*before, outcome.after);
    // as it was: controllers need not look, and there is nothing to tell
    if (diff.empty()) {
      reply.version = before->version;
      return {};
    }
    diff.version = outcome.after.version = reply.version = next_version(*before, now);
    diff.transactions = std::move(outcome.transactions);
    write_difference(sql, diff);
    after = std::make_shared<const Entities>(std::move(outcome.after));
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  if (after) {
    reply.committed = true;
    publish(std::move(after));
  }
  return reply;
}

Result<protocol::LoadAccountingReply> EntityStore::load(
    const protocol::LoadAccountingRequest& request, const Actor& actor, Time now) {
  protocol::LoadAccountingReply reply;
  std::shared_ptr<const Entities> after;
  const auto decide_all = [&](Session& sql, const Entities& before,
                              EntityDiff& diff) -> Result<bool> {
    Entities state = before;
    std::vector<TransactionRecord> transactions;
    for (const std::string& bytes : request.changes) {
      const auto change = wire::decode<protocol::ChangeAccountingRequest>(bytes);
      if (!change) return tl::unexpected<Error>(change.error());
      if (!change_in_place(state, *change, actor, now, reply.replies.emplace_back(), transactions))
        return false;
    }
    if (std::string problem = default_qos_problem(state); !problem.empty()) {
      reply.replies.emplace_back().refused = true;
      reply.replies.back().errors.push_back(std::move(problem));
      return false;
    }
    // what is deleted and comes back in the same load was never gone
    Result<std::string> jobs = active_jobs(sql, before, state);
    if (!jobs) return tl::unexpected<Error>(jobs.error());
    if (!jobs->empty()) {
      reply.replies.push_back(refusal_with(*jobs));
      return false;
    }
    state.version = next_version(before, now);
    diff = difference(before, state);
    if (diff.empty()) return false;
    diff.transactions = std::move(transactions);
    after = std::make_shared<const Entities>(std::move(state));
    return true;
  };
  EntityDiff diff;
  bool written = false;
  const auto work = [&](Session& sql) -> Status {
    const auto before = request.commit ? newest(sql) : current();
    const Result<bool> decided = decide_all(sql, *before, diff);
    if (!decided) return tl::unexpected<Error>(decided.error());
    written = *decided && request.commit;
    if (written) write_difference(sql, diff);
    return {};
  };
  Status done = request.commit ? database_.write(work) : database_.read(work);
  if (!done) return tl::unexpected<Error>(done.error());
  reply.committed = written;
  if (written) publish(std::move(after));
  return reply;
}

Status EntityStore::update(const Work& work) {
  std::shared_ptr<const Entities> after;
  Status done = database_.write([&](Session& sql) -> Status {
    const std::shared_ptr<const Entities> before = newest(sql);
    Entities changed = *before;
    std::vector<TransactionRecord> transactions;
    if (!work(changed, transactions)) return {};
    changed.version = next_version(*before, net::now());
    EntityDiff diff = difference(*before, changed);
    diff.transactions = std::move(transactions);
    write_difference(sql, diff);
    after = std::make_shared<const Entities>(std::move(changed));
    return {};
  });
  if (done && after) publish(std::move(after));
  return done;
}

Status EntityStore::refresh() {
  std::shared_ptr<const Entities> held;
  Status done = database_.read([&](Session& sql) -> Status {
    held = newest(sql);
    return {};
  });
  if (done) publish(std::move(held));
  return done;
}

Result<EntityStore::TransactionPage> EntityStore::transactions(
    const protocol::AccountingConditions& where, uint64_t after) const {
  TransactionPage page;
  const long long from = where.start ? where.start->time_since_epoch().count() : 0;
  const long long to = where.end ? where.end->time_since_epoch().count() : INT64_MAX;
  auto id = static_cast<long long>(std::min(after, uint64_t{INT64_MAX}));
  size_t bytes_read = 0, looked = 0;
  // a few rows at a time: with a server as the database all that a statement finds is held here
  const auto read_some = [&](Session& sql) -> Status {
    const long long last = id;
    std::string bytes;
    // by an expression, so that rows are not sorted by number after they were found by time
    soci::statement statement =
        (sql.prepare << "SELECT id, record FROM txn WHERE id > :i AND time + 0 >= :f "
                        "AND time + 0 <= :t ORDER BY id LIMIT :n",
         soci::use(last), soci::use(from), soci::use(to), soci::use(kRowsAtOnce), soci::into(id),
         soci::into(bytes));
    statement.execute();
    int rows = 0;
    page.more_after = 0;
    while (page.more_after == 0 && statement.fetch()) {
      ++rows;
      bytes_read += bytes.size();
      Result<TransactionRecord> record = wire::decode<TransactionRecord>(sql.read_bytes(bytes));
      if (!record) return failure("a record of table txn is damaged");
      record->id = static_cast<uint64_t>(id);
      if (matches(*record, where)) page.records.push_back(std::move(*record));
      if (bytes_read >= kPageBytes || rows == kRowsAtOnce)
        page.more_after = static_cast<uint64_t>(id);
    }
    looked += static_cast<size_t>(rows);
    return {};
  };
  do {
    if (Status done = database_.read(read_some); !done) return tl::unexpected<Error>(done.error());
  } while (page.more_after != 0 && bytes_read < kPageBytes && looked < kPageRows);
  return page;
}

}  // namespace sluice::dbd
