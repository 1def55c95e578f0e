#include "dbd/history/amend.hpp"

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

constexpr size_t kMostJobs = 100'000;
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

// "comment='as it was', derived_ec=3".
std::string info_of(const JobSettings& settings) {
  std::string out;
  for (const TextSetting& text : kTexts) {
    if (settings.*text.value)
      out += fmt::format("{}{}='{}'", out.empty() ? "" : ", ", text.name, *(settings.*text.value));
  }
  if (settings.derived_exit_status)
    out += fmt::format("{}derived_ec={}", out.empty() ? "" : ", ", *settings.derived_exit_status);
  return out;
}

std::vector<protocol::TransactionRecord> transactions_of(const std::vector<MeantJob>& jobs,
                                                         const Amendment& amendment, Time now) {
  std::vector<protocol::TransactionRecord> out;
  protocol::TransactionRecord t;
  t.time = now;
  t.action = kModifyJob;
  t.actor = amendment.actor;
  t.info = info_of(amendment.request.settings);
  for (const MeantJob& job : jobs) {
    t.where = fmt::format("job_db_inx={}", job.row);
    t.clusters = {job.cluster};
    t.accounts = {job.account};
    t.users = {job.user};
    out.push_back(t);
  }
  return out;
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

// Which rows are meant, and what is told of them.
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
      if (rows.size() == kMostJobs)
        return failure(ErrorCode::kBadRequest, "too many jobs in one request");
      rows.push_back({static_cast<int64_t>(one.index), one.cluster, one.job.account, one.job.user});
      reply.jobs.push_back({one.job.id, one.job.submit});
    }
  }
}

}  // namespace

Result<protocol::ChangeJobHistoryReply> amend_jobs(Database& database, const Amendment& amendment,
                                                   Time now) {
  const JobSettings& settings = amendment.request.settings;
  if (Status ok = check(settings); !ok) return tl::unexpected<Error>(ok.error());
  protocol::ChangeJobHistoryReply reply;
  std::vector<MeantJob> jobs;
  if (Status ok = find_jobs(database, amendment, now, jobs, reply); !ok)
    return tl::unexpected<Error>(ok.error());
  if (!amendment.request.commit || jobs.empty()) return reply;
  const Status done = database.write([&](Session& sql) -> Status {
    for (const MeantJob& job : jobs)
      if (Status ok = write(sql, job.row, settings); !ok) return ok;
    write_transactions(sql, transactions_of(jobs, amendment, now));
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return reply;
}

}  // namespace sluice::dbd
