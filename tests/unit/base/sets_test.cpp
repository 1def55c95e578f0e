// Bitmap, IndexSet, the --array parser and SharedText.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "common/base/bitmap.hpp"
#include "common/base/index_set.hpp"
#include "common/base/shared_text.hpp"

namespace sluice {
namespace {

TEST(Bitmap, AgreesWithASet) {
  std::mt19937 random(1);
  Bitmap bits;
  std::set<size_t> model;
  for (int round = 0; round < 2000; ++round) {
    const size_t bit = random() % 200;
    if (random() % 2 == 0) {
      bits.set(bit);
      model.insert(bit);
    } else {
      bits.reset(bit);
      model.erase(bit);
    }
  }
  std::set<size_t> seen;
  bits.for_each([&](size_t bit) { seen.insert(bit); });
  EXPECT_EQ(seen, model);
  EXPECT_EQ(bits.count(), model.size());
  EXPECT_EQ(bits.find_first(), *model.begin());
  EXPECT_EQ(bits.find_last(), *model.rbegin());
  EXPECT_EQ(Bitmap::from_text(bits.to_text()), bits);
}

TEST(Bitmap, CombinesAcrossSizes) {
  const Bitmap low = *Bitmap::from_text("0-3,7");
  const Bitmap both = *Bitmap::from_text("3,7,200");
  EXPECT_EQ((low & both).to_text(), "3,7");
  EXPECT_EQ((low | both).to_text(), "0-3,7,200");
  EXPECT_EQ(Bitmap(both).and_not(low).to_text(), "200");
  EXPECT_EQ(Bitmap(low).and_not(both).to_text(), "0-2");
  EXPECT_EQ(low.count_common(both), 2U);
  EXPECT_TRUE(low.intersects(both));
  EXPECT_FALSE(low.contains(both));
  EXPECT_TRUE((low | both).contains(both));
  Bitmap shrunk = both;
  shrunk.reset(200);
  EXPECT_EQ(shrunk, *Bitmap::from_text("3,7"));
}

TEST(Bitmap, SearchesAndTakes) {
  const Bitmap bits = *Bitmap::from_text("1,3-5,60-70");
  EXPECT_EQ(bits.find_run(3), 3U);
  EXPECT_EQ(bits.find_run(4), 60U);
  EXPECT_EQ(bits.find_run(12), Bitmap::kNone);
  EXPECT_EQ(bits.find_first_clear(60), 71U);
  EXPECT_EQ(bits.find_next(5), 60U);
  EXPECT_EQ(bits.find_next(70), Bitmap::kNone);
  EXPECT_EQ(bits.take_first(3).to_text(), "1,3-4");
  EXPECT_EQ(Bitmap::first(130).count(), 130U);
  EXPECT_TRUE(Bitmap().none());
}

TEST(Bitmap, RefusesBadText) {
  for (const char* text : {"a", "1-", "3-1", "1,", "1;2", "-1", "1048576", "0-99999999"}) {
    EXPECT_FALSE(Bitmap::from_text(text)) << text;
  }
}

TEST(IndexSet, AgreesWithASet) {
  std::mt19937 random(2);
  IndexSet indexes;
  std::set<uint32_t> model;
  for (int round = 0; round < 3000; ++round) {
    const auto first = static_cast<uint32_t>(random() % 100);
    const auto last = first + static_cast<uint32_t>(random() % 6);
    const bool add = random() % 2 == 0;
    if (add) indexes.insert(first, last);
    else indexes.erase(first, last);
    for (uint32_t i = first; i <= last; ++i) add ? (void)model.insert(i) : (void)model.erase(i);
    std::set<uint32_t> seen;
    indexes.for_each([&](uint32_t index) { seen.insert(index); });
    ASSERT_EQ(seen, model);
    ASSERT_EQ(indexes.size(), model.size());
    ASSERT_EQ(indexes.contains(first), add);
  }
  const std::string text = indexes.to_text();
  EXPECT_EQ(IndexSet::parse(text), indexes);
  ASSERT_EQ(indexes.pop_first(), *model.begin());
  EXPECT_FALSE(IndexSet().pop_first());
  IndexSet edge(0, UINT32_MAX);
  EXPECT_EQ(edge.size(), uint64_t{1} << 32);
  edge.erase(5);
  EXPECT_EQ(edge.ranges().size(), 2U);
}

TEST(IndexSet, MeetsAndJoinsAsSetsDo) {
  std::mt19937 random(3);
  const auto draw = [&random](std::set<uint32_t>& model) {
    IndexSet indexes;
    for (int range = static_cast<int>(random() % 6); range > 0; --range) {
      const auto first = static_cast<uint32_t>(random() % 60);
      const auto last = first + static_cast<uint32_t>(random() % 6);
      indexes.insert(first, last);
      for (uint32_t i = first; i <= last; ++i) model.insert(i);
    }
    return indexes;
  };
  for (int round = 0; round < 2000; ++round) {
    std::set<uint32_t> model_a, model_b;
    const IndexSet a = draw(model_a), b = draw(model_b);
    IndexSet common, joined = a;
    for (const uint32_t index : model_a) {
      if (model_b.contains(index)) common.insert(index);
    }
    ASSERT_EQ(a & b, common) << a.to_text() << " and " << b.to_text();
    ASSERT_EQ(a.intersects(b), !common.empty());
    joined.insert(b);
    model_a.insert(model_b.begin(), model_b.end());
    ASSERT_EQ(joined.size(), model_a.size());
  }
  const IndexSet most(0, UINT32_MAX - 1);
  EXPECT_EQ((most & IndexSet(7, UINT32_MAX)).ranges(), IndexSet(7, UINT32_MAX - 1).ranges());
}

TEST(IndexSet, TasksBehindAnIdMayBeInBrackets) {
  const IndexSet three(1, 3);
  for (const char* text : {"1-3", "[1-3]", "[1,2,3]"})
    EXPECT_EQ(IndexSet::parse_tasks(text), three) << text;
  for (const char* text : {"[1-3", "1-3]", "[", "]", "[[1]]", "*"})
    EXPECT_FALSE(IndexSet::parse_tasks(text)) << text;
  EXPECT_TRUE(IndexSet::parse_tasks("[]")->empty());
}

TEST(ArraySpec, ParsesAsSlurmDoes) {
  struct Case {
    const char* text;
    const char* shown;
  };
  const Case good[] = {{"0-15:4,20", "0,4,8,12,20"},
                       {"1-3,7", "1-3,7"},
                       {"0-6:2%2", "0,2,4,6%2"},
                       {"1-3%0", "1-3"},
                       {"2-4,1", "1-4"},
                       {"1-2:5", "1"},
                       {"0-100:7", "0-98:7"},
                       {"0-10:2", "0,2,4,6,8,10"},
                       {"0-12:2", "0-12:2"},
                       {"1-51:10", "1-51:10"},
                       {"1-3%x", "1-3"},
                       {"[1-3]", "1-3"},
                       {"1-3,", "1-3"},
                       {"1-10%5%3", "1-10%5"},
                       {"1-3%1,5", "1-3,5%1"},
                       {"1%2,3%4x", "1,3%2"},
                       {"1-3%,5", "1-3,5"},
                       {"[1-3]%1,5", "1-3,5%1"},
                       {"[1-3%1],5]", "1-3,5%1"},
                       {"[1],[2]", "1-2"},
                       {"1-3],5", "1-3,5"},
                       {"1-100000", "1-100000"}};
  for (const Case& one : good) {
    const auto spec = parse_array_spec(one.text, 100001);
    ASSERT_TRUE(spec) << one.text;
    EXPECT_EQ(array_task_text(spec->indexes, spec->max_running), one.shown);
  }
  for (const char* text : {"1-5:0", "5-1", "1-x", "", "1-100001", "1 ,2", "1-3:%2", "-1", "1-0x5",
                           "1,2%1,x", "1-[3]", "1,3]4", "[1-3]x", "[1-3]]", "[[1-3]]"}) {
    const auto spec = parse_array_spec(text, 100001);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalidArray);
  }
}

TEST(ArraySpec, TextIsCutAsSlurmDoes) {
  const auto spec = parse_array_spec(
      "1,3,5,7,8,10,12,14,16,18,20,22,24,26,28,30,33,36,39,41,43,45,49,51,53,55,57,59%4", 1000);
  ASSERT_TRUE(spec);
  EXPECT_EQ(array_task_text(spec->indexes, 4, 10), "1,3,5,...%4");
  EXPECT_EQ(array_task_text(spec->indexes, 4, 20), "1,3,5,7-8,10,12,...%4");
  EXPECT_EQ(array_task_text(spec->indexes, 4),
            "1,3,5,7-8,10,12,14,16,18,20,22,24,26,28,30,33,36,39,41,43,45...%4");
  EXPECT_EQ(array_task_text(spec->indexes, 0, 0), spec->indexes.to_text());
}

TEST(SharedText, SharesAndCompares) {
  const SharedText empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty, "");
  EXPECT_STREQ(empty.c_str(), "");
  SharedText a = std::string("partition");
  SharedText b = a;
  EXPECT_EQ(a.c_str(), b.c_str());
  EXPECT_EQ(b, "partition");
  EXPECT_EQ(b.size(), 9U);
  b = "other";
  EXPECT_LT(b, a);
  EXPECT_NE(a, b);
  a = std::move(b);
  EXPECT_EQ(a.str(), "other");
  a = a;  // NOLINT: itself
  EXPECT_EQ(a, SharedText("other"));
}

}  // namespace
}  // namespace sluice
