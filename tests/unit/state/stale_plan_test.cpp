// Starts that were planned of a state before the job was updated.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class StalePlan : public CoreTest {
 protected:
  StalePlan() {
    id_ = submit(batch_spec());
    plan_.starts.push_back({.job = id_, .partition = "debug", .allocation = free_cores("n1", 1)});
    plan_.starts.back().spec = job(id_).spec;
  }
  void update(const JobUpdate& change) {
    ASSERT_TRUE(run(UpdateJob{kRoot, std::to_string(id_), change}));
  }
  uint32_t started() { return std::get<StartedReply>(*run(plan_)).started; }

  JobId id_ = kNoJob;
  StartJobs plan_;
};

TEST_F(StalePlan, IsDroppedWhenTheJobAsksForMoreNodesNow) {
  JobUpdate change;
  change.min_nodes = 2;
  update(change);
  EXPECT_EQ(started(), 0U);
  EXPECT_EQ(job(id_).state, JobState::kPending);
}

TEST_F(StalePlan, IsDroppedWhenTheJobAsksForMoreMemoryNow) {
  JobUpdate change;
  change.memory_per_node_mib = 700;
  update(change);
  EXPECT_EQ(started(), 0U);
}

TEST_F(StalePlan, HoldsWhenTheJobAsksForTheSame) {
  JobUpdate change;
  change.comment = "changed";
  change.time_limit = 5;
  update(change);
  EXPECT_EQ(started(), 1U);
}

}  // namespace
}  // namespace sluice::state
