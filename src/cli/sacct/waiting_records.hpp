// Says where the newest records are missing: they wait in a controller until the accounting daemon
// can store them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/client.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::cli {

// What this cluster's controller still has to send.
struct RecordsInController {
  uint64_t count = 0;
  Time refused_since = kNoTime;  // when the daemon took none any more
};
// Nothing: it does not answer.
[[nodiscard]] std::optional<RecordsInController> records_in_controller(Client& client);

// A line for each cluster, without the command's name. `own` and `asked`: of the cluster whose
// controller was asked.
[[nodiscard]] std::vector<std::string> waiting_lines(
    const std::vector<protocol::WaitingHistory>& waiting, const std::string& own,
    const std::optional<RecordsInController>& asked);

}  // namespace sluice::cli
