// scontrol create, update and delete reservation.
#include <cstdio>

#include <fmt/format.h>

#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/format/reservation_keys.hpp"

namespace sluice::cli::scontrol {
namespace {

using protocol::ChangeReservationReply;
using protocol::ChangeReservationRequest;
using protocol::ListChange;
using protocol::ReservationAction;

bool is_name_key(std::string_view key) {
  return key.size() >= 3 && starts_with_i("ReservationName", key);
}

// "Invalid duration duration=x.  No reservation created."; what comes before a line break is
// printed as it is, and of what does not end with a full stop no outcome is told.
void refuse(Session& session, std::string_view text, std::string_view outcome) {
  const size_t line = text.rfind('\n');
  if (line != std::string_view::npos) {
    std::fprintf(stderr, "%s\n", std::string(text.substr(0, line)).c_str());
    text.remove_prefix(line + 1);
  }
  const bool whole = text.ends_with('.');
  session.fail(
      fmt::format("scontrol: error: {}{}{}", text, whole ? "  " : "", whole ? outcome : ""));
}

// What the words ask for; false: one was refused (and that was said).
bool read_words(Session& session, const Words& words, std::string_view outcome,
                ChangeReservationRequest& request) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    // "create reservation …"
    if (i == 1 && equals == std::string::npos && is_name_key(key)) continue;
    if (equals == std::string::npos && !iequals(word, "Skip")) {
      refuse(session,
             fmt::format("Misformatted parameter '{}', most options have a parameter after '='.",
                         word),
             outcome);
      return false;
    }
    ListChange change = ListChange::kReplace;
    if (key.ends_with('+') || key.ends_with('-')) {
      change = key.back() == '+' ? ListChange::kAdd : ListChange::kRemove;
      key.pop_back();
    }
    if (is_name_key(key)) {
      request.name = value;
      continue;
    }
    const Status set =
        set_reservation_key(key, value, change, word, current_time(), request.values);
    if (!set) {
      refuse(session, set.error().text, outcome);
      return false;
    }
  }
  return true;
}

}  // namespace

bool names_reservation(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if ((equals != std::string::npos || i == 1) &&
        is_name_key(std::string_view(words[i]).substr(0, equals)))
      return true;
  }
  return false;
}

void create_reservation(Session& session, const Words& words) {
  constexpr std::string_view kOutcome = "No reservation created.";
  ChangeReservationRequest request;
  request.action = ReservationAction::kCreate;
  if (!read_words(session, words, kOutcome, request)) return;
  if (const std::string lacking = lacking_of_reservation(request.values); !lacking.empty()) {
    return refuse(session, lacking, kOutcome);
  }
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<ChangeReservationReply>(request);
  if (reply) {
    std::printf("Reservation created: %s\n", reply->name.c_str());
    return;
  }
  session.fail("Error creating the reservation: " + error_text(reply.error()));
  if (reply.error().code != ErrorCode::kNodesBusy) return;
  std::puts(
      "Note, unless nodes are directly requested a reservation must exist in a single partition.");
  std::puts("If no partition is requested the default partition is assumed.");
}

void update_reservation(Session& session, const Words& words) {
  ChangeReservationRequest request;
  if (!read_words(session, words, "No reservation update.", request)) return;
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<ChangeReservationReply>(request);
  if (reply) {
    std::puts("Reservation updated.");
    return;
  }
  session.fail("Error updating the reservation: " + error_text(reply.error()));
  session.fail("slurm_update error: " + error_text(reply.error()));
}

void delete_reservation(Session& session, const std::string& typed, const std::string& name) {
  if (session.client() == nullptr) return;
  ChangeReservationRequest request;
  request.action = ReservationAction::kDelete;
  request.name = name;
  const auto reply = session.client()->call<ChangeReservationReply>(request);
  if (!reply) session.fail("delete_reservation " + typed + ": " + error_text(reply.error()));
}

}  // namespace sluice::cli::scontrol
