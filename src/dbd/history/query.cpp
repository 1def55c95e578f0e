#include "dbd/history/query.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

constexpr size_t kChunkBytes = size_t{1} << 20;  // about
constexpr size_t kMostValues = 2000;             // of a list; longer ones are left to the filter
constexpr size_t kChunkRows = 2000;              // that are looked at for one
constexpr size_t kMostWords = 1000;              // of who is no operator, in all lists
constexpr size_t kMostNumbers = 10'000;

// A condition that is put together: its text holds marks alone, the values stand beside it.
class Condition {
 public:
  void add(std::string_view text) { text_.append(text); }
  void value(int64_t number) {
    numbers_.push_back(number);
    order_.push_back(true);
    mark();
  }
  void value(const std::string& word) {
    words_.push_back(word);
    order_.push_back(false);
    mark();
  }
  // " AND COLUMN IN (…)"; nothing for an empty list.
  template <class List>
  void in(std::string_view column, const List& list) {
    if (list.empty()) return;
    text_.append(" AND ").append(column).append(" IN (");
    values(list);
    text_ += ')';
  }
  template <class List>
  void values(const List& list) {
    bool first = true;
    for (const auto& one : list) {
      if (!std::exchange(first, false)) text_ += ',';
      value(one);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  void bind(soci::statement& statement) {
    size_t number = 0, word = 0;
    for (const bool is_number : order_) {
      if (is_number) statement.exchange(use(numbers_[number++]));
      else statement.exchange(use(words_[word++]));
    }
  }

 private:
  void mark() { text_.append(":v").append(std::to_string(order_.size())); }
  std::string text_;
  std::vector<int64_t> numbers_;
  std::vector<std::string> words_;
  std::vector<bool> order_;  // of which of them the next value is
};

tl::unexpected<Error> nobody_waits() {
  return failure(ErrorCode::kConnectionLost, "nobody waits for the answer any more");
}

}  // namespace

bool is_long(const protocol::QueryHistoryRequest& request) {
  size_t words = request.states.size();
  for (const auto* list :
       {&request.clusters, &request.accounts, &request.partitions, &request.qos, &request.names,
        &request.wckeys, &request.constraints, &request.reservations, &request.reasons})
    words += list->size();
  const auto hosts = count_hosts(request.nodes);
  if (!request.nodes.empty() && hosts) words += *hosts;
  return words > kMostWords ||
         request.jobs.size() + request.uids.size() + request.gids.size() > kMostNumbers;
}

bool is_too_wide(const protocol::QueryHistoryRequest& request, Duration most, Time now) {
  if (!request.jobs.empty() && request.jobs.size() <= kMostValues) return false;
  const Time until = std::min(request.until, now);
  return until > Time::min() + most && request.from < until - most;
}

Result<std::optional<protocol::HistoryChunk>> HistoryQuery::next(Time now) {
  protocol::HistoryChunk chunk;
  chunk.now = now;
  while (chunk.jobs.empty() && (!found_ || at_ < rows_.size())) {
    const Status done = database_.read([&](Session& sql) -> Status {
      if (!std::exchange(found_, true)) {
        if (auto ok = find_rows(sql); !ok) return ok;
      }
      return read_rows(sql, chunk);
    });
    if (!done) return tl::unexpected(done.error());
  }
  if (chunk.jobs.empty()) return std::optional<protocol::HistoryChunk>();
  return std::optional(std::move(chunk));
}

Status HistoryQuery::find_rows(Session& sql) {
  std::vector<std::pair<int64_t, std::string>> known;
  int64_t id = 0;
  std::string name;
  soci::statement list =
      (sql.prepare << "SELECT id, name FROM cluster ORDER BY name", into(id), into(name));
  list.execute();
  while (list.fetch()) known.emplace_back(id, name);
  const std::vector<std::string>& asked = filter_.request().clusters;
  for (const auto& [row, cluster] : known) {
    if (!asked.empty() && std::ranges::find(asked, cluster) == asked.end()) continue;
    clusters_.push_back(cluster);
    const auto position = static_cast<uint32_t>(clusters_.size() - 1);
    if (auto ok = find_rows(sql, row, position); !ok) return ok;
  }
  return {};
}

Status HistoryQuery::find_rows(Session& sql, int64_t cluster, uint32_t position) {
  const protocol::QueryHistoryRequest& request = filter_.request();
  Condition where;
  where.add("SELECT job.id, job.job_id, job.submit FROM ");
  std::set<int64_t> jobs;
  for (const auto& one : request.jobs) jobs.insert(one.job);
  if (jobs.empty() || jobs.size() > kMostValues) {
    where.add("job WHERE cluster = ");
    where.value(cluster);
  } else {
    // one look-up in an index each: with an OR SQLite, and with IN (…) MariaDB, would read all jobs
    const char* joint = "(";
    for (const char* column : {"job_id", "array_job", "het_job"}) {
      where.add(std::exchange(joint, " UNION "));
      where.add("SELECT id FROM job WHERE cluster = ");
      where.value(cluster);
      where.in(column, jobs);
    }
    where.add(") AS found JOIN job ON job.id = found.id WHERE cluster = ");
    where.value(cluster);
  }
  if (request.from > kNoTime) {
    where.add(" AND ended >= ");
    where.value(request.from.time_since_epoch().count());
  }
  if (request.until < kNever) {
    // what was cancelled before it was eligible has ended by then
    where.add(" AND (eligible <= ");
    where.value(request.until.time_since_epoch().count());
    where.add(" OR submit <= ");
    where.value(request.until.time_since_epoch().count());
    where.add(")");
  }
  if (request.uids.size() <= kMostValues) where.in("uid", request.uids);
  if (request.gids.size() <= kMostValues) where.in("gid", request.gids);
  // by an expression, which keeps SQLite from reading all jobs in the order of an index; the task
  // that has its array's number is its last one
  where.add(
      " ORDER BY CASE WHEN array_job > 0 THEN array_job ELSE job_id END, "
      "CASE WHEN array_job = job_id THEN 1 ELSE 0 END, job_id, submit DESC, restarts DESC, part");
  const size_t first = rows_.size();
  Row row;
  row.cluster = position;
  soci::statement statement(sql);
  statement.exchange(into(row.id));
  statement.exchange(into(row.job));
  statement.exchange(into(row.submit));
  where.bind(statement);
  statement.alloc();
  statement.prepare(where.text());
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) {
    if (is_over_()) return nobody_waits();
    rows_.push_back(row);
  }
  sort_rows(first);
  return {};
}

