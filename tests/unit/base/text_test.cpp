// Text helpers, times and spans; expected forms are Slurm's.
#include "common/base/text.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "common/base/time_text.hpp"

namespace sluice {
namespace {

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(trim("  a b\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(join(split_list(" a ,, b"), "+"), "a+b");
  EXPECT_TRUE(iequals("NodeName", "nodename"));
  EXPECT_FALSE(iequals("Node", "nodename"));
  EXPECT_TRUE(starts_with_i("NodeName", "node"));
}

TEST(Text, StrictNumbers) {
  EXPECT_EQ(to_number<int>("-5"), -5);
  EXPECT_EQ(to_number<double>("1.5"), 1.5);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1"}) EXPECT_FALSE(to_number<int>(text));
  EXPECT_FALSE(to_number<uint8_t>("256"));
  EXPECT_FALSE(to_number<uint32_t>("-1"));
}

TEST(Text, Memory) {
  const std::pair<const char*, uint64_t> good[] = {{"1500", 1500}, {"1500K", 2},  {"1k", 1},
                                                   {"2G", 2048},   {"4GB", 4096}, {"4Gb", 4096},
                                                   {"4MB", 4},     {"0", 0},      {"2T", 2U << 20}};
  for (const auto& [text, size] : good) EXPECT_EQ(parse_memory(text), size) << text;
  EXPECT_EQ(parse_memory("3", 'G'), 3072U);
  for (const char* text :
       {"1.5T", "1P", "x", "", "5X", "-1", "1 G", "4GiB", "9999999999999999T", "8796093022208",
        "8388608T", "4611686018427387904", "18446744073709551615K"}) {
    EXPECT_FALSE(parse_memory(text)) << text;
  }
  const std::pair<uint64_t, const char*> shown[] = {
      {0, "0"},           {100, "100M"},         {512, "512M"},   {1024, "1G"},
      {1280, "1280M"},    {1500, "1500M"},       {1536, "1.50G"}, {2560, "2.50G"},
      {10752, "10.50G"},  {1000000, "1000000M"}, {1048576, "1T"}, {1572864, "1.50T"},
      {1310720, "1280G"}, {1049600, "1025G"}};
  for (const auto& [size, text] : shown) EXPECT_EQ(format_memory(size), text);
  EXPECT_EQ(format_memory(2048, false), "2048M");
}

TEST(Text, Counts) {
  EXPECT_EQ(parse_count("2k"), 2048U);
  EXPECT_EQ(parse_count("1M"), 1U << 20);
  EXPECT_FALSE(parse_count("K"));
  EXPECT_FALSE(parse_count("9999999M"));
  EXPECT_EQ(format_count(8), "8");
  EXPECT_EQ(format_count(2048), "2K");
  EXPECT_EQ(format_count(1500), "1500");
  const std::vector<uint32_t> counts = {2, 2, 2, 1, 3, 3};
  EXPECT_EQ(fold_counts(counts), "2(x3),1,3(x2)");
  EXPECT_EQ(expand_counts("2(x3),1,3(x2)"), counts);
  for (const char* text : {"2(x", "2(x0)", "a", "1(x9999999)"}) EXPECT_FALSE(expand_counts(text));
}

TEST(Text, Quotes) {
  EXPECT_EQ(shell_quote("a-b/c.d"), "a-b/c.d");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(unquote("\"a b\""), "a b");
  EXPECT_EQ(unquote("'a"), "'a");
}

TEST(Text, Prefixes) {
  const std::string_view words[] = {"job", "jobs", "partition", "ping"};
  bool ambiguous = false;
  EXPECT_EQ(match_prefix("JOB", words), 0U);
  EXPECT_EQ(match_prefix("pa", words), 2U);
  EXPECT_FALSE(match_prefix("p", words, &ambiguous));
  EXPECT_TRUE(ambiguous);
  EXPECT_FALSE(match_prefix("x", words, &ambiguous));
  EXPECT_FALSE(ambiguous);
}

TEST(TimeText, Limits) {
  const std::pair<const char*, Minutes> good[] = {{"5", 5},
                                                  {"5:30", 6},
                                                  {"1:00:00", 60},
                                                  {"1-", 1440},
                                                  {"1-1", 1500},
                                                  {"1-1:1", 1501},
                                                  {"1-1:1:1", 1502},
                                                  {"0", 0},
                                                  {"0:01", 1},
                                                  {"60:00", 60},
                                                  {"1-25", 2940},
                                                  {"0-0:0:1", 1},
                                                  {"-1", kInfiniteMinutes},
                                                  {"infinite", kInfiniteMinutes},
                                                  {"UNLIMITED", kInfiniteMinutes}};
  for (const auto& [text, minutes] : good) EXPECT_EQ(parse_minutes(text), minutes) << text;
  for (const char* text : {"UNLIM", "1:2:3:4", "x", "1:x", "5.", " 5", "1-x", "", ":30",
                           "5:", "1::", "1-1:", "1d", "-5", "99999999999"}) {
    EXPECT_FALSE(parse_minutes(text)) << text;
  }
  EXPECT_EQ(parse_span("90", std::chrono::seconds(1)), Duration(std::chrono::seconds(90)));
  EXPECT_EQ(parse_span("1-0:0:1"), Duration(std::chrono::seconds(86401)));
  EXPECT_EQ(format_minutes(kInfiniteMinutes), "UNLIMITED");
  EXPECT_EQ(format_minutes(1502), "1-01:02:00");
  EXPECT_EQ(format_minutes(5), "00:05:00");
  EXPECT_EQ(format_minutes_short(5), "5:00");
  EXPECT_EQ(format_minutes_short(61), "1:01:00");
  EXPECT_EQ(format_minutes_short(kInfiniteMinutes, "infinite"), "infinite");
  EXPECT_EQ(format_span_short(std::chrono::seconds(0)), "0:00");
  EXPECT_EQ(format_span(std::chrono::seconds(-5)), "00:00:00");
}

class TimeParsing : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC0", 1);
    tzset();
  }
  const Time now_ = from_seconds(1795231702);  // Saturday 2026-11-21T03:28:22
};

TEST_F(TimeParsing, ReadsWhatSlurmReads) {
  const std::pair<const char*, const char*> cases[] = {
      {"now", "2026-11-21T03:28:22"},
      {"now+1hour", "2026-11-21T04:28:22"},
      {"now+60", "2026-11-21T03:29:22"},
      {"now+2days", "2026-11-23T03:28:22"},
      {"now+1week", "2026-11-28T03:28:22"},
      {"now-1hours", "2026-11-21T02:28:22"},
      {"00:01", "2026-11-22T00:01:00"},
      {"23:59", "2026-11-21T23:59:00"},
      {"3:00 PM", "2026-11-21T15:00:00"},
      {"12:00AM", "2026-11-22T00:00:00"},
      {"12:30pm", "2026-11-21T12:30:00"},
      {"midnight", "2026-11-22T00:00:00"},
      {"noon", "2026-11-21T12:00:00"},
      {"teatime", "2026-11-21T16:00:00"},
      {"fika", "2026-11-21T15:00:00"},
      {"today", "2026-11-21T00:00:00"},
      {"tomorrow", "2026-11-22T00:00:00"},
      {"122526", "2026-12-25T00:00:00"},
      {"1225", "2026-12-25T00:00:00"},
      {"12/25/27", "2027-12-25T00:00:00"},
      {"01/02", "2027-01-02T00:00:00"},
      {"12.25.26", "2026-12-25T00:00:00"},
      {"2027-01-02", "2027-01-02T00:00:00"},
      {"2027-01-02T03:04:05", "2027-01-02T03:04:05"},
      {"2027-01-02-03:04", "2027-01-02T03:04:00"},
      {"2027-01-02 03:04", "2027-01-02T03:04:00"},
      {"uts1900000000", "2030-03-17T17:46:40"},
      {"12/25-10:00", "2026-12-25T10:00:00"},
      {"10:00 12/25", "2026-12-25T10:00:00"},
      {"tomorrow 10:00", "2026-11-22T10:00:00"},
      {"10:00tomorrow", "2026-11-22T10:00:00"}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_time(text, now_);
    ASSERT_TRUE(parsed) << parsed.error().text;
    EXPECT_EQ(format_time(*parsed), expected) << text;
  }
  EXPECT_EQ(format_time(*parse_time("12/25", now_, TimeBias::kPast)), "2025-12-25T00:00:00");
  EXPECT_EQ(format_time(*parse_time("00:01", now_, TimeBias::kPast)), "2026-11-21T00:01:00");
}

TEST_F(TimeParsing, SaysWhereItFails) {
  const std::pair<const char*, int> cases[] = {
      {"now+5min", 4},   {"13:00pm", 5},         {"25:00", 0}, {"25.12.26", 0},
      {"2026-13-01", 5}, {"2027-01-02T3:4", 14}, {"x", 0},     {"now+x", 3},
      {"noon+1hour", 4}, {"20270102", 0},        {"1:2:3", 3}, {"2026-11-21T02", 13},
      {"10:61", 3}};
  for (const auto& [text, position] : cases) {
    const auto parsed = parse_time(text, now_);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().text,
              "Invalid time specification (pos=" + std::to_string(position) + "): " + text);
  }
  EXPECT_FALSE(parse_time("", now_));
  // more microseconds than can be counted
  for (const char* text : {"now+999999999weeks", "now-999999999weeks", "now+99999999days"}) {
    EXPECT_FALSE(parse_time(text, now_)) << text;
  }
}

TEST_F(TimeParsing, Formats) {
  const std::pair<const char*, const char*> relative[] = {
      {"now", "03:28:22"},        {"tomorrow 10:00", "Tomorr 10:00"}, {"now-1day", "Ystday 03:28"},
      {"now+3days", "Tue 03:28"}, {"now+7days", "28 Nov 03:28"},      {"2028-01-02", "2 Jan 2028"}};
  for (const auto& [text, expected] : relative) {
    EXPECT_EQ(format_time(*parse_time(text, now_), "relative", now_), expected);
  }
  EXPECT_EQ(format_time(now_, "%a %T"), "Sat 03:28:22");
  EXPECT_EQ(format_time(now_, "%s"), "1795231702");
  EXPECT_EQ(format_time(now_, "standard"), "2026-11-21T03:28:22");
  EXPECT_EQ(format_time(kNoTime), "Unknown");
}

TEST(Text, NamesOfAListAreTakenOnce) {
  EXPECT_EQ(split_names("b,a,b, a,,c"), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_TRUE(split_names("").empty());
}

}  // namespace
}  // namespace sluice
