// The times of a line of a crontab: "*/5 8-18 * * mon-fri", "@daily".
#pragma once

#include <bitset>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice {

struct CronTimes {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;     // of the month, from 1
  std::bitset<13> months;   // from 1
  std::bitset<7> weekdays;  // 0 is Sunday
  bool any_day = false;     // "*" in the field: the other one of the two decides alone
  bool any_weekday = false;
};

// Five fields, or one word that begins with "@". The text says which field is wrong.
[[nodiscard]] Result<CronTimes> parse_cron_times(std::string_view text);

// The first such minute after `after`, in local time; kNever: none within eight years.
[[nodiscard]] Time next_cron_time(const CronTimes& times, Time after);

}  // namespace sluice
