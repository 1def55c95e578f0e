// What is said of jobs of the past, changed by who may: comments, extra, wckey, derived exit code.
#pragma once

#include <functional>

#include "common/protocol/accounting_jobs.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

inline constexpr const char* kModifyJob = "Modify Job";  // the action of its transactions

// Whether the job of a cluster may be changed so; kNotFound: it is left as it is.
using MayAmend = std::function<Status(const std::string& cluster, const JobHistory& job)>;

// Jobs of one request, of who is no operator and of others.
inline constexpr size_t kMostOwnJobs = 10'000;
inline constexpr size_t kMostJobs = 100'000;

struct Amendment {
  protocol::ChangeJobHistoryRequest request;
  std::string actor;  // for the transaction
  MayAmend may;
  size_t most_jobs = kMostJobs;
  // Asked between jobs that are looked up: true where nobody waits for the answer any more.
  std::function<bool()> is_over = [] { return false; };
};

struct Amended {
  protocol::ChangeJobHistoryReply reply;
  size_t written = 0;  // jobs that were changed: not those to which nothing of it is new
};

// All of them, or none, with one transaction. The errors of `may` but kNotFound are given back;
// kBadRequest: more jobs are meant than one request may change, or what they are to have is no text
// or exit code.
[[nodiscard]] Result<Amended> amend_jobs(Database& database, const Amendment& amendment, Time now);

}  // namespace sluice::dbd
