// The controller's counts as sdiag shows them.
#pragma once

#include <string>

#include "cli/format/structured_output.hpp"
#include "common/protocol/admin.hpp"

namespace sluice::cli {

enum class CallOrder { kCount, kId, kTotal, kAverage };

[[nodiscard]] std::string statistics_text(const protocol::QueryStatisticsReply& counts,
                                          CallOrder order);
[[nodiscard]] Json statistics_json(const protocol::QueryStatisticsReply& counts);

}  // namespace sluice::cli
