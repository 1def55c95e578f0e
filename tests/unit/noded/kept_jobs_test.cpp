#include "noded/jobs/kept_jobs.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/wire/codec.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::noded {
namespace {

class KeptJobsTest : public ::testing::Test {
 protected:
  static KeptJob job(JobId id) {
    KeptJob made;
    made.job = id;
    made.restart = 2;
    made.partition = "debug";
    made.node_list = "n[1-2]";
    made.job_spec = std::make_shared<const JobSpec>();
    return made;
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }

  const test::TempFolder own_;
  const std::string folder_ = own_.path().string();
};

TEST_F(KeptJobsTest, WhatIsKnownOfItsProlog) {
  const KeptJobs kept(folder_ + "/jobs");
  EXPECT_TRUE(kept.load().empty()) << "there is no folder yet";
  KeptJob one = job(7);
  one.prolog = PrologOutcome::kUnknown;
  one.script = {1234, 98765};
  ASSERT_TRUE(kept.store(one));
  one.prolog = PrologOutcome::kFailed;
  one.prolog_status = 1 << 8;
  one.prolog_ended = from_seconds(100);
  one.script = {};
  one.in_group = true;
  KeptJob other = one;
  other.restart = 3;
  other.prolog = PrologOutcome::kUnknown;
  other.script = {1234, 98765};
  ASSERT_TRUE(kept.store(one)) << "it takes the place of what was kept";
  ASSERT_TRUE(kept.store(other));
  auto loaded = kept.load();
  ASSERT_EQ(loaded.size(), 2u);
  if (loaded[0].restart == 3) std::swap(loaded[0], loaded[1]);
  EXPECT_EQ(loaded[0].job, 7u);
  EXPECT_EQ(loaded[0].restart, 2u);
  EXPECT_EQ(loaded[0].prolog, PrologOutcome::kFailed);
  EXPECT_EQ(loaded[0].prolog_status, 1 << 8);
  EXPECT_EQ(loaded[0].prolog_ended, from_seconds(100)) << "the agent after it tells the same";
  EXPECT_TRUE(loaded[0].in_group);
  EXPECT_EQ(loaded[0].node_list, "n[1-2]");
  EXPECT_EQ(loaded[0].script, ProcessMark{});
  EXPECT_EQ(loaded[1].prolog, PrologOutcome::kUnknown);
  EXPECT_EQ(loaded[1].script, (ProcessMark{1234, 98765}));
  kept.remove(7, 2);
  kept.remove(7, 2);
  ASSERT_EQ(kept.load().size(), 1u);
}

// An agent of an earlier version wrote the order that it had got.
TEST_F(KeptJobsTest, FilesOfEarlierVersions) {
  protocol::RunPrologRequest order;
  order.job = 5;
  order.partition = "debug";
  order.job_spec = std::make_shared<const JobSpec>();
  write("5.0", wire::encode(order));
  const auto loaded = KeptJobs(folder_).load();
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].job, 5u);
  EXPECT_EQ(loaded[0].partition, "debug");
  EXPECT_EQ(loaded[0].prolog, PrologOutcome::kPassed);
}

TEST_F(KeptJobsTest, WhatIsNotWholeIsLeftOut) {
  const std::string whole = wire::encode(job(6));
  write("6.2.new", whole);
  write("7.0", "\xff\xff\xff");
  write("8.0", "");
  EXPECT_TRUE(KeptJobs(folder_).load().empty());
}

TEST(ProcessMark, OfItsLineInProc) {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
  EXPECT_EQ(start_in_stat("12 (sh)" + rest), 4711u);
  EXPECT_EQ(start_in_stat("12 (a (b) S 9)" + rest), 4711u) << "up to the last bracket";
  EXPECT_EQ(start_in_stat("12 (sh) Z" + rest.substr(2)), std::nullopt);
  EXPECT_EQ(start_in_stat("12 (sh) S 1 2"), std::nullopt);
  EXPECT_EQ(start_in_stat(""), std::nullopt);
}

TEST(ProcessMark, ANumberThatIsAnothersIsNotIt) {
  ProcessMark own = mark_of(::getpid());
  EXPECT_EQ(own.pid, static_cast<uint32_t>(::getpid()));
  EXPECT_TRUE(runs(own));
  ++own.start;
  EXPECT_FALSE(runs(own));
  EXPECT_FALSE(runs({}));
}

}  // namespace
}  // namespace sluice::noded
