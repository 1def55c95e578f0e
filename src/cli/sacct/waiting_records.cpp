#include "cli/sacct/waiting_records.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/protocol/admin.hpp"

namespace sluice::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

std::optional<uint64_t> records_in_controller(Client& client) {
  const auto reply =
      client.call<protocol::QueryStatisticsReply>(protocol::QueryStatisticsRequest{}, kPatience);
  if (!reply) return std::nullopt;
  return reply->history_waiting;
}

std::vector<std::string> waiting_lines(const std::vector<protocol::WaitingHistory>& waiting,
                                       const std::string& own, std::optional<uint64_t> count) {
  std::vector<std::string> out;
  for (const protocol::WaitingHistory& one : waiting) {
    const bool counted = count && iequals(one.cluster, own);
    if (counted && *count == 0) continue;            // they have been stored meanwhile
    if (!counted && one.since == kNoTime) continue;  // nobody says so
    std::string line = counted ? fmt::format("{} record(s)", *count) : "The newest records";
    line += fmt::format(" of cluster {} wait in its controller", one.cluster);
    if (one.since != kNoTime) line += fmt::format(" since {}", format_time(one.since));
    if (!one.reason.empty()) line += fmt::format(": {}", one.reason);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace sluice::cli