// By submission: of a job that was queued again its last one, and with its runs together, unless
// each run stands for itself.
void HistoryQuery::sort_rows(size_t first) {
  const bool each_run = filter_.request().duplicates;
  for (size_t i = first + 1; !each_run && i < rows_.size(); ++i)
    if (rows_[i].job == rows_[i - 1].job) rows_[i].submit = rows_[i - 1].submit;
  std::stable_sort(rows_.begin() + static_cast<std::ptrdiff_t>(first), rows_.end(),
                   [](const Row& a, const Row& b) { return a.submit < b.submit; });
}

// Runs of a job come the newest first: the first of them that is asked for stands for all.
bool HistoryQuery::is_earlier_run(const Row& row, const JobHistory& job) {
  if (row.job != shown_.job || row.cluster != shown_.cluster) {
    shown_ = row;
    shown_parts_.clear();
  }
  return !shown_parts_.insert(job.part).second && !filter_.request().duplicates;
}

Status HistoryQuery::read_rows(Session& sql, protocol::HistoryChunk& chunk) {
  int64_t id = 0;
  std::string bytes;
  soci::statement read =
      (sql.prepare << "SELECT record FROM job WHERE id = :i", use(id), into(bytes));
  size_t size = 0;
  for (size_t looked = 0; at_ < rows_.size() && looked < kChunkRows && size < kChunkBytes;
       ++at_, ++looked) {
    if (is_over_()) return nobody_waits();
    const Row& row = rows_[at_];
    id = row.id;
    if (!read.execute(true)) continue;  // purged meanwhile
    auto job = wire::decode<JobHistory>(sql.read_bytes(bytes));
    if (!job) return tl::unexpected(job.error());
    if (!filter_.matches(*job) || (may_see_ && !may_see_(clusters_[row.cluster], *job)) ||
        is_earlier_run(row, *job))
      continue;
    size += bytes.size();
    protocol::HistoryJob out{
        clusters_[row.cluster], static_cast<uint64_t>(row.id), std::move(*job), {}};
    if (filter_.request().steps && out.job.part == 0) read_steps(sql, row.id, out);
    for (const StepHistory& step : out.steps) size += step.submit_line.size() + sizeof(StepHistory);
    chunk.jobs.push_back(std::move(out));
  }
  return {};
}

