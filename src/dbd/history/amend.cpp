#include "dbd/history/amend.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/query.hpp"
#include "dbd/store/entity_rows.hpp"
#include "dbd/store/usage_mark.hpp"

namespace sluice::dbd {
namespace {

using protocol::JobSettings;
using soci::into;
using soci::use;

// Of a transaction: bytes of each text, and (about) of the rows of its jobs; names that it is found
// by.
constexpr size_t kToldOfText = 128;
constexpr size_t kToldOfRows = 128;
constexpr size_t kToldNames = 100;
constexpr int32_t kMostExitStatus = UINT16_MAX;  // as wait(2) gives it

struct MeantJob {
  int64_t row = 0;
  std::string cluster, account, user;
};

struct TextSetting {
  const char* name;  // of transactions
  std::optional<std::string> JobSettings::*value;
  std::string JobHistory::*kept;
};
constexpr TextSetting kTexts[] = {
    {"comment", &JobSettings::comment, &JobHistory::comment},
    {"admin_comment", &JobSettings::admin_comment, &JobHistory::admin_comment},
    {"system_comment", &JobSettings::system_comment, &JobHistory::system_comment},
    {"extra", &JobSettings::extra, &JobHistory::extra},
    {"wckey", &JobSettings::wckey, &JobHistory::wckey},
};

Status check(const JobSettings& settings) {
  for (const TextSetting& text : kTexts) {
    if (settings.*text.value && !is_text(*(settings.*text.value)))
      return failure(ErrorCode::kBadRequest, fmt::format("Invalid value for {}", text.name));
  }
  const auto& status = settings.derived_exit_status;
  if (status && (*status < 0 || *status > kMostExitStatus))
    return failure(ErrorCode::kBadRequest, "Invalid value for derived_ec");
  return {};
}

void amend(JobHistory& job, const JobSettings& settings) {
  for (const TextSetting& text : kTexts)
    if (settings.*text.value) job.*text.kept = *(settings.*text.value);
  if (settings.derived_exit_status) job.derived_exit_status = *settings.derived_exit_status;
}

// Nothing of it is new to the job.
bool is_so(const JobHistory& job, const JobSettings& settings) {
  return std::ranges::all_of(kTexts,
                             [&](const TextSetting& text) {
                               const auto& value = settings.*text.value;
                               return !value || *value == job.*text.kept;
                             }) &&
         (!settings.derived_exit_status ||
          *settings.derived_exit_status == job.derived_exit_status);
}

// At most `most` bytes of it, none of a character that is cut.
std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

// "comment='as it was', derived_ec=3".
std::string info_of(const JobSettings& settings) {
  std::string out;
  for (const TextSetting& text : kTexts) {
    if (settings.*text.value)
      out += fmt::format("{}{}='{}'", out.empty() ? "" : ", ", text.name,
                         shortened(*(settings.*text.value), kToldOfText));
  }
  if (settings.derived_exit_status)
    out += fmt::format("{}derived_ec={}", out.empty() ? "" : ", ", *settings.derived_exit_status);
  return out;
}

// "job_db_inx=7", "904 jobs: job_db_inx=5-908".
std::string where_of(const std::vector<MeantJob>& jobs) {
  if (jobs.size() == 1) return fmt::format("job_db_inx={}", jobs.front().row);
  std::vector<int64_t> rows;
  rows.reserve(jobs.size());
  for (const MeantJob& job : jobs) rows.push_back(job.row);
  std::ranges::sort(rows);
  std::string ranges;
  for (size_t first = 0, last = 0; first < rows.size(); first = ++last) {
    while (last + 1 < rows.size() && rows[last + 1] <= rows[last] + 1) ++last;
    if (ranges.size() > kToldOfRows) {
      ranges += ",...";
      break;
    }
    ranges += fmt::format("{}{}", ranges.empty() ? "" : ",", rows[first]);
    if (last > first) ranges += fmt::format("-{}", rows[last]);
  }
  return fmt::format("{} jobs: job_db_inx={}", jobs.size(), ranges);
}

// What filters find the transaction by: all names, or of very many the first ones.
std::vector<std::string> names_of(const std::vector<MeantJob>& jobs, std::string MeantJob::*name) {
  std::set<std::string> out;
  for (const MeantJob& job : jobs)
    if (out.size() < kToldNames) out.insert(job.*name);
  return {out.begin(), out.end()};
}

// One for all: a request of few bytes may mean very many jobs.
protocol::TransactionRecord transaction_of(const std::vector<MeantJob>& jobs,
                                           const Amendment& amendment, Time now) {
  protocol::TransactionRecord t;
  t.time = now;
  t.action = kModifyJob;
  t.actor = amendment.actor;
  t.where = where_of(jobs);
  t.info = info_of(amendment.request.settings);
  t.clusters = names_of(jobs, &MeantJob::cluster);
  t.accounts = names_of(jobs, &MeantJob::account);
  t.users = names_of(jobs, &MeantJob::user);
  return t;
}

Status write(Session& sql, int64_t row, const JobSettings& settings) {
  std::string bytes;
  int64_t cluster = 0;
  sql << "SELECT cluster, record FROM job WHERE id = :i", use(row), into(cluster), into(bytes);
  if (!sql.got_data()) return {};  // purged meanwhile
  Result<JobHistory> job = wire::decode<JobHistory>(sql.read_bytes(bytes));
  if (!job) return failure("a record of history is damaged");
  if (settings.wckey && *settings.wckey != job->wckey && job->start != kNoTime) {
    UsageMark mark;  // its usage is summed up under another wckey
    mark.at(job->start.time_since_epoch().count());
    mark.write(sql, cluster);
  }
  amend(*job, settings);
  bytes = sql.bytes(wire::encode(*job));
  sql << "UPDATE job SET record = :r WHERE id = :i", use(bytes), use(row);
  return {};
}

// Which jobs are meant, for the reply, and which rows of them are to be written.
Status find_jobs(const Database& database, const Amendment& amendment, Time now,
                 std::vector<MeantJob>& rows, protocol::ChangeJobHistoryReply& reply) {
  protocol::QueryHistoryRequest where = amendment.request.where;
  where.steps = false;
  auto filter = history::Filter::make(std::move(where));
  if (!filter) return tl::unexpected<Error>(filter.error());
  HistoryQuery query(database, std::move(*filter));
  query.end_when(amendment.is_over);
  while (true) {
    auto chunk = query.next(now);
    if (!chunk) return tl::unexpected<Error>(chunk.error());
    if (!*chunk) return {};
    for (const protocol::HistoryJob& one : (*chunk)->jobs) {
      Status allowed = amendment.may(one.cluster, one.job);
      if (!allowed && allowed.error().code == ErrorCode::kNotFound) continue;
      if (!allowed) return allowed;
      if (reply.jobs.size() == amendment.most_jobs)
        return failure(ErrorCode::kBadRequest, "too many jobs in one request");
      reply.jobs.push_back({one.job.id, one.job.submit});
      if (!is_so(one.job, amendment.request.settings))
        rows.push_back(
            {static_cast<int64_t>(one.index), one.cluster, one.job.account, one.job.user});
    }
  }
}

}  // namespace

Result<Amended> amend_jobs(Database& database, const Amendment& amendment, Time now) {
  const JobSettings& settings = amendment.request.settings;
  if (Status ok = check(settings); !ok) return tl::unexpected<Error>(ok.error());
  Amended out;
  std::vector<MeantJob> jobs;
  if (Status ok = find_jobs(database, amendment, now, jobs, out.reply); !ok)
    return tl::unexpected<Error>(ok.error());
  if (!amendment.request.commit || jobs.empty()) return out;
  const Status done = database.write([&](Session& sql) -> Status {
    for (const MeantJob& job : jobs)
      if (Status ok = write(sql, job.row, settings); !ok) return ok;
    write_transactions(sql, {transaction_of(jobs, amendment, now)});
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  out.written = jobs.size();
  return out;
}

}  // namespace sluice::dbd
