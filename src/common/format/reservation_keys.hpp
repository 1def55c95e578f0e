// Reservations in words: the keys of scontrol create and update reservation, the names of their
// flags, and how they are shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/reservation.hpp"
#include "common/format/json_parts.hpp"

namespace sluice {

// "MAINT,OVERLAP", with the time of PURGE_COMP.
[[nodiscard]] std::string reservation_flags_text(const Reservation& reservation);

// Puts the value of one key (which may be shortened) into `values`; `change` is how it was given
// (=, += or -=). The error's text is Slurm's, without what follows "No reservation created.".
// kNotFound: there is no such key. `typed` is the whole word.
[[nodiscard]] Status set_reservation_key(std::string_view key, std::string_view value,
                                         protocol::ListChange change, std::string_view typed,
                                         Time now, protocol::ReservationValues& values);
// For the page on compatibility: the keys, and the names of flags, other spellings last.
struct ReservationKeyName {
  std::string_view name;
  bool taken = false;  // else it is refused
};
[[nodiscard]] std::vector<ReservationKeyName> reservation_key_names();
[[nodiscard]] std::vector<std::string_view> reservation_flag_names();

// What a new reservation lacks, as Slurm says it; empty: nothing.
[[nodiscard]] std::string lacking_of_reservation(const protocol::ReservationValues& values);

// The start of the occurrence after the one that starts at `start`, by the wall clock.
[[nodiscard]] Time next_occurrence(Time start, ReservationFlags flags);

// Without the blank line that follows.
[[nodiscard]] std::string show_reservation(const protocol::ReservationRecord& record, bool one_line,
                                           const std::vector<std::string>& accounting_tres = {});
[[nodiscard]] Json reservation_to_json(const protocol::ReservationRecord& record,
                                       const std::vector<std::string>& accounting_tres = {});

}  // namespace sluice
