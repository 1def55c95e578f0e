// Sums of usage in the database: rolling them up, and answering reports from them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/accounting_usage.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

// Sums up all hours of all clusters that are over and not summed up yet, or changed since, a day a
// transaction. No-op where there are none.
[[nodiscard]] Status roll_up(Database& database, Time now);

// Of what is summed up; job sizes and reservations are read of the jobs themselves. `is_over` is
// asked between rows: true where nobody waits for the answer any more. Errors: kBadRequest,
// kConnectionLost.
[[nodiscard]] Result<protocol::QueryReportReply> query_usage(
    const Database& database, const protocol::QueryReportRequest& request, Time now,
    const std::function<bool()>& is_over = {});
// True where its lists are longer than what who is no operator may name at once.
[[nodiscard]] bool is_long(const protocol::QueryReportRequest& request);

// The beginning of the day or month of this host's time that `at` is in, and of the next.
[[nodiscard]] Time day_of(Time at, int days_later = 0);
[[nodiscard]] Time month_of(Time at, int months_later = 0);

}  // namespace sluice::dbd
