// The texts of dependencies, and when minutes are over; what else comes about is in job_life_test and array_test.
#include "ctld/state/dependency.hpp"

#include <random>

#include <gtest/gtest.h>

#include "fixture.hpp"

namespace sluice::state {
namespace {

std::string reformatted(std::string_view text) {
  const auto parsed = parse_dependency(text);
  return parsed ? format_dependency(*parsed) : "refused";
}

TEST(DependencyText, AsSlurmReadsIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"afterok:17,afterany:18", "afterok:17(unfulfilled),afterany:18(unfulfilled)"},
      {"afterok:17?afterany:18,after:19", "afterok:17(unfulfilled)?afterany:18(unfulfilled)?after:19(unfulfilled)"},
      {"after:17+5", "after:17+5(unfulfilled)"},
      {"afterok:17+5", "afterok:17+5(unfulfilled)"},
      {"afterok:17:18+1", "afterok:17(unfulfilled),afterok:18+1(unfulfilled)"},
      {"17", "afterany:17(unfulfilled)"},
      {"singleton,afterok:17", "singleton(unfulfilled),afterok:17(unfulfilled)"},
      {"afterburstbuffer:17", "afterburstbuffer:17(unfulfilled)"},
      {"AFTEROK:17", "afterok:17(unfulfilled)"},
      {"afterok:42_1", "afterok:42_1(unfulfilled)"},
      {"afterok:42_*", "afterok:42_*(unfulfilled)"},
      {"afterok:42_[1-2,5]", "afterok:42_1(unfulfilled),afterok:42_2(unfulfilled),afterok:42_5(unfulfilled)"},
      {"aftercorr:42", "aftercorr:42(unfulfilled)"}};
  for (const auto& [text, shown] : cases) EXPECT_EQ(reformatted(text), shown) << text;
  for (const char* text : {"after:17+x", "nonsense:17", "afterok:", "afterok", "afterok:17,,afterok:18", ",",
                           "afterok:17 afterok:18", "afterok:0", "afterok:42_[", "afterok:42_[]", "afterok:42_x",
                           "singleton:5", "afterok:17??afterok:18", "afterok:1_[1-1000000]",
                           // the bugs: a kind without a name was "after", and no minutes at all were taken
                           ":17", "(x):17", "afterok:17,:18", "after:17+0", "afterok:17+0", "after:17+"}) {
    const auto parsed = parse_dependency(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidDependency) << text;
  }
  EXPECT_EQ(parse_dependency("expand:17").error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(reformatted("afterok:17+0(unfulfilled)"), "afterok:17+0(unfulfilled)") << "of a job that waits already";
}

TEST(DependencyText, HasNoMoreItemsThanCanBeLookedAt) {
  std::string text = "afterok:1_[0-4999],afterok:2_[0-4999]";
  EXPECT_TRUE(parse_dependency(text));
  text += ",afterok:3";
  ASSERT_FALSE(parse_dependency(text));
  EXPECT_EQ(parse_dependency(text).error().code, ErrorCode::kInvalidDependency);
}

TEST(DependencyText, IsReadBack) {
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): repeats
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  for (int round = 0; round < 3000; ++round) {
    Dependency made;
    made.any = below(2) == 0;
    const uint32_t count = 2 + below(5);  // of one alone the joint does not show
    for (uint32_t i = 0; i < count; ++i) {
      DependencyItem item;
      item.kind = static_cast<DependencyKind>(below(static_cast<uint32_t>(DependencyKind::kSingleton) + 1));
      if (item.kind != DependencyKind::kSingleton) {
        item.failed = below(4) == 0;
        item.job = 1 + below(1'000'000);
        if (below(3) == 0) item.task = below(1000);
        else item.all_tasks = below(3) == 0;
        if (item.kind == DependencyKind::kAfter) item.delay = below(2) * below(100);
      }
      made.items.push_back(item);
    }
    const std::string text = format_dependency(made);
    const auto back = parse_dependency(text);
    ASSERT_TRUE(back) << text;
    ASSERT_EQ(back->any, made.any) << text;
    ASSERT_EQ(back->items.size(), made.items.size()) << text;
    ASSERT_EQ(format_dependency(*back), text);
    for (size_t i = 0; i < made.items.size(); ++i) {
      ASSERT_EQ(back->items[i].job, made.items[i].job) << text;
      ASSERT_EQ(back->items[i].task, made.items[i].task) << text;
      ASSERT_EQ(back->items[i].failed, made.items[i].failed) << text;
    }
  }
}

TEST(DependencyText, NonsenseIsRefused) {
  std::mt19937 random(12);  // NOLINT(cert-msc51-cpp): repeats
  constexpr std::string_view kAlphabet = "after:ok012_[]*,?+ (singleton)";
  for (int round = 0; round < 30'000; ++round) {
    std::string text = random() % 2 == 0 ? "afterok:" : "";
    for (auto left = random() % 12; left > 0; --left) text += kAlphabet[random() % kAlphabet.size()];
    const auto parsed = parse_dependency(text);
    if (!parsed) continue;
    const std::string shown = format_dependency(*parsed);
    ASSERT_EQ(reformatted(shown), shown) << text;
  }
}

// The bug: of a job that was over the minutes did not count.
TEST_F(CoreTest, MinutesAfterAJobCountFromItsStartAlsoWhenItIsOver) {
  const JobId first = submit(batch_spec()), gone = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.dependency = "after:" + std::to_string(first) + "+1";
  const JobId before = submit(spec);
  const Time begin = now_;
  ASSERT_TRUE(start_job(first, "n1"));
  now_ = begin + std::chrono::seconds(10);
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(gone), 0, protocol::kSignalCancel}));
  const JobId then = submit(spec);
  spec.dependency = "after:" + std::to_string(gone) + "+1";
  const JobId behind = submit(spec);
  spec.dependency = "after:" + std::to_string(first) + ",after:" + std::to_string(gone);
  EXPECT_TRUE(job(submit(spec)).dependency.empty());
  EXPECT_EQ(job(then).reason, JobReason::kDependency);
  EXPECT_EQ(job(then).dependency, "after:" + std::to_string(first) + "+1(unfulfilled)");
  now_ = begin + std::chrono::seconds(59);
  ASSERT_TRUE(run(Tick{}));
  for (const JobId waits : {before, then, behind}) EXPECT_FALSE(job(waits).dependency.empty()) << waits;
  now_ = begin + std::chrono::seconds(60);
  ASSERT_TRUE(run(Tick{}));
  for (const JobId met : {before, then}) EXPECT_EQ(job(met).accrue, now_) << met;
  EXPECT_FALSE(job(behind).dependency.empty()) << "it counts from the cancellation of what never ran";
  now_ = begin + std::chrono::seconds(70);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(job(behind).dependency.empty());
}

}  // namespace
}  // namespace sluice::state
