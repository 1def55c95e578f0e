// What is said of jobs of the past, changed by who may: comments, extra, wckey, derived exit code.
#pragma once

#include <functional>

#include "common/protocol/accounting_jobs.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

inline constexpr const char* kModifyJob = "Modify Job";  // the action of its transactions

// Whether the job of a cluster may be changed so; kNotFound: it is left as it is.
using MayAmend = std::function<Status(const std::string& cluster, const JobHistory& job)>;

struct Amendment {
  protocol::ChangeJobHistoryRequest request;
  std::string actor;  // for the transaction that is noted of each job
  MayAmend may;
  // Asked between jobs that are looked up: true where nobody waits for the answer any more.
  std::function<bool()> is_over = [] { return false; };
};

// All of them, or none. The errors of `may` but kNotFound are given back; kBadRequest: more jobs
// are meant than one request may change, or what they are to have is no text or exit code.
[[nodiscard]] Result<protocol::ChangeJobHistoryReply> amend_jobs(Database& database,
                                                                 const Amendment& amendment,
                                                                 Time now);

}  // namespace sluice::dbd
