#include "common/syntax/cron_times.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr int kMostYears = 8;  // February 29th may be that far away

struct Field {
  std::string_view name;
  uint32_t first = 0, last = 0;
  std::span<const std::string_view> names;  // of first, first + 1 …
};
constexpr Field kFields[] = {{"minute", 0, 59, {}},
                             {"hour", 0, 23, {}},
                             {"day of the month", 1, 31, {}},
                             {"month", 1, 12, kMonths},
                             {"day of the week", 0, 7, kWeekdays}};

struct Nickname {
  std::string_view word, times;
};
std::vector<std::string> split_words(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '\t', ' ');
  return split_list(blanks, ' ');
}

constexpr Nickname kNicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},   {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},      {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"}, {"@elevenses", "0 11 * * *"}, {"@noon", "0 12 * * *"},
    {"@fika", "0 15 * * *"},  {"@teatime", "0 16 * * *"}};

std::optional<uint32_t> parse_value(const Field& field, std::string_view text) {
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (iequals(field.names[i], text)) return field.first + static_cast<uint32_t>(i);
  }
  const auto number = to_number<uint32_t>(text);
  if (!number || *number < field.first || *number > field.last) return std::nullopt;
  return number;
}

// "*", "5", "1-5", each perhaps with "/2".
template <size_t N>
bool add_part(const Field& field, std::string_view part, std::bitset<N>& out) {
  uint32_t step = 1;
  const size_t slash = part.find('/');
  if (slash != std::string_view::npos) {
    const auto given = to_number<uint32_t>(part.substr(slash + 1));
    if (!given || *given == 0) return false;
    step = *given;
    part = part.substr(0, slash);
  }
  uint32_t from = field.first;
  uint32_t to = field.last;
  if (part != "*") {
    const size_t dash = part.find('-');
    const auto first = parse_value(field, part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_value(field, part.substr(dash + 1));
    if (!first || !last || *last < *first) return false;
    from = *first;
    to = dash == std::string_view::npos && slash != std::string_view::npos ? field.last : *last;
  }
  // the 7th weekday is Sunday, too
  for (uint64_t value = from; value <= to; value += step) out.set(value % N);
  return true;
}

template <size_t N>
bool read_field(const Field& field, std::string_view text, std::bitset<N>& out) {
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    if (comma == from || !add_part(field, text.substr(from, comma - from), out)) return false;
    from = comma + 1;
  }
  return out.any();
}

bool is_day(const CronTimes& times, const std::tm& day) {
  if (!times.months.test(static_cast<size_t>(day.tm_mon) + 1)) return false;
  const bool by_date = times.days.test(static_cast<size_t>(day.tm_mday));
  const bool by_weekday = times.weekdays.test(static_cast<size_t>(day.tm_wday));
  // as in every cron: with both given, one of them is enough
  return times.any_day || times.any_weekday ? by_date && by_weekday : by_date || by_weekday;
}

// The next day of that kind, from its midnight on. By the calendar alone: to ask the clock's zone
// for each day of some years takes long.
void go_to_next_day(const CronTimes& times, int last_year, std::tm& now) {
  namespace chrono = std::chrono;
  chrono::sys_days day(chrono::year(now.tm_year + 1900) /
                       chrono::month(static_cast<unsigned>(now.tm_mon) + 1) /
                       chrono::day(static_cast<unsigned>(now.tm_mday)));
  do {
    day += chrono::days(1);
    const chrono::year_month_day date(day);
    now.tm_year = static_cast<int>(date.year()) - 1900;
    now.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
    now.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
    now.tm_wday = static_cast<int>(chrono::weekday(day).c_encoding());
  } while (now.tm_year <= last_year && !is_day(times, now));
  now.tm_hour = now.tm_min = 0;
}

// The next value behind `value` that is set; -1: none is.
template <size_t N>
int next_set(const std::bitset<N>& bits, int value) {
  for (auto at = static_cast<size_t>(value) + 1; at < N; ++at)
    if (bits.test(at)) return static_cast<int>(at);
  return -1;
}

// On the same day: a minute of this hour, or the next hour. False: there is none any more.
bool go_on_in_day(const CronTimes& times, std::tm& now) {
  if (times.hours.test(static_cast<size_t>(now.tm_hour))) {
    if (const int minute = next_set(times.minutes, now.tm_min); minute >= 0) {
      now.tm_min = minute;
      return true;
    }
  }
  const int hour = next_set(times.hours, now.tm_hour);
  if (hour < 0) return false;
  now.tm_hour = hour;
  now.tm_min = 0;
  return true;
}

}  // namespace

Result<CronTimes> parse_cron_times(std::string_view text) {
  std::vector<std::string> words = split_words(text);
  if (words.size() == 1 && words[0].starts_with('@')) {
    const std::string word = to_lower(words[0]);
    words.clear();
    for (const Nickname& nickname : kNicknames) {
      if (nickname.word == word) words = split_words(nickname.times);
    }
    if (words.empty()) return failure(ErrorCode::kBadRequest, "Unknown time: " + word);
  }
  if (words.size() != std::size(kFields))
    return failure(ErrorCode::kBadRequest, "A time has five fields");
  CronTimes out;
  const bool good[] = {
      read_field(kFields[0], words[0], out.minutes), read_field(kFields[1], words[1], out.hours),
      read_field(kFields[2], words[2], out.days), read_field(kFields[3], words[3], out.months),
      read_field(kFields[4], words[4], out.weekdays)};
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if (!good[i])
      return failure(ErrorCode::kBadRequest,
                     "Invalid " + std::string(kFields[i].name) + ": " + words[i]);
  }
  out.any_day = words[2] == "*";
  out.any_weekday = words[4] == "*";
  return out;
}

Time next_cron_time(const CronTimes& times, Time after) {
  const std::time_t from = to_seconds(after) - to_seconds(after) % 60 + 60;
  std::time_t at = from;
  std::tm now{};
  localtime_r(&at, &now);
  const int last_year = now.tm_year + kMostYears;
  while (now.tm_year <= last_year) {
    const bool day = is_day(times, now);
    if (day && times.hours.test(static_cast<size_t>(now.tm_hour)) &&
        times.minutes.test(static_cast<size_t>(now.tm_min))) {
      const std::time_t found = std::mktime(&now);
      if (found >= from) return from_seconds(found);  // else in the hour that comes twice
    }
    if (!day || !go_on_in_day(times, now)) go_to_next_day(times, last_year, now);
    now.tm_isdst = -1;
    // an hour that the clock leaves out is the next one
    at = std::max(std::mktime(&now), at + 60);
    localtime_r(&at, &now);
  }
  return kNever;
}

}  // namespace sluice
