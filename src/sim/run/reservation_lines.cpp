#include "sim/run/reservation_lines.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/format/reservation_keys.hpp"
#include "sim/trace/lines.hpp"

namespace sluice::sim {
namespace {

using protocol::ChangeReservationRequest;

Status read_word(const std::string& word, Time begin, ChangeReservationRequest& request) {
  const size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals == std::string::npos) {
    for (const char* leading : {"scontrol", "create", "reservation"}) {
      if (iequals(word, leading)) return {};
    }
    return failure(fmt::format("\"{}\" is no KEY=VALUE", word));
  }
  const std::string value = word.substr(equals + 1);
  if (key.size() >= 3 && starts_with_i("ReservationName", key)) {
    request.name = value;
    return {};
  }
  return set_reservation_key(key, value, protocol::ListChange::kReplace, word, begin,
                             request.values);
}

}  // namespace

Result<std::vector<ChangeReservationRequest>> parse_reservations(std::string_view text,
                                                                 const std::string& file,
                                                                 Time begin) {
  std::vector<ChangeReservationRequest> out;
  Lines lines(text, file);
  while (lines.next()) {
    const std::string_view line = trim(lines.text().substr(0, lines.text().find('#')));
    if (line.empty()) continue;
    ChangeReservationRequest request;
    request.action = protocol::ReservationAction::kCreate;
    for (const std::string& word : split(line, ' ')) {
      if (word.empty()) continue;
      if (Status ok = read_word(word, begin, request); !ok)
        return lines.place().error(ok.error().text);
    }
    if (const std::string lacking = lacking_of_reservation(request.values); !lacking.empty())
      return lines.place().error(lacking);
    out.push_back(std::move(request));
  }
  return out;
}

}  // namespace sluice::sim
