// Priorities that are set, lowered, put before others, and that follow nice values.
#include <string>
#include <utility>
#include <vector>

#include "common/names/errors.hpp"
#include "unit/state/update_job_fixture.hpp"

namespace sluice::state {
namespace {

const std::string kNotPersistent =
    "Changes to job priority are not persistent, change nice instead";

class JobPriorityTest : public UpdateJobTest {
 protected:
  // With what the scheduler would give them: 1000 without their nice values.
  [[nodiscard]] std::vector<JobRank> ranks() const {
    std::vector<JobRank> out;
    state_.pending.for_each([&](JobId id) {
      const auto priority = static_cast<uint32_t>(1000 - state_.jobs.at(id).spec->nice);
      out.push_back({id, priority});
    });
    return out;
  }
  JobId nice(int32_t value) {
    JobSpec spec = batch_spec();
    spec.nice = value;
    return submit(spec);
  }
  std::vector<int32_t> nice_of(const std::vector<JobId>& jobs) {
    std::vector<int32_t> out;
    for (const JobId id : jobs) out.push_back(job(id).spec->nice);
    return out;
  }
  // The line that the answer has, or its error.
  std::string gives(Identity who, const std::string& target, uint32_t priority) {
    UpdateJob command{who, target, {}, {}, ranks()};
    command.update.priority = priority;
    command.update.comment = "seen";
    const auto reply = run(command);
    if (!reply) return error_text(reply.error());
    const auto& lines = std::get<protocol::CountReply>(*reply).errors;
    return lines.empty() ? "" : lines.front();
  }
};

using Top = JobPriorityTest;

TEST_F(Top, TheLastNiceValue) {
  JobSpec spec = batch_spec();
  spec.nice = 2'147'483'645;
  const JobId first = submit(spec), second = submit(spec);
  ASSERT_TRUE(run(TopJob{kRoot, std::to_string(second), {{first, 100}, {second, 1}}}));
  EXPECT_EQ(job(second).spec->nice, 2'147'483'645 - 99);
  EXPECT_EQ(job(first).spec->nice, 2'147'483'645) << "it can be no nicer";
}

// The bug: jobs of one priority exchanged what they had alike, and stayed as they were.
TEST_F(Top, JobsOfTheSamePriority) {
  const std::vector<JobId> jobs{nice(0), nice(0), nice(0), nice(0), nice(0)};
  ASSERT_TRUE(run(TopJob{kRoot, std::to_string(jobs[3]), ranks()}));
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{1, 1, 1, 0, 1}));
  ASSERT_TRUE(run(TopJob{kRoot, std::to_string(jobs[1]), ranks()}));
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{1, 0, 1, 1, 1}));
}

// As Slurm 22.05 deals them. The bug: each job of a list was put before all others by itself, so
// that those which came last lost more than the others.
TEST_F(Top, SeveralJobs) {
  const std::vector<JobId> jobs{nice(20), nice(30), nice(40), nice(50), nice(60)};
  const auto top = [&](size_t first, size_t second) {
    const std::string target = std::to_string(jobs[first]) + ',' + std::to_string(jobs[second]);
    ASSERT_TRUE(run(TopJob{kRoot, target, ranks()}));
  };
  top(3, 2);
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{33, 43, 30, 20, 74}));
  top(3, 0);
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{30, 44, 31, 20, 75}));
}

TEST_F(Top, SeveralOfTheSamePriority) {
  const std::vector<JobId> jobs{nice(0), nice(0), nice(0), nice(0), nice(0)};
  ASSERT_TRUE(run(TopJob{kRoot, std::to_string(jobs[4]) + ',' + std::to_string(jobs[2]), ranks()}));
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{2, 2, 1, 2, 0}));
}

