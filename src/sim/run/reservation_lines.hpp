// Reservations that a simulation is to have, as scontrol takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/reservation.hpp"

namespace sluice::sim {

// A line each: "scontrol create reservation ReservationName=… StartTime=now+1hour …", also without
// the first words; "#" begins a comment. Times are relative to `begin`. Errors name `file` and
// line.
[[nodiscard]] Result<std::vector<protocol::ChangeReservationRequest>> parse_reservations(
    std::string_view text, const std::string& file, Time begin);

}  // namespace sluice::sim
