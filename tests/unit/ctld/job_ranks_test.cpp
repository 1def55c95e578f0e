// What scontrol top goes by.
#include "ctld/query/job_ranks.hpp"

#include <gtest/gtest.h>

#include "unit/sched/world.hpp"

namespace sluice::ctld {
namespace {

// The bug: a job that no pass had looked at yet could not be put to the top.
TEST(JobRanks, OfJobsThatJustCame) {
  sched::World w(2, 4);
  w.up();
  JobSpec spec = sched::World::spec(1);
  const JobId first = w.submit(spec), second = w.submit(spec);
  spec.nice = 10;
  const JobId nice = w.submit(spec);
  spec.uid = 1002;
  const JobId of_another = w.submit(spec);
  const auto of = [&](const std::string& targets) {
    std::vector<JobId> out;
    for (const auto& rank : ranks_beside(w.state, sched::make_policies(w.state), targets, w.now))
      out.push_back(rank.job);
    return out;
  };
  EXPECT_EQ(of(std::to_string(second)), (std::vector<JobId>{first, second, nice}));
  EXPECT_EQ(of(std::to_string(second) + ',' + std::to_string(of_another)),
            (std::vector<JobId>{first, second, nice, of_another}));
  EXPECT_EQ(of("9999"), std::vector<JobId>());
  const auto ranks =
      ranks_beside(w.state, sched::make_policies(w.state), std::to_string(first), w.now);
  EXPECT_EQ(ranks[1].priority, ranks[0].priority - 1) << "priority/basic";
  EXPECT_EQ(ranks[2].priority, ranks[0].priority - 12);
}

}  // namespace
}  // namespace sluice::ctld