// Of several jobs those that do not wait are passed over; one that is not there stops all.
TEST_F(Top, WhatOfAListIsPassedOver) {
  const JobId runs = running(10);
  const std::vector<JobId> jobs{nice(0), nice(10), nice(20)};
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(jobs[1]), protocol::JobAction::kHold}));
  const auto top = [&](const std::string& target) {
    return error_of(TopJob{kRoot, target, ranks()});
  };
  const std::string held = std::to_string(jobs[1]), last = std::to_string(jobs[2]);
  EXPECT_EQ(top(held), ErrorCode::kJobHeld);
  EXPECT_EQ(top(std::to_string(runs)), ErrorCode::kJobNotPending);
  EXPECT_EQ(top(last + ",9999"), ErrorCode::kInvalidJobId);
  EXPECT_EQ(top(last + " " + held), ErrorCode::kInvalidJobId);
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{0, 10, 20}));
  EXPECT_EQ(top(std::to_string(runs) + ',' + held + ',' + last), ErrorCode::kOk);
  EXPECT_EQ(nice_of(jobs), (std::vector<int32_t>{20, 10, 0}));
}

// The bug: an owner could not lower what an operator had given his job.
TEST_F(JobPriorityTest, AnOwnerLowersWhatWasGiven) {
  const JobId id = nice(0);
  const std::string target = std::to_string(id);
  EXPECT_EQ(gives(kRoot, target, 5000), "");
  EXPECT_EQ(gives(kAnn, target, 5000), "Access/permission denied");
  EXPECT_EQ(gives(kAnn, target, 6000), "Access/permission denied");
  EXPECT_EQ(gives(kAnn, target, 4000), kNotPersistent + " for job " + target);
  EXPECT_EQ(job(id).spec->priority, 4000U);
  EXPECT_EQ(gives(kBob, target, 300), "Access/permission denied");
}

// What is worked out again stays as it is; what else was asked for is done.
TEST_F(JobPriorityTest, AnOwnerDoesNotLowerWhatIsWorkedOut) {
  const JobId id = nice(0);
  const std::string target = std::to_string(id);
  EXPECT_EQ(gives(kAnn, target, 1000), "Access/permission denied");
  EXPECT_EQ(job(id).spec->comment, "");
  EXPECT_EQ(gives(kAnn, target, 999), kNotPersistent + " for job " + target);
  EXPECT_EQ(job(id).spec->priority, UINT32_MAX);
  EXPECT_EQ(job(id).spec->comment, "seen");
  configure([](ClusterConfig& config) { config.priority_type = "priority/basic"; });
  EXPECT_EQ(gives(kAnn, target, 999), kNotPersistent + " for job " + target);
  EXPECT_EQ(job(id).spec->priority, 999U);
  JobSpec tasks = batch_spec();
  tasks.array = "1-3";
  const std::string array = std::to_string(submit(tasks));
  EXPECT_EQ(gives(kAnn, array, 7), array + "_1-3: " + kNotPersistent);
}

// The bug: a nice value that was left said nothing, and was shown.
TEST_F(JobPriorityTest, APriorityTakesTheNiceValue) {
  const JobId id = nice(30);
  EXPECT_EQ(gives(kRoot, std::to_string(id), 700), "");
  EXPECT_EQ(job(id).spec->nice, 0);
}

// The bug: the nice value of a running job changed, and its priority did not.
TEST_F(JobPriorityTest, ARunningJobFollowsItsNiceValue) {
  const JobId id = nice(5);
  PlannedStart start{id, kNoTask, "debug", free_cores("n1", 1)};
  start.priority = 500;
  ASSERT_TRUE(run(StartJobs{{start}}));
  EXPECT_EQ(job(id).priority, 500U);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = 55; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).priority, 450U);
  EXPECT_EQ(update(kRoot, id, [](JobUpdate& u) { u.nice = -20; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).priority, 525U);
  EXPECT_EQ(update(kRoot, id, [](JobUpdate& u) { u.nice = 2'000'000; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).priority, 1U);
}

}  // namespace
}  // namespace sluice::state
