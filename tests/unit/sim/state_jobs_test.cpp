#include "sim/run/state_jobs.hpp"

#include "sim/run/job_command.hpp"
#include "support/core_fixture.hpp"

namespace sluice::sim {
namespace {

using state::kAnn;
using std::chrono::seconds;

class StateJobsTest : public state::CoreTest {
 protected:
  static JobSpec spec(Minutes limit) {
    JobSpec made = batch_spec();
    made.user_name = "ann";
    made.time_limit = limit;
    return made;
  }
  [[nodiscard]] const TraceJob* found(const Trace& trace, JobId id) const {
    for (const TraceJob& job : trace.jobs) {
      if (job.id == std::to_string(id)) return &job;
    }
    return nullptr;
  }
};

TEST_F(StateJobsTest, KnowsWhoIsOverAndWhoIsNot) {
  const JobId over = submit(spec(60));
  ASSERT_TRUE(start_job(over, "n1", 2));
  now_ += seconds(90);
  ASSERT_TRUE(end_step(over, kBatchStep, "n1", 0, true));
  now_ += seconds(10);
  const JobId runs = submit(spec(30)), waits = submit(spec(0));
  ASSERT_TRUE(start_job(runs, "n1", 2));
  const JobId cancelled = submit(spec(5));
  ASSERT_TRUE(run(state::SignalJob{kAnn, std::to_string(cancelled), 0, protocol::kSignalCancel}));

  const Trace trace = trace_of(state_);
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.passed_over, 1U) << "it never ran";
  EXPECT_EQ(trace.begin, now_ - seconds(100)) << "of the first submission";
  EXPECT_EQ(found(trace, over)->run_s, 90);
  EXPECT_EQ(found(trace, over)->limit_s, 3600);
  EXPECT_FALSE(found(trace, over)->ends_at_limit);
  EXPECT_EQ(found(trace, over)->cpus, 2U);
  EXPECT_EQ(found(trace, runs)->submit_s, 100);
  EXPECT_EQ(found(trace, runs)->run_s, 1800);
  EXPECT_TRUE(found(trace, runs)->ends_at_limit);
  EXPECT_EQ(found(trace, waits)->run_s, int64_t{365} * 86'400) << "its partition has no limit";
  EXPECT_EQ(found(trace, waits)->user, "ann");
}

TEST_F(StateJobsTest, EachTaskOfAnArrayIsAJob) {
  JobSpec array = spec(10);
  array.array = "3-5%1";
  const JobId id = submit(array);
  ASSERT_TRUE(start_job(id, "n1", 1, 3));
  const Trace trace = trace_of(state_);
  std::vector<std::string> ids;
  for (const TraceJob& job : trace.jobs) ids.push_back(job.id);
  std::ranges::sort(ids);
  const std::string stem = std::to_string(id) + "_";
  EXPECT_EQ(ids, (std::vector<std::string>{stem + "3", stem + "4", stem + "5"}));
}

TEST_F(StateJobsTest, AJobAsksForWhatItAskedFor) {
  JobSpec asked = spec(10);
  asked.partitions = "debug,gone";
  asked.constraint = "fast";
  asked.num_tasks = 3;
  asked.sharing = Sharing::kExclusive;
  asked.dependency = "afterok:1";
  asked.hold = true;
  Trace trace;
  trace.jobs.emplace_back();
  trace.jobs.back().spec = std::make_shared<const JobSpec>(asked);
  trace.jobs.back().partition = "debug,gone";
  trace.jobs.back().limit_s = 600;
  const JobSpec made = Submissions(*state_.config, Unit::kCpu).command(trace.jobs.front()).job;
  EXPECT_EQ(made.constraint, "fast");
  EXPECT_EQ(made.num_tasks, 3U);
  EXPECT_EQ(made.sharing, Sharing::kExclusive);
  EXPECT_EQ(made.partitions, "debug");
  EXPECT_EQ(made.time_limit, 10U);
  EXPECT_GE(made.uid, 100'000U);
}

// What is not of the configuration is not taken over, but for reservations.
TEST_F(StateJobsTest, HoldsAreLeftAndReservationsAreNot) {
  protocol::ReservationValues values;
  values.start = now_ + seconds(100);
  values.duration = seconds(3600);
  values.nodes = "n1";
  values.users = protocol::NameList{"ann"};
  ASSERT_TRUE(run(state::ChangeReservation{
      state::kRoot, {protocol::ReservationAction::kCreate, "r", values}, {{"ann", {kAnn.uid}}}}));
  JobSpec asked = spec(10);
  asked.dependency = "singleton";
  asked.reservation = "r";
  asked.hold = true;
  submit(asked);
  const Trace trace = trace_of(state_);
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_EQ(trace.jobs[0].dependency, "singleton");
  EXPECT_EQ(trace.jobs[0].reservation, "r");
  EXPECT_FALSE(trace.jobs[0].spec->hold);
  ASSERT_EQ(trace.reservations.size(), 1U);
  EXPECT_EQ(trace.reservations[0].nodes.begin()->second, "n1");
  EXPECT_EQ(trace.reservations[0].people, std::vector<std::string>{"ann"});
}

TEST_F(StateJobsTest, ComponentsOfAHeterogeneousJobFollowOneAnother) {
  submit(spec(10));
  state::SubmitJob command{kAnn, spec(10), {}, {spec(20)}};
  const auto reply = run(command);
  ASSERT_TRUE(reply);
  const std::string id = std::to_string(std::get<state::JobSubmittedReply>(*reply).job);
  const Trace trace = trace_of(state_);
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].components, 0U);
  EXPECT_EQ(trace.jobs[1].id, id + "+0");
  EXPECT_EQ(trace.jobs[1].components, 2U);
  EXPECT_EQ(trace.jobs[2].id, id + "+1");
  EXPECT_EQ(trace.jobs[2].limit_s, 1200);
}

}  // namespace
}  // namespace sluice::sim
