// Times of crontab lines.
#include <gtest/gtest.h>

#include "common/base/time_text.hpp"
#include "common/syntax/cron_times.hpp"

namespace sluice {
namespace {

// Local time, so that the test holds in every time zone.
Time at(const char* text) { return parse_time(text, from_seconds(0)).value(); }

std::string next(const char* times, const char* after) {
  const auto parsed = parse_cron_times(times);
  if (!parsed) return parsed.error().text;
  const Time found = next_cron_time(*parsed, at(after));
  return found == kNever ? "never" : format_time(found);
}

TEST(CronTimes, Next) {
  EXPECT_EQ(next("* * * * *", "2026-11-21T18:00:00"), "2026-11-21T18:01:00");
  EXPECT_EQ(next("*/5 * * * *", "2026-11-21T18:02:30"), "2026-11-21T18:05:00");
  EXPECT_EQ(next("30 8-18/2 * * *", "2026-11-21T18:30:00"), "2026-11-22T08:30:00");
  EXPECT_EQ(next("0 0 1 1 *", "2026-11-21T18:00:00"), "2027-01-01T00:00:00");
  EXPECT_EQ(next("15,45 3 * * *", "2026-11-21T03:15:00"), "2026-11-21T03:45:00");
  EXPECT_EQ(next("0 12 29 2 *", "2026-11-21T18:00:00"), "2028-02-29T12:00:00");
}

TEST(CronTimes, DaysOfWeekAndMonth) {
  EXPECT_EQ(next("0 9 * * mon", "2026-11-21T18:00:00"), "2026-11-23T09:00:00");
  EXPECT_EQ(next("0 9 * * 0", "2026-11-21T18:00:00"), "2026-11-22T09:00:00");
  EXPECT_EQ(next("0 9 * * 7", "2026-11-21T18:00:00"), "2026-11-22T09:00:00");
  EXPECT_EQ(next("0 9 24 * mon", "2026-11-23T10:00:00"), "2026-11-24T09:00:00")
      << "one of the two is enough";
  EXPECT_EQ(next("0 9 13 jan-mar *", "2026-11-21T18:00:00"), "2027-01-13T09:00:00");
}

TEST(CronTimes, Nicknames) {
  EXPECT_EQ(next("@hourly", "2026-11-21T18:10:00"), "2026-11-21T19:00:00");
  EXPECT_EQ(next("@daily", "2026-11-21T18:10:00"), "2026-11-22T00:00:00");
  EXPECT_EQ(next("@midnight", "2026-11-21T18:10:00"), "2026-11-22T00:00:00");
  EXPECT_EQ(next("@weekly", "2026-11-21T18:10:00"), "2026-11-22T00:00:00");
  EXPECT_EQ(next("@monthly", "2026-11-21T18:10:00"), "2026-12-01T00:00:00");
  EXPECT_EQ(next("@yearly", "2026-11-21T18:10:00"), "2027-01-01T00:00:00");
  EXPECT_EQ(next("@teatime", "2026-11-21T18:10:00"), "2026-11-22T16:00:00");
}

TEST(CronTimes, AStepThatLeadsOutOfTheField) {
  // and not at 19:00
  EXPECT_EQ(next("5/4294967291 * * * *", "2026-11-21T18:10:00"), "2026-11-21T19:05:00");
}

TEST(CronTimes, WhatIsWrong) {
  EXPECT_EQ(next("* * * *", "2026-11-21T18:00:00"), "A time has five fields");
  EXPECT_EQ(next("60 * * * *", "2026-11-21T18:00:00"), "Invalid minute: 60");
  EXPECT_EQ(next("* 5-3 * * *", "2026-11-21T18:00:00"), "Invalid hour: 5-3");
  EXPECT_EQ(next("* * 0 * *", "2026-11-21T18:00:00"), "Invalid day of the month: 0");
  EXPECT_EQ(next("* * * * blue", "2026-11-21T18:00:00"), "Invalid day of the week: blue");
  EXPECT_EQ(next("*/0 * * * *", "2026-11-21T18:00:00"), "Invalid minute: */0");
  EXPECT_EQ(next("1,, * * * *", "2026-11-21T18:00:00"), "Invalid minute: 1,,");
  EXPECT_EQ(next("@often", "2026-11-21T18:00:00"), "Unknown time: @often");
  EXPECT_EQ(next("0 0 31 4 *", "2026-11-21T18:00:00"), "never");
}

}  // namespace
}  // namespace sluice
