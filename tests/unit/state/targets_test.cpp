// Verbs that are meant for tasks of an array: who may not change them gives them no records, and
// scontrol top puts them in order.
#include <gtest/gtest.h>

#include "common/names/errors.hpp"
#include "common/model/job_update.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class TargetsTest : public CoreTest {
 protected:
  JobId submit_array(const std::string& tasks) {
    JobSpec spec = batch_spec();
    spec.array = tasks;
    return submit(std::move(spec));
  }
  static std::vector<std::string> errors_of(const Result<Reply>& reply) {
    return reply ? std::get<protocol::CountReply>(*reply).errors
                 : std::vector<std::string>{reply.error().text};
  }
};

// The bug: the tasks got records, and ids, before anybody asked whose array it is.
TEST_F(TargetsTest, AStrangerSplitsNobodysArray) {
  const JobId array = submit_array("0-9");
  const std::string id = std::to_string(array), tasks = id + "_[2-4,7]";
  const JobId next = state_.next_job_id;
  JobUpdate update;
  update.comment = "mine";
  const std::vector<Command> commands{ChangeJob{kBob, tasks, protocol::JobAction::kHold},
                                      ChangeJob{kBob, tasks, protocol::JobAction::kRelease},
                                      ChangeJob{kBob, tasks, protocol::JobAction::kRequeue},
                                      ChangeJob{kBob, tasks, protocol::JobAction::kSuspend},
                                      UpdateJob{kBob, tasks, update},
                                      TopJob{kBob, tasks, {{array, 5}}}};
  for (const Command& command : commands) {
    names_.clear();
    const auto reply = run(command);
    EXPECT_EQ(
        errors_of(reply),
        std::vector<std::string>{id + "_2-4,7: " + error_text(Error{ErrorCode::kAccessDenied, {}})})
        << command.index();
    EXPECT_TRUE(names_.empty()) << command.index();
    EXPECT_EQ(state_.next_job_id, next);
    EXPECT_EQ(state_.jobs.size(), 1U);
  }
  EXPECT_EQ(error_of(ChangeJob{kBob, id + "_3", protocol::JobAction::kHold}),
            ErrorCode::kAccessDenied);
  ASSERT_TRUE(run(ChangeJob{kAnn, id + "_[2-3]", protocol::JobAction::kHold}));
  EXPECT_EQ(state_.jobs.size(), 3U);
  const auto mixed = run(ChangeJob{kBob, id + "_[2-5]", protocol::JobAction::kRelease});
  EXPECT_EQ(errors_of(mixed), std::vector<std::string>{
                                  id + "_2-5: " + error_text(Error{ErrorCode::kAccessDenied, {}})});
  EXPECT_EQ(state_.jobs.size(), 3U);
}

// What is meant for all tasks that wait makes no record of each.
TEST_F(TargetsTest, AllThatWaitStayOneRecord) {
  const JobId array = submit_array("0-9");
  const std::string id = std::to_string(array);
  ASSERT_TRUE(run(ChangeJob{kAnn, id + "_[0-9]", protocol::JobAction::kHold}));
  EXPECT_EQ(state_.jobs.size(), 1U);
  EXPECT_EQ(job(array).hold, HoldKind::kUser);
}

TEST_F(TargetsTest, WhatIsRefusedToTheOwnerGivesNoRecordsEither) {
  const JobId array = submit_array("0-9");
  const std::string tasks = std::to_string(array) + "_[2-4]";
  const JobId next = state_.next_job_id;
  const auto reply = run(ChangeJob{kAnn, tasks, protocol::JobAction::kRequeue});
  EXPECT_EQ(errors_of(reply),
            std::vector<std::string>{std::to_string(array) +
                                     "_2-4: " + error_text(Error{ErrorCode::kJobPending, {}})});
  EXPECT_EQ(state_.next_job_id, next);
  EXPECT_EQ(state_.jobs.size(), 1U);
}

// The bug: 40,000 tasks that get 16 KB of text each took half a minute before they were refused.
TEST_F(TargetsTest, OneCommandDoesNotChangeTooMuch) {
  configure([](ClusterConfig& config) {
    config.max_array_size = 100'001;
    config.max_job_count = 200'000;
  });
  const std::string id = std::to_string(submit_array("0-79999"));
  const JobId next = state_.next_job_id;
  JobUpdate update;
  update.comment = "c";
  const std::vector<std::string> too_much{"this changes too much at once: name fewer"};
  EXPECT_EQ(errors_of(run(UpdateJob{kAnn, id + "_[0-79999:2]", update})), too_much);
  EXPECT_EQ(errors_of(run(ChangeJob{kAnn, id + "_[0-79998]", protocol::JobAction::kHold})),
            too_much);
  update.comment = std::string(16'000, 'c');
  EXPECT_EQ(errors_of(run(UpdateJob{kAnn, id + "_[0-9999:2]", update})), too_much);
  EXPECT_EQ(state_.next_job_id, next) << "nothing of it is done";
  EXPECT_TRUE(run(UpdateJob{kAnn, id + "_[0-9]", update}));
  EXPECT_TRUE(run(UpdateJob{kAnn, id, JobUpdate{.name = "all"}}));
  const std::string all_of_it = id + "_[0-99999]";
  EXPECT_TRUE(run(ChangeJob{kAnn, all_of_it, protocol::JobAction::kHold})) << "one record has them";
}

TEST_F(TargetsTest, TasksGoToTheTopInTheirOrder) {
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"enable_user_top"}; });
  const JobId first = submit(batch_spec()), array = submit_array("0-3"),
              last = submit(batch_spec());
  const JobId of_bob = submit(batch_spec(), kBob);
  const TopJob top{
      kAnn, std::to_string(array) + "_[1-2]", {{first, 90}, {array, 50}, {last, 10}, {of_bob, 70}}};
  ASSERT_EQ(error_of(top), ErrorCode::kOk);
  const JobId one = find_array_task(state_, array, 1)->id,
              two = find_array_task(state_, array, 2)->id;
  // what the scheduler made of them with the nice values before: 90, 50, 50, 50 and 10 go round; an
  // older one goes behind a younger one of the same priority by one less
  const auto now_at = [&](JobId id, int32_t before) { return before - job(id).spec->nice; };
  EXPECT_EQ(now_at(one, 50), 90);
  EXPECT_EQ(now_at(two, 50), 50);
  EXPECT_EQ(now_at(first, 90), 49);
  EXPECT_EQ(now_at(array, 50), 49);
  EXPECT_EQ(now_at(last, 10), 10);
  EXPECT_EQ(job(of_bob).spec->nice, 0);
}

}  // namespace
}  // namespace sluice::state
