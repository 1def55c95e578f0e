// Texts that users type, made at random from seeds: what is written is read back as it was, and
// nonsense is refused with a text or means something that can be written again.
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "common/base/hostlist.hpp"
#include "common/base/index_ops.hpp"
#include "common/base/index_set.hpp"
#include "common/base/time_text.hpp"

namespace sluice {
namespace {

class ParseProperty : public ::testing::Test {
 protected:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  std::string nonsense(std::string_view alphabet, uint32_t longest) {
    std::string text;
    for (uint32_t left = below(longest + 1); left > 0; --left) {
      text += alphabet[below(static_cast<uint32_t>(alphabet.size()))];
    }
    return text;
  }
  std::mt19937 random_{20261121};  // NOLINT(cert-msc51-cpp): a seed that repeats is the point
};

TEST_F(ParseProperty, ArraySpecs) {
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> items;
    std::set<uint32_t> wanted;
    for (uint32_t left = 1 + below(5); left > 0; --left) {
      const uint32_t first = below(900), last = first + below(100), step = 1 + below(7);
      std::string item = std::to_string(first);
      if (last == first) {
        wanted.insert(first);
      } else {
        item += '-' + std::to_string(last);
        if (step > 1) item += ':' + std::to_string(step);
        for (uint32_t i = first; i <= last; i += step) wanted.insert(i);
      }
      items.push_back(std::move(item));
    }
    std::ranges::shuffle(items, random_);
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    const uint32_t limit = below(3) == 0 ? 1 + below(50) : 0;
    if (below(2) == 0) text = '[' + text + ']';
    if (limit != 0) text += '%' + std::to_string(limit);
    const auto spec = parse_array_spec(text, 1001);
    ASSERT_TRUE(spec) << text;
    std::set<uint32_t> got;
    spec->indexes.for_each([&](uint32_t index) { got.insert(index); });
    ASSERT_EQ(got, wanted) << text;
    ASSERT_EQ(spec->max_running, limit) << text;
    const auto again = parse_array_spec(array_task_text(spec->indexes, limit, 0), 1001);
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(again->indexes, spec->indexes) << text;
    ASSERT_EQ(again->max_running, limit) << text;
  }
}

// Sets as they are, beside std::set: each operation goes through them once, whatever its operands.
TEST_F(ParseProperty, SetsOfIndexes) {
  for (int round = 0; round < 2000; ++round) {
    std::set<uint32_t> wanted[2];
    IndexSet got[2];
    for (int which = 0; which < 2; ++which) {
      std::vector<uint32_t> list;
      for (uint32_t left = below(30); left > 0; --left) list.push_back(below(60));
      wanted[which].insert(list.begin(), list.end());
      got[which] = index_set_of(list);
    }
    const auto same = [](const IndexSet& set, const std::set<uint32_t>& as) {
      std::set<uint32_t> members;
      set.for_each([&](uint32_t index) { members.insert(index); });
      for (size_t i = 1; i < set.ranges().size(); ++i) {
        if (set.ranges()[i].first <= set.ranges()[i - 1].last + 1) return false;
      }
      return members == as;
    };
    std::set<uint32_t> both, left, all = wanted[0];
    for (const uint32_t index : wanted[0]) (wanted[1].contains(index) ? both : left).insert(index);
    all.insert(wanted[1].begin(), wanted[1].end());
    const IndexSet less = without(got[0], got[1]);
    IndexSet more = got[0];
    more.insert(got[1]);
    ASSERT_TRUE(same(got[0], wanted[0]) && same(got[0] & got[1], both) && same(less, left) &&
                same(more, all))
        << round;
  }
}

// Two spans with steps were minutes: each index was put between those that were there.
TEST_F(ParseProperty, ManyIndexesAreBuiltOnceOrRefused) {
  const auto odd_and_even = IndexSet::parse("0-4000000:2,1-4000001:2");
  ASSERT_TRUE(odd_and_even);
  EXPECT_EQ(odd_and_even->ranges().size(), 1U);
  EXPECT_FALSE(IndexSet::parse("0-4294967290:2"));
  EXPECT_FALSE(IndexSet::parse("0-8388608:2,1-8388609:2,0-8388608:2"));
  EXPECT_FALSE(IndexSet::parse_tasks("0-8388608:2"));
  EXPECT_EQ(IndexSet::parse_tasks("[0-100000:2]")->size(), 50'001U);
  std::string often;
  for (int i = 0; i < 20'000; ++i) often += "0-1000:2,";
  EXPECT_FALSE(parse_array_spec(often, 1001)) << "every task is named thousands of times";
  EXPECT_TRUE(parse_array_spec("0-1000:2,1-1000:2,0-1000:5", 1001));
}

// A prefix of a megabyte before 65,536 numbers was 64 gigabytes.
TEST_F(ParseProperty, NamesOfHostsAreShort) {
  const std::string prefix(size_t{1} << 20, 'x');
  const auto names = expand_hosts(prefix + "[0-65535]");
  ASSERT_FALSE(names);
  EXPECT_LT(names.error().text.size(), 400U);
  EXPECT_TRUE(expand_hosts(std::string(250, 'x') + "[0-9]"));
  EXPECT_FALSE(expand_hosts(std::string(255, 'x') + "[0-9]"));
}

TEST_F(ParseProperty, ArrayNonsense) {
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = nonsense("0123459-,:%[] x+", 12);
    const auto spec = parse_array_spec(text, 1001);
    if (!spec) {
      ASSERT_EQ(spec.error().code, ErrorCode::kInvalidArray) << text;
      continue;
    }
    ASSERT_FALSE(spec->indexes.empty()) << text;
    ASSERT_LT(spec->indexes.back(), 1001U) << text;
    const auto again = parse_array_spec(array_task_text(spec->indexes, spec->max_running, 0), 1001);
    ASSERT_TRUE(again && again->indexes == spec->indexes) << text;
  }
}

TEST_F(ParseProperty, HostLists) {
  static constexpr std::string_view kStems[] = {"n", "rack1-n", "a0b", "login", "x-"};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> names;
    for (uint32_t left = 1 + below(12); left > 0; --left) {
      std::string number = std::to_string(below(120));
      if (below(3) == 0) number.insert(0, 1 + below(3), '0');
      names.push_back(std::string(kStems[below(5)]) + number);
    }
    const std::string text = fold_hosts(names);
    const auto back = expand_hosts(text);
    ASSERT_TRUE(back) << text;
    ASSERT_EQ(*back, names) << text;
    ASSERT_EQ(count_hosts(text).value_or(0), names.size()) << text;
    auto sorted = expand_hosts(fold_hosts_sorted(names));
    ASSERT_TRUE(sorted) << text;
    std::ranges::sort(names);
    std::ranges::sort(*sorted);
    ASSERT_EQ(*sorted, names) << text;
  }
}

TEST_F(ParseProperty, HostNonsense) {
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = nonsense("nab0129[],-  {}", 14);
    const auto names = expand_hosts(text);
    ASSERT_EQ(names.has_value(), count_hosts(text).has_value()) << text;
    if (!names) {
      ASSERT_EQ(names.error().text, "Invalid hostlist: " + text);
      continue;
    }
    const auto again = expand_hosts(fold_hosts(*names));
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(*again, *names) << text;
  }
}

