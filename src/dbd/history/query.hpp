// Answers a request for history chunk by chunk: the numbers of all rows that may be meant at once,
// then their records as the reader takes them. No transaction stays open in between.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/history/history_filter.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

class HistoryQuery {
 public:
  using MaySee = std::function<bool(const std::string& cluster, const JobHistory&)>;
  // An empty `may_see`: all.
  HistoryQuery(const Database& database, history::Filter filter, MaySee may_see = {})
      : database_(database), filter_(std::move(filter)), may_see_(std::move(may_see)) {}

  // Asked between rows: true where nobody waits for the answer any more.
  void end_when(std::function<bool()> is_over) { is_over_ = std::move(is_over); }

  // The next jobs, at least one; nothing at the end. Errors: kConnectionLost: nobody waits.
  [[nodiscard]] Result<std::optional<protocol::HistoryChunk>> next(Time now);

 private:
  struct Row {
    int64_t id = 0, job = 0, submit = 0;
    uint32_t cluster = 0;  // position in clusters_
  };
  Status find_rows(Session& sql);
  Status find_rows(Session& sql, int64_t cluster, uint32_t position);
  void sort_rows(size_t first);
  Status read_rows(Session& sql, protocol::HistoryChunk& chunk);
  void read_steps(Session& sql, int64_t row, protocol::HistoryJob& out);
  [[nodiscard]] bool is_earlier_run(const Row& row, const JobHistory& job);

  const Database& database_;
  const history::Filter filter_;
  const MaySee may_see_;
  std::function<bool()> is_over_ = [] { return false; };
  std::vector<std::string> clusters_;
  std::vector<Row> rows_;  // by cluster and submission, of a job the newest first
  size_t at_ = 0;
  bool found_ = false;
  Row shown_;                       // the job that was looked at last …
  std::set<uint32_t> shown_parts_;  // … and what of it was taken
};

// More than who is no operator may name at once: each word is compared with each job.
[[nodiscard]] bool is_long(const protocol::QueryHistoryRequest& request);

// Longer than MaxQueryTimeRange. Jobs that are looked up by number may be of any time.
[[nodiscard]] bool is_too_wide(const protocol::QueryHistoryRequest& request, Duration most,
                               Time now);

// The highest id among the jobs that a cluster was given last; kNoJob: it has none.
[[nodiscard]] Result<JobId> last_job_id(const Database& database, const std::string& cluster);

// The script or environment: kInvalidJobId, kNotFound; `may_see` says who may.
[[nodiscard]] Result<std::string> job_text(const Database& database,
                                           const protocol::QueryJobTextRequest& request,
                                           const std::function<bool(const JobHistory&)>& may_see);

}  // namespace sluice::dbd
