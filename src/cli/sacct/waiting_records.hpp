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

// How many records this cluster's controller still has to send; nothing: it does not answer.
[[nodiscard]] std::optional<uint64_t> records_in_controller(Client& client);

// A line for each cluster, without the command's name. `own` and `count`: of the cluster whose
// controller was asked.
[[nodiscard]] std::vector<std::string> waiting_lines(
    const std::vector<protocol::WaitingHistory>& waiting, const std::string& own,
    std::optional<uint64_t> count);

}  // namespace sluice::cli
