// What only a job's own user may do, and what a user may no longer use after it was taken from him.
#include "common/model/job_update.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class OwnerRights : public AccountingTest {
 protected:
  ErrorCode update(JobId id, const JobUpdate& what, Identity who = kAnn) {
    return error_of(UpdateJob{who, std::to_string(id), what});
  }
  ErrorCode step_by(Identity who, JobId id) {
    StepSpec spec;
    spec.num_tasks = 1;
    return error_of(CreateStep{who, id, spec});
  }
};

TEST_F(OwnerRights, ACoordinatorAndAnOperatorStartNoStepsAsAnotherUser) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1", 2));
  EXPECT_EQ(step_by(kBob, id), ErrorCode::kAccessDenied) << "he coordinates physics";
  site_.users[1].admin_level = AdminLevel::kAdministrator;
  follow();
  EXPECT_EQ(step_by(kBob, id), ErrorCode::kAccessDenied);
  EXPECT_EQ(step_by(kAnn, id), ErrorCode::kOk);
  EXPECT_EQ(step_by(kRoot, id), ErrorCode::kStepsBusy) << "he may, and the first one has all";
}

TEST_F(OwnerRights, WhereAJobRunsAndWhatItReadsAndWritesIsItsUsers) {
  const JobId id = submit(batch_spec());
  site_.users[1].admin_level = AdminLevel::kOperator;
  follow();
  for (const auto field :
       {&JobUpdate::work_dir, &JobUpdate::std_in, &JobUpdate::std_out, &JobUpdate::std_err}) {
    JobUpdate u;
    u.*field = "/tmp/of-bob";
    EXPECT_EQ(update(id, u, kBob), ErrorCode::kAccessDenied);
    EXPECT_EQ(update(id, u, kAnn), ErrorCode::kOk);
  }
  JobUpdate comment;
  comment.comment = "longer than needed";
  EXPECT_EQ(update(id, comment, kBob), ErrorCode::kOk);
}

// The bug: with %x in its path a job wrote where a coordinator or an operator named it to, and then
// what he told it, with lines of its own.
TEST_F(OwnerRights, OthersNeitherRenameAJobNorWriteLinesIntoItsFiles) {
  const JobId id = submit(batch_spec());
  JobUpdate u;
  u.name = "../../bob/t";
  EXPECT_EQ(update(id, u, kBob), ErrorCode::kAccessDenied) << "he coordinates physics";
  site_.users[1].admin_level = AdminLevel::kOperator;
  follow();
  EXPECT_EQ(update(id, u, kBob), ErrorCode::kAccessDenied);
  u.name = job(id).spec->name.str();
  EXPECT_EQ(update(id, u, kBob), ErrorCode::kOk) << "it keeps its name";
  u.name = "renamed";
  EXPECT_EQ(update(id, u, kAnn), ErrorCode::kOk);
  ASSERT_TRUE(start_job(id, "n1", 2));
  const auto told = [&](Identity who) {
    auto decision = decide(state_, NotifyJob{who, std::to_string(id), "x\nssh-rsa y"}, now_);
    return decision ? std::get<JobSignaled>(decision->events.front()).message : "refused";
  };
  EXPECT_EQ(told(kBob), "x?ssh-rsa y");
  EXPECT_EQ(told(kAnn), "x\nssh-rsa y");
}

TEST_F(OwnerRights, ARunningJobTakesNoLicenses) {
  configure([](ClusterConfig& config) { config.licenses = "matlab:5"; });
  JobSpec spec = batch_spec();
  spec.licenses = "matlab:1";
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1", 2));
  JobUpdate more;
  more.licenses = "matlab:5";
  EXPECT_EQ(update(id, more), ErrorCode::kJobNotPending);
  EXPECT_EQ(update(id, more, kRoot), ErrorCode::kOk);
  JobUpdate none;
  none.licenses = "";
  EXPECT_EQ(update(id, none), ErrorCode::kOk);
}

TEST_F(OwnerRights, AQosThatWasTakenAwayStartsNothing) {
  JobSpec spec = batch_spec();
  spec.qos = "high";
  const JobId id = submit(spec);
  EXPECT_EQ(plan(id), "starts");
  association(kAnnPhysics).qos = {kNormal};
  follow();
  EXPECT_EQ(plan(id), "InvalidQOS");
  EXPECT_FALSE(start_job(id, "n1"));
  JobUpdate high;
  high.qos = "high";
  EXPECT_EQ(update(id, high), ErrorCode::kInvalidQos);
  EXPECT_EQ(update(id, high, kRoot), ErrorCode::kOk) << "an operator gives it";
  EXPECT_EQ(plan(id), "starts");
}

TEST_F(OwnerRights, AQosThatWantsAReservationKeepsIt) {
  qos(kHigh).flags = kQosRequiresReservation;
  follow();
  protocol::ReservationValues values;
  values.start = now_;
  values.duration = std::chrono::minutes(60);
  values.nodes = "n1";
  values.users = protocol::NameList{"ann"};
  ASSERT_TRUE(run(ChangeReservation{
      kRoot, {protocol::ReservationAction::kCreate, "course", values}, {{"ann", {kAnnUid}}}}));
  JobSpec spec = batch_spec();
  spec.qos = "high";
  spec.reservation = "course";
  const JobId id = submit(spec);
  JobUpdate none;
  none.reservation = "";
  EXPECT_EQ(update(id, none), ErrorCode::kInvalidQos);
  EXPECT_EQ(job(id).spec->reservation.view(), "course");
}

}  // namespace
}  // namespace sluice::state
