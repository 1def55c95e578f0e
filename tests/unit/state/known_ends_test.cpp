// A restore takes the ends of jobs from the journal that it replaces: they ran again.
#include "ctld/state/decide/cluster/known_ends.hpp"

#include "ctld/state/core/invariants.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class KnownEnds : public CoreTest {
 protected:
  void end(JobId id, int32_t status) {
    now_ += std::chrono::seconds(10);
    ASSERT_TRUE(start_job(id, "n1"));
    now_ += std::chrono::seconds(10);
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", status, true));
  }
  // What is put back, with what the present state knows.
  ClusterState put_back(ClusterState backup) {
    for (const Event& event : known_ends(backup, state_)) {
      EXPECT_EQ(check_transition(backup, event), std::vector<std::string>{});
      sluice::state::apply(backup, event);
    }
    EXPECT_EQ(check_state(backup), std::vector<std::string>{});
    return backup;
  }
};

TEST_F(KnownEnds, WhatIsOverDoesNotRunAgain) {
  const JobId waited = submit(batch_spec()), waits = submit(batch_spec()),
              cancelled = submit(batch_spec()), ran = submit(batch_spec()),
              runs = submit(batch_spec());
  ASSERT_TRUE(start_job(ran, "n2"));
  ASSERT_TRUE(start_job(runs, "n3"));
  const ClusterState backup = state_;
  end(waited, 0);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(cancelled), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(end_step(ran, kBatchStep, "n2", 3 << 8, true));
  const Time ended = job(ran).end;
  now_ += std::chrono::hours(1);
  const ClusterState after = put_back(backup);
  EXPECT_EQ(after.jobs.at(waited).state, JobState::kCompleted);
  EXPECT_EQ(after.jobs.at(cancelled).state, JobState::kCancelled);
  EXPECT_EQ(after.jobs.at(cancelled).cancelled_by, kAnn.uid);
  EXPECT_EQ(after.jobs.at(ran).state, JobState::kFailed);
  EXPECT_EQ(after.jobs.at(ran).exit_status, 3 << 8);
  EXPECT_EQ(after.jobs.at(ran).end, ended);
  EXPECT_TRUE(find_node(after, "n2")->jobs.empty());
  EXPECT_EQ(after.jobs.at(waits).state, JobState::kPending);
  EXPECT_EQ(after.jobs.at(runs).state, JobState::kRunning);
}

TEST_F(KnownEnds, WhatWasForgottenIsOverToo) {
  const JobId waited = submit(batch_spec()), ran = submit(batch_spec());
  ASSERT_TRUE(start_job(ran, "n2"));
  const ClusterState backup = state_;
  ASSERT_TRUE(end_step(ran, kBatchStep, "n2", 0, true));
  end(waited, 0);
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(run(Tick{}));
  ASSERT_FALSE(state_.jobs.contains(ran));
  const ClusterState after = put_back(backup);
  for (const JobId id : {waited, ran}) {
    EXPECT_EQ(after.jobs.at(id).state, JobState::kCancelled);
    EXPECT_TRUE(is_finished(after.jobs.at(id)));
  }
}

TEST_F(KnownEnds, TasksOfAnArray) {
  JobSpec spec = batch_spec();
  spec.array = "0-3";
  const JobId array = submit(spec);
  const ClusterState backup = state_;
  for (const uint32_t task : {1U, 2U}) {
    ASSERT_TRUE(start_job(array, "n1", 1, task));
    const JobId id = find_array_task(state_, array, task)->id;
    if (task == 1) { ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true)); }
  }
  EXPECT_EQ(put_back(backup).jobs.at(array).array->pending.to_text(), "0,2-3")
      << "the nodes end what the state does not know: task 2 is to run again";
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(array), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(cleaned(find_array_task(state_, array, 2)->id, "n1"));
  EXPECT_EQ(put_back(backup).jobs.at(array).state, JobState::kCancelled);
}

TEST_F(KnownEnds, WhatIsQueuedAgainIsNotOver) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  const ClusterState backup = state_;
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kRequeue}));
  EXPECT_TRUE(known_ends(backup, state_).empty());
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_TRUE(known_ends(backup, state_).empty());
}

}  // namespace
}  // namespace sluice::state
