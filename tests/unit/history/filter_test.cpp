// What sacct's options mean: which jobs were there, and in which state, at some time of a span.
#include "common/history/history_filter.hpp"

#include <gtest/gtest.h>

namespace sluice::history {
namespace {

using protocol::HistoryJobName;
using protocol::QueryHistoryRequest;

Time at(int64_t seconds) { return from_seconds(1000 + seconds); }

// Submitted at 0, started at 10, ended at 20.
JobHistory ended_job() {
  JobHistory job;
  job.id = 7;
  job.submit = job.eligible = at(0);
  job.start = at(10);
  job.end = at(20);
  job.state = JobState::kFailed;
  job.partition = "debug";
  job.nodes = "n[1-2]";
  job.node_count = 2;
  job.cpus = 8;
  return job;
}

bool was_there(const JobHistory& job, int64_t from, int64_t until,
               std::vector<JobState> states = {}) {
  QueryHistoryRequest request;
  request.from = at(from);
  request.until = at(until);
  request.states = std::move(states);
  return history::was_there(job, request);
}

TEST(WasThere, WithoutStatesWhoWasEligibleAndNotOver) {
  EXPECT_TRUE(was_there(ended_job(), 5, 8));
  EXPECT_TRUE(was_there(ended_job(), 15, 30));
  EXPECT_TRUE(was_there(ended_job(), -10, 40));
  EXPECT_FALSE(was_there(ended_job(), -10, -1));
  EXPECT_FALSE(was_there(ended_job(), 21, 30));
}

TEST(WasThere, FinalStatesAreOfWhatEndedThen) {
  EXPECT_TRUE(was_there(ended_job(), 15, 25, {JobState::kFailed}));
  EXPECT_FALSE(was_there(ended_job(), 5, 15, {JobState::kFailed}));
  EXPECT_FALSE(was_there(ended_job(), 21, 25, {JobState::kFailed}));
  EXPECT_FALSE(was_there(ended_job(), 15, 25, {JobState::kCompleted}));
}

TEST(WasThere, RunningIsWhatRanThenWhateverBecameOfIt) {
  EXPECT_TRUE(was_there(ended_job(), 12, 15, {JobState::kRunning}));
  EXPECT_TRUE(was_there(ended_job(), 0, 11, {JobState::kRunning}));
  EXPECT_FALSE(was_there(ended_job(), 0, 9, {JobState::kRunning}));
  EXPECT_FALSE(was_there(ended_job(), 21, 30, {JobState::kRunning}));
  JobHistory runs = ended_job();
  runs.end = kNoTime;
  runs.state = JobState::kRunning;
  EXPECT_TRUE(was_there(runs, 500, 600, {JobState::kRunning}));
}

TEST(WasThere, PendingIsWhatWaitedThen) {
  EXPECT_TRUE(was_there(ended_job(), 2, 5, {JobState::kPending}));
  EXPECT_FALSE(was_there(ended_job(), 12, 15, {JobState::kPending}));
  JobHistory waits = ended_job();
  waits.start = waits.end = kNoTime;
  waits.state = JobState::kPending;
  EXPECT_TRUE(was_there(waits, 500, 600, {JobState::kPending}));
  EXPECT_FALSE(was_there(waits, 500, 600, {JobState::kRunning}));
}

// -s CA listed runs of jobs that went on, -s RQ those that others made room by.
TEST(WasThere, ARunThatWasQueuedAgainWasNotCancelled) {
  JobHistory run = ended_job();
  run.state = JobState::kCancelled;
  run.flags = kJobRequeued;
  EXPECT_FALSE(was_there(run, 15, 25, {JobState::kCancelled}));
  QueryHistoryRequest requeued;
  requeued.from = at(15);
  requeued.until = at(25);
  requeued.flags = kJobRequeued;
  EXPECT_TRUE(history::was_there(run, requeued));
  run.state = JobState::kFailed;  // RequeueExit
  EXPECT_TRUE(history::was_there(run, requeued));
  EXPECT_FALSE(was_there(run, 15, 25, {JobState::kFailed}));
  run.state = JobState::kPreempted;
  EXPECT_FALSE(history::was_there(run, requeued));
  EXPECT_TRUE(was_there(run, 15, 25, {JobState::kPreempted}));
}

// The tasks of an array were parsed again for each name, and for each of its steps.
TEST(Named, ManyTasksOfALongArrayCostLittle) {
  JobHistory array = ended_job();
  array.id = array.array_job = 5;
  for (int task = 0; task < 20'000; task += 2) array.array_tasks += std::to_string(task) + ",";
  array.array_tasks += "20000%4";
  QueryHistoryRequest request;
  request.jobs = {{.job = 5, .task = 6, .step = 3}};
  for (uint32_t task = 1; task < 20'000; task += 2)
    request.jobs.push_back({.job = 5, .task = task});
  const auto filter = Filter::make(request);
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->matches(array));
  const WantedSteps steps = filter->steps_of(array);
  for (StepNumber step = 0; step < 20'000; ++step) EXPECT_EQ(steps.contains(step), step == 3);
}

TEST(Named, JobsTasksAndComponents) {
  JobHistory task = ended_job();
  task.array_job = 5;
  task.array_task = 3;
  EXPECT_TRUE(is_named(task, {.job = 5}));
  EXPECT_TRUE(is_named(task, {.job = 5, .task = 3}));
  EXPECT_TRUE(is_named(task, {.job = 7}));
  EXPECT_FALSE(is_named(task, {.job = 5, .task = 4}));
  task.array_task = kNoTask;
  task.array_tasks = "4-6";
  EXPECT_TRUE(is_named(task, {.job = 5, .task = 4}));
  EXPECT_FALSE(is_named(task, {.job = 5, .task = 3}));
  JobHistory part = ended_job();
  part.het_job = 6;
  part.het_offset = 1;
  EXPECT_TRUE(is_named(part, {.job = 6}));
  EXPECT_TRUE(is_named(part, {.job = 6, .offset = 1}));
  EXPECT_FALSE(is_named(part, {.job = 6, .offset = 0}));
}

// A job that was cancelled while it waited was found by the CPUs that it asked for.
TEST(WasThere, SuspendedIsWhatStoodStill) {
  EXPECT_FALSE(was_there(ended_job(), 12, 15, {JobState::kSuspended}));
  JobHistory job = ended_job();
  job.suspended = std::chrono::seconds(3);
  EXPECT_TRUE(was_there(job, 12, 15, {JobState::kSuspended}));
  EXPECT_FALSE(was_there(job, 21, 30, {JobState::kSuspended}));
  EXPECT_FALSE(was_there(job, 0, 9, {JobState::kSuspended}));
}

TEST(Filter, StepsOfTheTime) {
  QueryHistoryRequest request;
  request.from = at(5);
  request.until = at(8);
  const auto filter = Filter::make(std::move(request));
  ASSERT_TRUE(filter);
  const auto in_time = [&](int64_t start, Time end) {
    StepHistory step;
    step.start = at(start);
    step.end = end;
    return filter->in_time(step);
  };
  EXPECT_TRUE(in_time(0, at(5)));
  EXPECT_FALSE(in_time(0, at(4)));
  EXPECT_TRUE(in_time(0, kNoTime));
  EXPECT_TRUE(in_time(8, at(20)));
  EXPECT_FALSE(in_time(9, kNoTime));
}

TEST(Filter, WhatNeverRanHadNoCpus) {
  QueryHistoryRequest request;
  request.cpus = {1, 64};
  JobHistory waits = ended_job();
  waits.start = kNoTime;
  waits.cpus = 0;
  waits.requested_cpus = 8;
  EXPECT_FALSE(Filter::make(request)->matches(waits));
}

TEST(Filter, NodesSizesAndLists) {
  const auto matches = [](auto change) {
    QueryHistoryRequest request;
    change(request);
    const auto filter = Filter::make(request);
    return filter && filter->matches(ended_job());
  };
  EXPECT_TRUE(matches([](auto& r) { r.nodes = "n2,n9"; }));
  EXPECT_FALSE(matches([](auto& r) { r.nodes = "n3"; }));
  EXPECT_TRUE(matches([](auto& r) { r.node_count = {1, 2}; }));
  EXPECT_FALSE(matches([](auto& r) { r.node_count = {3, 9}; }));
  // CPUs that it had, not those that it asked for
  EXPECT_TRUE(matches([](auto& r) { r.cpus = {8, 8}; }));
  EXPECT_FALSE(matches([](auto& r) { r.cpus = {16, 16}; }));
  EXPECT_TRUE(matches([](auto& r) { r.partitions = {"other", "DEBUG"}; }));
  EXPECT_FALSE(matches([](auto& r) { r.accounts = {"physics"}; }));
  EXPECT_FALSE(Filter::make({.nodes = "n[1-"}).has_value());
}

}  // namespace
}  // namespace sluice::history
