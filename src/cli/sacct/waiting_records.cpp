#include "cli/sacct/waiting_records.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/protocol/admin.hpp"

namespace sluice::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

std::optional<RecordsInController> records_in_controller(Client& client) {
  const auto reply =
      client.call<protocol::QueryStatisticsReply>(protocol::QueryStatisticsRequest{}, kPatience);
  if (!reply) return std::nullopt;
  return RecordsInController{reply->history_waiting, reply->history_waiting_since};
}

std::vector<std::string> waiting_lines(const std::vector<protocol::WaitingHistory>& waiting,
                                       const std::string& own,
                                       const std::optional<RecordsInController>& asked) {
  std::vector<std::string> out;
  for (const protocol::WaitingHistory& one : waiting) {
    const bool counted = asked && iequals(one.cluster, own);
    if (counted && asked->count == 0) continue;      // they have been stored meanwhile
    if (!counted && one.since == kNoTime) continue;  // nobody says so
    std::string line = counted ? fmt::format("{} record(s)", asked->count) : "The newest records";
    line += fmt::format(" of cluster {} wait in its controller", one.cluster);
    // a daemon that was started again does not know how long
    Time since = one.since;
    if (counted && asked->refused_since != kNoTime) since = asked->refused_since;
    if (since != kNoTime) line += fmt::format(" since {}", format_time(since));
    if (!one.reason.empty()) line += fmt::format(": {}", one.reason);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace sluice::cli
