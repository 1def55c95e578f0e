// Times and spans as text: see time_text.hpp.
#include "common/base/time_text.hpp"

#include <array>
#include <cstdint>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;
// of now+…: what is a millennium away is still a time
constexpr seconds kMostOffset(int64_t{1000} * 366 * kDay);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::tm local_time(Time at) {
  const auto unix_seconds = static_cast<std::time_t>(to_seconds(at));
  std::tm parts{};
  localtime_r(&unix_seconds, &parts);
  return parts;
}

// Seconds of the span, or nothing. No more than nine digits a number: nothing can overflow.
std::optional<int64_t> span_seconds(std::string_view text, int64_t bare_unit) {
  int64_t days = 0;
  const size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const auto number = [](std::string_view digits) -> std::optional<int64_t> {
    if (digits.empty() || digits.size() > 9 || !is_digit(digits.front())) return std::nullopt;
    return to_number<int64_t>(digits);
  };
  if (has_days) {
    const auto parsed = number(text.substr(0, dash));
    if (!parsed) return std::nullopt;
    days = *parsed;
    text.remove_prefix(dash + 1);
    if (text.empty()) return days * kDay;
  }
  std::vector<int64_t> parts;
  for (size_t at = 0;;) {
    const size_t colon = text.find(':', at);
    const auto parsed = number(text.substr(at, colon - at));
    if (!parsed || parts.size() == 3) return std::nullopt;
    parts.push_back(*parsed);
    if (colon == std::string_view::npos) break;
    at = colon + 1;
  }
  const size_t count = parts.size();
  parts.resize(3);
  if (has_days || count == 3) {
    return days * kDay + parts[0] * kHour + parts[1] * kMinute + parts[2];
  }
  if (count == 2) return parts[0] * kMinute + parts[1];
  return parts[0] * bare_unit;
}

bool means_infinite(std::string_view text) {
  return iequals(text, "UNLIMITED") || iequals(text, "INFINITE") || text == "-1" ||
         text == "4294967295" || text == "4294967294";  // Slurm's own INFINITE and NO_VAL
}

struct DayAndClock {
  int64_t days, hours, minutes, seconds;
};
DayAndClock take_apart(Duration span) {
  const int64_t total = span.count() < 0 ? 0 : to_seconds(span);
  return {total / kDay, total / kHour % 24, total / kMinute % 60, total % 60};
}

// Reads an absolute time piece by piece: a day, a time of day, in any order.
class TimeParser {
 public:
  TimeParser(std::string_view text, Time now, TimeBias bias)
      : text_(text), now_(now), bias_(bias), today_(local_time(now)) {}

  std::optional<Time> parse() {
    if (text_.empty()) return std::nullopt;
    if (const auto exact = parse_exact()) return exact;
    if (failed_) return std::nullopt;
    bool separated = true;
    while (at_ < text_.size()) {
      if (is_separator(text_[at_]) && !starts_word()) {
        ++at_;
        separated = true;
        continue;
      }
      if (!parse_piece(separated)) return std::nullopt;
      separated = false;
    }
    return resolve();
  }
  [[nodiscard]] size_t position() const { return at_; }

