// What nodes tell a controller whose state was put back from a backup: job numbers and the key that
// they know.
#include "support/core_fixture.hpp"

#include "common/protocol/node_reports.hpp"
#include "ctld/state/core/invariants.hpp"

namespace sluice::state {
namespace {

class JobNumbers : public CoreTest {
 protected:
  RegisterNode registration(const std::string& name, protocol::JobNumber last = {}) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = "boot";
    command.node.last_job = last;
    return command;
  }
  // The id that the state did not know; kNoJob: it knew all.
  JobId strange(const RegisterNode& command) {
    const auto reply = run(command);
    EXPECT_TRUE(reply);
    return reply ? std::get<RegisteredReply>(*reply).strange_job : kNoJob;
  }
};

// The bug: of jobs that were over and acknowledged a node had no records, and their numbers were
// given again.
TEST_F(JobNumbers, GoOnBehindTheHighestThatANodeKnows) {
  const JobId first = submit(batch_spec());
  EXPECT_EQ(strange(registration("n1", {0, first})), kNoJob) << "a number that this state gave";
  EXPECT_EQ(strange(registration("n1", {0, 1500})), 1500U);
  EXPECT_EQ(submit(batch_spec()), 1501U);
  EXPECT_EQ(strange(registration("n2", {0, 1400})), kNoJob);
  EXPECT_EQ(submit(batch_spec()), 1502U);
}

TEST_F(JobNumbers, JobsThatWereNumberedTooEarlyAreHeldWithTheReason) {
  const JobId before = submit(batch_spec());
  now_ += std::chrono::seconds(60);
  ASSERT_TRUE(run(StartEpoch{"cluster", 2}));
  now_ += std::chrono::seconds(1);
  const JobId early = submit(batch_spec());
  EXPECT_EQ(strange(registration("n1", {0, 1500})), 1500U);
  EXPECT_EQ(job(early).hold, HoldKind::kUser);
  EXPECT_EQ(job(early).state_description, "JobId used before: n1 knows job 1500");
  EXPECT_EQ(job(before).hold, HoldKind::kNone) << "the state that was put back has it";
  EXPECT_FALSE(start_job(early, "n1"));
}

// Ids begin anew behind MaxJobId: what a node knows from before is no higher number.
TEST_F(JobNumbers, ARoundBeforeIsNoHigherNumber) {
  const JobId first = submit(batch_spec());
  configure([&](ClusterConfig& config) { config.max_job_id = first + 2; });
  submit(batch_spec());
  const JobId last = submit(batch_spec());
  EXPECT_EQ(last, first + 2);
  const protocol::JobNumber known{round_of_job(state_, last), last};
  EXPECT_EQ(strange(registration("n1", known)), kNoJob);
  EXPECT_EQ(state_.job_id_round, 1U);
  EXPECT_EQ(round_of_job(state_, last), 0U);
  // the same number, given a second time by a state that is newer than this one
  EXPECT_EQ(strange(registration("n1", {1, last})), last);
  EXPECT_EQ(state_.job_id_round, 2U);
}

TEST_F(JobNumbers, CanBeToldToGoOnFurther) {
  const JobId first = submit(batch_spec());
  StartEpoch start{"cluster", 2};
  start.first_job_id = first;
  EXPECT_EQ(error_of(start), ErrorCode::kInvalidJobId) << "it was given";
  start.first_job_id = state_.config->max_job_id + 1;
  EXPECT_EQ(error_of(start), ErrorCode::kInvalidJobId);
  start.first_job_id = 9000;
  ASSERT_TRUE(run(start));
  EXPECT_EQ(submit(batch_spec()), 9000U);
}

// The bug: another key than nodes knew was taken without a word, and ended what ran.
TEST_F(JobNumbers, AnotherKeyIsTakenOnPurposeOnly) {
  StartEpoch start{"cluster", 2};
  start.credential_key = "aa";
  ASSERT_TRUE(run(start)) << "none was known";
  RegisterNode node = registration("n1");
  node.node.credential_key = "aa";
  EXPECT_EQ(error_of(node), ErrorCode::kOk);
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));

  start.epoch = 3;
  start.credential_key = "bb";
  EXPECT_EQ(error_of(start), ErrorCode::kInvalidCredential);
  node.node.credential_key = "bb";  // a state that is older than the change of the key
  names_.clear();
  EXPECT_EQ(error_of(node), ErrorCode::kInvalidCredential);
  EXPECT_TRUE(names_.empty() && job(id).state == JobState::kRunning) << "before anything is ended";
  start.new_key = true;
  ASSERT_TRUE(run(start));
  EXPECT_TRUE(state_.credential_key_changed);
  node.node.credential_key = "aa";
  EXPECT_EQ(error_of(node), ErrorCode::kOk) << "it is told the new one";
  const ClusterState again = from_image(make_image(state_));
  EXPECT_EQ(differences(state_, again), std::vector<std::string>());
}

// The bug: with the key in place, as after an older backup was put back, it did nothing, and every
// node refused the controller.
TEST_F(JobNumbers, TheKeyThatIsThereIsTakenOverOnPurpose) {
  StartEpoch start{"cluster", 2};
  start.credential_key = "aa";
  ASSERT_TRUE(run(start));
  RegisterNode node = registration("n1");
  node.node.credential_key = "bb";
  EXPECT_EQ(error_of(node), ErrorCode::kInvalidCredential);
  start.epoch = 3;
  start.new_key = true;
  ASSERT_TRUE(run(start));
  EXPECT_TRUE(state_.credential_key_changed);
  EXPECT_EQ(error_of(node), ErrorCode::kOk);
}

// The bug: a job whose number a node knew already was held, and neither it nor the log said why.
TEST_F(JobNumbers, AJobThatANodeHadBeforeIsHeldWithTheReason) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(LaunchFailed{{{id, kBatchStep}, 0}, "n1", protocol::kUsedJobId, false}));
  JobsCleaned cleaned;
  cleaned.cleaned.push_back({.job = id, .restart = 0, .nodes = "n1"});
  ASSERT_TRUE(run(cleaned));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  EXPECT_EQ(job(id).state_description,
            "launch failed requeued held: a job of this id ran on the node before");
}

}  // namespace
}  // namespace sluice::state
