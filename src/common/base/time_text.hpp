// Times and spans as Slurm reads and writes them. Nothing here asks for the current time: it is
// passed in. Calendar forms use the process's time zone (TZ).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice {

// A time limit: `minutes`, `min:sec`, `h:m:s`, `d-h`, `d-h:m`, `d-h:m:s`, or UNLIMITED, INFINITE,
// -1 (kInfiniteMinutes). Seconds round up to a minute. 0 stays 0: what it means is the caller's
// affair.
[[nodiscard]] std::optional<Minutes> parse_minutes(std::string_view text);
// So many seconds, or as many as can be counted.
[[nodiscard]] constexpr uint32_t minutes_in_seconds(Minutes minutes) {
  return minutes > UINT32_MAX / 60 ? UINT32_MAX : minutes * 60;
}
// The same forms, to the second; nothing for UNLIMITED too. `bare_unit` is what one lone number
// counts in.
[[nodiscard]] std::optional<Duration> parse_span(std::string_view text,
                                                 Duration bare_unit = std::chrono::minutes(1));

// `02:03:04`, `1-02:03:04` (scontrol, sacct); negative spans count as 0.
[[nodiscard]] std::string format_span(Duration span);
// `2:03`, `1:02:03`, `1-02:03:04` (squeue, sinfo).
[[nodiscard]] std::string format_span_short(Duration span);
// The same of a limit; an infinite one is `UNLIMITED` (sinfo says `infinite`: `unlimited`).
[[nodiscard]] std::string format_minutes(Minutes limit, std::string_view unlimited = "UNLIMITED");
[[nodiscard]] std::string format_minutes_short(Minutes limit,
                                               std::string_view unlimited = "UNLIMITED");

// Which day a lone HH:MM, MM/DD or MMDD means when this year's or today's is not wanted.
enum class TimeBias { kFuture, kPast };  // --begin, --deadline; sacct -S and -E

// An absolute time: `now`, `now+1hour`, `now-2days`, `HH:MM[:SS][AM|PM]`, `midnight`, `noon`,
// `fika`, `teatime`, `today`, `tomorrow`, `MMDD[YY]`, `MM/DD[/YY]`, `MM.DD[.YY]`,
// `YYYY-MM-DD[THH:MM[:SS]]`, a day and a time of day together (joined by a blank, `-` or `T`, in
// any order), or `uts` and Unix seconds. The error's text is Slurm's `Invalid time specification
// (pos=N): TEXT`.
[[nodiscard]] Result<Time> parse_time(std::string_view text, Time now,
                                      TimeBias bias = TimeBias::kFuture);

// `Sat Nov 21 02:49:29 2026`, as a form of format_time().
inline constexpr std::string_view kDayAndTime = "%a %b %d %H:%M:%S %Y";
// A point in time as `2026-11-21T02:38:22`, or as `form` (the value of SLURM_TIME_FORMAT) says:
// `standard` or empty, `relative` (to `now`), anything else for strftime. kNoTime and kNever are
// `Unknown`. A `form` without a % counts as standard.
[[nodiscard]] std::string format_time(Time at, std::string_view form = {}, Time now = kNoTime);
// `Sat Nov 21 02:49:29 2026 (1795229369)`, as statistics show it.
[[nodiscard]] std::string format_time_and_seconds(Time at);

}  // namespace sluice