TEST_F(ParseProperty, LimitsAndSpans) {
  for (int round = 0; round < 5000; ++round) {
    const Minutes minutes = below(4) == 0 ? below(100) : below(10'000'000);
    ASSERT_EQ(parse_minutes(format_minutes(minutes)).value_or(UINT32_MAX), minutes);
    ASSERT_EQ(parse_minutes(std::to_string(minutes)).value_or(UINT32_MAX), minutes);
    const Duration span = std::chrono::seconds(below(100'000'000));
    const auto back = parse_span(format_span(span));
    ASSERT_TRUE(back && *back == span) << format_span(span);
  }
  EXPECT_EQ(parse_minutes(format_minutes(kInfiniteMinutes)), kInfiniteMinutes);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = nonsense("0123456789:-+ dx.", 10);
    const auto minutes = parse_minutes(text);
    if (minutes && *minutes != kInfiniteMinutes) {
      ASSERT_EQ(parse_minutes(format_minutes(*minutes)), minutes) << text;
    }
    (void)parse_span(text);
  }
}

TEST_F(ParseProperty, PointsInTime) {
  const Time now = from_seconds(1'795'000'000);
  for (int round = 0; round < 5000; ++round) {
    const Time at = from_seconds(946'684'800 + static_cast<int64_t>(below(2'000'000'000)));
    const auto back = parse_time(format_time(at), now);
    ASSERT_TRUE(back) << format_time(at);
    // an hour that comes twice, when clocks go back, is read as one of the two
    ASSERT_EQ(format_time(*back), format_time(at));
    const auto unix_seconds = parse_time("uts" + std::to_string(to_seconds(at)), now);
    ASSERT_TRUE(unix_seconds && *unix_seconds == at);
  }
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = nonsense("0123456789:-/.T+ nowamphuts", 16);
    const auto at = parse_time(text, now);
    if (at) ASSERT_FALSE(format_time(*at).empty()) << text;
    else ASSERT_FALSE(at.error().text.empty()) << text;
  }
  EXPECT_EQ(*parse_time("now + 1 hour", now), now + std::chrono::hours(1));
  EXPECT_EQ(*parse_time("now -2days", now), now - std::chrono::hours(48));
  for (const char* text : {"now + hour", "now 1 hour", "now +"})
    EXPECT_FALSE(parse_time(text, now)) << text;
}

}  // namespace
}  // namespace sluice
