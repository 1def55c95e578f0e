// GrpJobsAccrue and MaxJobsAccrue: whose age grows while it waits.
#include "common/model/job_update.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class AgeTest : public AccountingTest {
 protected:
  bool ages(JobId id) { return job(id).accrue != kNoTime; }
  void change(JobId id, protocol::JobAction action) {
    ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), action}));
  }
  // The records of an array's tasks that wait, those that gain age first.
  std::pair<uint32_t, uint32_t> tasks(JobId array) {
    std::pair<uint32_t, uint32_t> out;
    state_.jobs.for_each([&](const Job& one) {
      if (one.array == nullptr || one.array->array_job != array) return;
      const auto count =
          one.array->task == kNoTask ? static_cast<uint32_t>(one.array->pending.size()) : 1U;
      (one.accrue != kNoTime ? out.first : out.second) += count;
    });
    return out;
  }
};

TEST_F(AgeTest, AsManyAsTheLimitLets) {
  association(kAnnPhysics).member.jobs_accrue = 2;
  follow();
  const Time begun = now_;
  const JobId first = submit(batch_spec()), second = submit(batch_spec()),
              third = submit(batch_spec());
  EXPECT_TRUE(ages(first) && ages(second));
  EXPECT_FALSE(ages(third));
  EXPECT_EQ(job(third).eligible, begun);
  EXPECT_EQ(held(kAnnPhysics).accruing, 2u);
  EXPECT_EQ(plan(third), "starts") << "it may run";
  pass_time(std::chrono::minutes(5));
  EXPECT_FALSE(ages(third));
  ASSERT_TRUE(start_job(first, "n1"));
  pass_time(std::chrono::minutes(5));
  EXPECT_EQ(job(third).accrue, now_);
  EXPECT_EQ(job(third).eligible, begun) << "it could have run before";
  EXPECT_EQ(held(kAnnPhysics).accruing, 2u);
  const JobId fourth = submit(batch_spec());
  EXPECT_FALSE(ages(fourth));
  EXPECT_TRUE(state_.age_limited.contains(fourth));
  ASSERT_TRUE(start_job(fourth, "n2"));
  EXPECT_FALSE(state_.age_limited.contains(fourth));
}

TEST_F(AgeTest, ALimitThatGrowsLetsTheOldestBegin) {
  association(kPhysics).group.jobs_accrue = 0;
  follow();
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  JobSpec chem = batch_spec();
  chem.account = "chem";
  EXPECT_TRUE(ages(submit(chem))) << "another account";
  EXPECT_FALSE(ages(first) || ages(second));
  association(kPhysics).group.jobs_accrue = 1;
  follow();
  pass_time(std::chrono::seconds(1));
  EXPECT_TRUE(ages(first));
  EXPECT_FALSE(ages(second));
  enforce({"associations"});
  pass_time(std::chrono::seconds(1));
  EXPECT_TRUE(ages(second)) << "no limits any more";
}

TEST_F(AgeTest, WithAccrueAlwaysThereIsNoLimit) {
  qos(kNormal).user.jobs_accrue = 0;
  follow();
  EXPECT_FALSE(ages(submit(batch_spec())));
  configure([](ClusterConfig& config) { config.priority_flags = {"ACCRUE_ALWAYS"}; });
  EXPECT_TRUE(ages(submit(batch_spec())));
}

TEST_F(AgeTest, TheFirstTasksOfAnArrayGetRecordsOfTheirOwn) {
  qos(kNormal).user.jobs_accrue = 2;
  follow();
  JobSpec spec = batch_spec();
  spec.array = "1-5";
  const JobId array = submit(spec);
  EXPECT_EQ(tasks(array), std::pair(0u, 5u));
  pass_time(std::chrono::seconds(1));
  EXPECT_EQ(tasks(array), std::pair(2u, 3u));
  EXPECT_EQ(job(array).array->pending.to_text(), "3-5");
  pass_time(std::chrono::seconds(1));
  EXPECT_EQ(tasks(array), std::pair(2u, 3u)) << "there is no room for more";
  qos(kNormal).user.jobs_accrue = 5;
  follow();
  pass_time(std::chrono::seconds(1));
  EXPECT_EQ(tasks(array), std::pair(5u, 0u));
  EXPECT_EQ(job(array).array->pending.to_text(), "3-5") << "what begins as a whole stays one";
}

// What is held, or waits for another time, is asked again when it is let go.
TEST_F(AgeTest, HoldsAndUpdates) {
  association(kAnnPhysics).member.jobs_accrue = 1;
  follow();
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  JobUpdate named;
  named.name = "other";
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(second), named}));
  EXPECT_FALSE(ages(second)) << "an update is no way past it";
  change(second, protocol::JobAction::kUserHold);
  EXPECT_FALSE(state_.age_limited.contains(second));
  pass_time(std::chrono::seconds(1));
  change(second, protocol::JobAction::kRelease);
  EXPECT_FALSE(ages(second)) << "nor is a release";
  change(first, protocol::JobAction::kUserHold);
  pass_time(std::chrono::seconds(1));
  EXPECT_TRUE(ages(second));
  change(first, protocol::JobAction::kRelease);
  EXPECT_FALSE(ages(first));
  JobUpdate later;
  later.begin = now_ + std::chrono::minutes(1);
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(second), later}));
  pass_time(std::chrono::seconds(1));
  EXPECT_TRUE(ages(first));
  pass_time(std::chrono::minutes(2));
  EXPECT_FALSE(ages(second));
  EXPECT_EQ(job(second).eligible, now_);
}

}  // namespace
}  // namespace sluice::state