 private:
  static bool is_separator(char c) { return c == ' ' || c == '\t' || c == 'T' || c == '-'; }
  [[nodiscard]] bool starts_word() const {
    return starts_with_i(text_.substr(at_), "today") ||
           starts_with_i(text_.substr(at_), "tomorrow") ||
           starts_with_i(text_.substr(at_), "teatime");
  }
  bool take_word(std::string_view word) {
    if (!starts_with_i(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  [[nodiscard]] size_t digits_at(size_t from) const {
    size_t end = from;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end - from;
  }
  [[nodiscard]] char peek(size_t offset = 0) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }
  int take_digits(size_t count) {
    int value = 0;
    for (; count > 0; --count) value = value * 10 + (text_[at_++] - '0');
    return value;
  }
  // Exactly two digits; stops at the first character that is none.
  bool take_two(int most, int& value) {
    if (!is_digit(peek()) || (peek() - '0') > most / 10) return false;
    value = text_[at_++] - '0';
    if (!is_digit(peek())) return false;
    value = value * 10 + (text_[at_++] - '0');
    return value <= most;
  }

  // `now…` and `uts…`: complete by themselves.
  std::optional<Time> parse_exact() {
    if (take_word("uts")) {
      const auto unix_seconds = to_number<int64_t>(text_.substr(at_));
      failed_ = !unix_seconds || *unix_seconds < 0 || *unix_seconds > INT32_MAX * INT64_C(64);
      if (failed_) return std::nullopt;
      return from_seconds(*unix_seconds);
    }
    if (!take_word("now")) return std::nullopt;
    const Time whole = from_seconds(to_seconds(now_));
    skip_blanks();
    if (at_ == text_.size()) return whole;
    failed_ = true;
    const char sign = peek();
    if (sign != '+' && sign != '-') return std::nullopt;
    const size_t before = at_++;
    skip_blanks();
    const size_t digits = digits_at(at_);
    if (digits == 0 || digits > 9) {
      at_ = before;
      return std::nullopt;
    }
    const int count = take_digits(digits);
    struct Unit {
      std::string_view name;
      int64_t length;
    };
    constexpr std::array<Unit, 5> kUnits{
        {{"second", 1}, {"minute", kMinute}, {"hour", kHour}, {"day", kDay}, {"week", 7 * kDay}}};
    const std::string_view rest = trim(text_.substr(at_));
    for (const Unit& unit : kUnits) {
      const bool same = iequals(rest, unit.name) ||
                        (starts_with_i(rest, unit.name) && rest.size() == unit.name.size() + 1 &&
                         (rest.back() == 's' || rest.back() == 'S'));
      if (!same && !(rest.empty() && unit.length == 1)) continue;
      const seconds offset(count * unit.length);
      if (offset > kMostOffset) break;
      return sign == '+' ? whole + offset : whole - offset;
    }
    --at_;
    return std::nullopt;
  }

  bool parse_piece(bool separated) {
    if (take_clock_word()) return true;
    if (take_word("today")) return set_day(today_.tm_year, today_.tm_mon, today_.tm_mday);
    if (take_word("tomorrow")) return set_day(today_.tm_year, today_.tm_mon, today_.tm_mday + 1);
    if (!separated || !is_digit(peek())) return false;
    const size_t digits = digits_at(at_);
    const char after = at_ + digits < text_.size() ? text_[at_ + digits] : '\0';
    if (after == ':' && digits <= 2) return parse_clock(digits);
    if (digits == 4 && after == '-') return parse_iso_day();
    if (digits <= 2 && after == '\0') {
      at_ += digits;  // half a time of day: the error points at what is missing
      return false;
    }
    return parse_month_first(digits, after);
  }

  bool take_clock_word() {
    struct Word {
      std::string_view name;
      int hour;
    };
    constexpr std::array<Word, 4> kWords{
        {{"midnight", 0}, {"noon", 12}, {"fika", 15}, {"teatime", 16}}};
    for (const Word& word : kWords) {
      if (take_word(word.name)) return set_clock(word.hour, 0, 0);
    }
    return false;
  }

  bool parse_clock(size_t digits) {
    const size_t start = at_;
    int hour = take_digits(digits);
    if (hour > 23) {
      at_ = start;
      return false;
    }
    int minute = 0;
    int second = 0;
    ++at_;  // the colon
    if (!take_two(59, minute)) return false;
    if (peek() == ':') {
      ++at_;
      if (!take_two(59, second)) return false;
    }
    const size_t before = at_;
    while (peek() == ' ') ++at_;
    const bool morning = take_word("AM");
    if (!morning && !take_word("PM")) {
      at_ = before;
    } else if (hour < 1 || hour > 12) {
      at_ = before;
      return false;
    } else {
      hour = hour % 12 + (morning ? 0 : 12);
    }
    return set_clock(hour, minute, second);
  }

  bool parse_iso_day() {
    const int year = take_digits(4);
    int month = 0;
    int day = 0;
    ++at_;
    const size_t month_at = at_;
    if (!take_two(19, month) || month < 1 || month > 12) {
      at_ = month_at;
      return false;
    }
    if (peek() != '-') return false;
    ++at_;
    if (!take_two(31, day) || day < 1) return false;
    return set_day(year - 1900, month - 1, day);
  }

  // MMDD, MMDDYY, MM/DD, MM/DD/YY, MM.DD, MM.DD.YY
  bool parse_month_first(size_t digits, char after) {
    const size_t start = at_;
    int month = 0;
    int day = 0;
    std::optional<int> year;
    if (digits == 4 || digits == 6) {
      month = take_digits(2);
      day = take_digits(2);
      if (digits == 6) year = take_digits(2);
    } else if (digits <= 2 && (after == '/' || after == '.')) {
      month = take_digits(digits);
      ++at_;
      const size_t day_digits = digits_at(at_);
      if (day_digits < 1 || day_digits > 2) return false;
      day = take_digits(day_digits);
      if (peek() == after) {
        ++at_;
        if (digits_at(at_) != 2) return false;
        year = take_digits(2);
      }
    } else {
      return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31) {
      at_ = start;
      return false;
    }
    if (!set_day(year ? 100 + *year : today_.tm_year, month - 1, day)) return false;
    year_given_ = year.has_value();
    return true;
  }

  bool set_day(int year, int month, int day) {
    if (has_day_) return false;
    has_day_ = true;
    year_given_ = true;
    year_ = year;
    month_ = month;
    day_ = day;
    return true;
  }
  bool set_clock(int hour, int minute, int second) {
    if (has_clock_) return false;
    has_clock_ = true;
    hour_ = hour;
    minute_ = minute;
    second_ = second;
    return true;
  }

  [[nodiscard]] std::optional<Time> at_day(int year, int month, int day) const {
    std::tm parts{};
    parts.tm_year = year;
    parts.tm_mon = month;
    parts.tm_mday = day;
    parts.tm_hour = hour_;
    parts.tm_min = minute_;
    parts.tm_sec = second_;
    parts.tm_isdst = -1;
    const std::time_t made = std::mktime(&parts);
    if (made == static_cast<std::time_t>(-1)) return std::nullopt;
    return from_seconds(made);
  }
  [[nodiscard]] std::optional<Time> resolve() const {
    if (!has_day_ && !has_clock_) return std::nullopt;
    if (!has_day_) {
      const auto meant = at_day(today_.tm_year, today_.tm_mon, today_.tm_mday);
      if (!meant || bias_ == TimeBias::kPast || *meant >= now_) return meant;
      return at_day(today_.tm_year, today_.tm_mon, today_.tm_mday + 1);
    }
    const auto meant = at_day(year_, month_, day_);
    if (!meant || year_given_) return meant;
    if (bias_ == TimeBias::kFuture && *meant < now_) return at_day(year_ + 1, month_, day_);
    if (bias_ == TimeBias::kPast && *meant > now_) return at_day(year_ - 1, month_, day_);
    return meant;
  }

  std::string_view text_;
  Time now_;
  TimeBias bias_;
  std::tm today_;
  size_t at_ = 0;
  bool failed_ = false;
  bool has_day_ = false;
  bool has_clock_ = false;
  bool year_given_ = false;
  int year_ = 0;
  int month_ = 0;
  int day_ = 0;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
};

std::string with_strftime(const std::string& form, const std::tm& parts) {
  std::array<char, 256> buffer{};
  const size_t length = std::strftime(buffer.data(), buffer.size(), form.c_str(), &parts);
  return std::string(buffer.data(), length);
}

int64_t day_number(const std::tm& parts) {
  const std::chrono::year_month_day date{
      std::chrono::year(parts.tm_year + 1900),
      std::chrono::month(static_cast<unsigned>(parts.tm_mon) + 1),
      std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::string format_relative(const std::tm& parts, const std::tm& today) {
  const int64_t distance = day_number(parts) - day_number(today);
  if (distance == 0) return with_strftime("%H:%M:%S", parts);
  if (distance == 1) return with_strftime("Tomorr %H:%M", parts);
  if (distance == -1) return with_strftime("Ystday %H:%M", parts);
  if (distance > 1 && distance < 7) return with_strftime("%a %H:%M", parts);
  const std::string date = with_strftime("%b", parts);
  if (parts.tm_year != today.tm_year) {
    return fmt::format("{} {} {}", parts.tm_mday, date, parts.tm_year + 1900);
  }
  return fmt::format("{} {} {:02}:{:02}", parts.tm_mday, date, parts.tm_hour, parts.tm_min);
}

}  // namespace

std::optional<Minutes> parse_minutes(std::string_view text) {
  if (means_infinite(text)) return kInfiniteMinutes;
  const auto length = span_seconds(text, kMinute);
  if (!length) return std::nullopt;
  const int64_t minutes = (*length + kMinute - 1) / kMinute;
  if (minutes >= int64_t{kInfiniteMinutes} - 1) return std::nullopt;
  return static_cast<Minutes>(minutes);
}

std::optional<Duration> parse_span(std::string_view text, Duration bare_unit) {
  const auto length = span_seconds(text, to_seconds(bare_unit));
  constexpr int64_t kMost = int64_t{kInfiniteMinutes} * kMinute;
  if (!length || *length > kMost) return std::nullopt;
  return Duration(seconds(*length));
}

std::string format_span(Duration span) {
  const auto [days, hours, minutes, secs] = take_apart(span);
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, secs);
  return fmt::format("{:02}:{:02}:{:02}", hours, minutes, secs);
}

std::string format_span_short(Duration span) {
  const auto [days, hours, minutes, secs] = take_apart(span);
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, secs);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, secs);
  return fmt::format("{}:{:02}", minutes, secs);
}

std::string format_minutes(Minutes limit, std::string_view unlimited) {
  if (limit == kInfiniteMinutes) return std::string(unlimited);
  return format_span(std::chrono::minutes(limit));
}

std::string format_minutes_short(Minutes limit, std::string_view unlimited) {
  if (limit == kInfiniteMinutes) return std::string(unlimited);
  return format_span_short(std::chrono::minutes(limit));
}

Result<Time> parse_time(std::string_view text, Time now, TimeBias bias) {
  TimeParser parser(text, now, bias);
  const auto parsed = parser.parse();
  if (parsed) return *parsed;
  return failure(fmt::format("Invalid time specification (pos={}): {}", parser.position(), text));
}

std::string format_time(Time at, std::string_view form, Time now) {
  if (at == kNoTime || at >= kNever) return "Unknown";
  const std::tm parts = local_time(at);
  if (form == "relative") return format_relative(parts, local_time(now));
  if (form.find('%') != std::string_view::npos) return with_strftime(std::string(form), parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string format_time_and_seconds(Time at) {
  const std::string day_and_time = with_strftime(std::string(kDayAndTime), local_time(at));
  return fmt::format("{} ({})", day_and_time, to_seconds(at));
}

}  // namespace sluice