void HistoryQuery::read_steps(Session& sql, int64_t row, protocol::HistoryJob& out) {
  std::string bytes;
  soci::statement read = (sql.prepare << "SELECT record FROM step WHERE job = :j ORDER BY number",
                          use(row), into(bytes));
  read.execute();
  const history::WantedSteps wanted = filter_.steps_of(out.job);
  std::vector<StepHistory> named;
  while (read.fetch()) {
    auto step = wire::decode<StepHistory>(sql.read_bytes(bytes));
    if (!step || !wanted.contains(step->id.step) || !filter_.in_time(*step)) continue;
    if (step->id.step > kMaxNormalStep) named.push_back(std::move(*step));
    else out.steps.push_back(std::move(*step));
  }
  // "batch" has the lowest number of the two, "extern" follows
  out.steps.insert(out.steps.begin(), std::make_move_iterator(named.begin()),
                   std::make_move_iterator(named.end()));
}

Result<JobId> last_job_id(const Database& database, const std::string& cluster) {
  constexpr int kLast = 10'000;  // rows: in the order in which jobs were first told of
  long long last = 0;
  const Status done = database.read([&](Session& sql) -> Status {
    sql << "SELECT coalesce(max(job_id), 0) FROM (SELECT job_id FROM job WHERE cluster = "
           "(SELECT id FROM cluster WHERE name = :c) ORDER BY id DESC LIMIT :n) AS newest",
        use(cluster), use(kLast), into(last);
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return static_cast<JobId>(last);
}

Result<std::string> job_text(const Database& database, const protocol::QueryJobTextRequest& request,
                             const std::function<bool(const JobHistory&)>& may_see) {
  protocol::QueryHistoryRequest asked;
  asked.clusters = {request.cluster};
  asked.jobs = {request.job};
  asked.steps = false;
  auto filter = history::Filter::make(std::move(asked));
  if (!filter) return tl::unexpected(filter.error());
  auto found = HistoryQuery(database, std::move(*filter)).next(kNoTime);
  if (!found) return tl::unexpected(found.error());
  if (!*found) return failure(ErrorCode::kInvalidJobId);
  const JobHistory& job = (*found)->jobs.front().job;
  // no other words than of one that is not there: whose jobs there are may be private
  if (!may_see(job)) return failure(ErrorCode::kInvalidJobId);
  const std::string& key = request.environment ? job.environment_blob : job.script_blob;
  std::string text;
  bool is_there = false;
  const Status done = database.read([&](Session& sql) -> Status {
    const std::string stored_key = sql.bytes(key);
    sql << "SELECT bytes FROM \"blob\" WHERE \"key\" = :k AND cluster = "
           "(SELECT id FROM cluster WHERE name = :c)",
        use(stored_key), use(request.cluster), into(text);
    is_there = sql.got_data();
    sql.read_bytes(text);
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  if (!is_there) return failure(ErrorCode::kNotFound);
  return text;
}

}  // namespace sluice::dbd
