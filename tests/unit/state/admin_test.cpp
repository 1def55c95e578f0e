// Reboots, mails before the time limit, triggers, crontabs.
#include <algorithm>

#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class AdminTest : public CoreTest {
 protected:
  AdminTest() {
    configure([](ClusterConfig& config) {
      config.reboot_program = "/sbin/reboot";
      config.resume_timeout = std::chrono::seconds(60);
      config.scron_parameters = {"enable"};
    });
  }
  void pass(Duration time) {
    now_ += time;
    run(Tick{});
  }
  Result<Reply> reboot(const std::string& nodes, bool asap = false,
                       AfterReboot after = AfterReboot::kAsBefore) {
    return run(RebootNodes{kRoot, {nodes, asap, after, {}}});
  }
  void boot(const std::string& name, const std::string& boot_id, Time boot_time = kNoTime) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = boot_id;
    command.node.hardware.boot_time = boot_time;
    ASSERT_TRUE(run(command));
  }
  const Node& node(const std::string& name) { return *find_node(state_, name); }
  Result<Reply> set_trigger(TriggerEvents events, JobId job = kNoJob, int64_t offset = 0,
                            bool permanent = false) {
    Trigger trigger;
    trigger.events = events;
    trigger.job = job;
    trigger.resource = job == kNoJob ? TriggerResource::kNode : TriggerResource::kJob;
    trigger.offset_seconds = offset;
    trigger.permanent = permanent;
    trigger.program = "/bin/true";
    return run(SetTrigger{kRoot, trigger});
  }
};

// The bug: an agent once started with -b told of the true boot at its next start, and lost its
// jobs.
TEST_F(AdminTest, AnEarlierBootIsNoReboot) {
  boot("n1", "told by -b", now_);
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  boot("n1", "true", now_ - std::chrono::minutes(60));
  EXPECT_EQ(node("n1").reason, "");
  boot("n1", "next", now_ + std::chrono::minutes(1));
  EXPECT_EQ(node("n1").reason, "Node unexpectedly rebooted");
}

TEST_F(AdminTest, IdleNodeIsRebootedAtOnce) {
  ASSERT_TRUE(reboot("n1", false, AfterReboot::kDown));
  ASSERT_EQ(effects<RebootNow>().size(), 1U);
  EXPECT_TRUE(effects<RebootNow>()[0].nodes.test(node("n1").id));
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").reason, "reboot requested : reboot issued");
  boot("n1", "boot");  // the agent alone was started again
  EXPECT_NE(node("n1").flags & kNodeRebootIssued, 0U);
  boot("n1", "another");
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").reason, "reboot requested : reboot issued : reboot complete");
}

TEST_F(AdminTest, BusyNodeWaitsAndAsapDrainsIt) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(reboot("n1", true));
  EXPECT_TRUE(effects<RebootNow>().empty());
  EXPECT_FALSE(is_schedulable(node("n1")));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  pass(std::chrono::seconds(1));
  EXPECT_EQ(effects<RebootNow>().size(), 1U);
  boot("n1", "another");
  EXPECT_TRUE(is_schedulable(node("n1")));
  EXPECT_TRUE(node("n1").reason.empty());
}

TEST_F(AdminTest, ByForceABusyNodeIsRebootedAtOnce) {
  const JobId again = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.requeue = Toggle::kNo;
  const JobId once = submit(spec);
  ASSERT_TRUE(start_job(again, "n1"));
  ASSERT_TRUE(start_job(once, "n2"));
  ASSERT_TRUE(reboot("n2"));
  EXPECT_TRUE(effects<RebootNow>().empty());
  ASSERT_TRUE(run(RebootNodes{kRoot, {.nodes = "n[1-2]", .force = true}}));
  EXPECT_EQ(effects<RebootNow>().size(), 2U) << "also of the one that was to reboot later";
  EXPECT_NE(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_TRUE(node("n1").jobs.empty());
  EXPECT_EQ(job(again).state, JobState::kPending);
  EXPECT_EQ(job(again).restart_count, 1U);
  EXPECT_EQ(job(once).state, JobState::kNodeFail);
  boot("n1", "another");
  EXPECT_TRUE(is_schedulable(node("n1")));
}

TEST_F(AdminTest, RebootThatTakesTooLong) {
  ASSERT_TRUE(reboot("n1"));
  pass(std::chrono::seconds(59));
  EXPECT_NE(node("n1").flags & kNodeRebootIssued, 0U);
  pass(std::chrono::seconds(1));
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_EQ(node("n1").reason, "reboot timed out");
}

// The bug: it was left out without a word.
TEST_F(AdminTest, RebootOfNodesIsForAdministrators) {
  JobSpec spec = batch_spec();
  spec.reboot = true;
  const auto refused = run(SubmitJob{kAnn, spec, {"users"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(refused.error().text, "rebooting of nodes is only allowed for admins");
  EXPECT_EQ(error_of(RebootNodes{kAnn, {"n1", false, AfterReboot::kAsBefore, {}}}),
            ErrorCode::kAccessDenied);
}

// The bug: a RebootProgram that failed was known to the node's log alone until ResumeTimeout.
TEST_F(AdminTest, RebootProgramThatFails) {
  JobSpec spec = batch_spec();
  spec.reboot = true;
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n2"));
  ASSERT_TRUE(reboot("n1"));
  const auto tells = [&](const std::string& name, Time order, int status) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = "boot";
    command.node.reboot_failed = order;
    command.node.reboot_status = status;
    ASSERT_TRUE(run(command));
  };
  const Time issued = node("n1").reboot_issued;
  tells("n1", issued - std::chrono::seconds(1), 1 << 8);
  EXPECT_NE(node("n1").flags & kNodeRebootIssued, 0U) << "that was another order";
  tells("n1", issued, 1 << 8);
  EXPECT_EQ(node("n1").flags & kNodeRebootIssued, 0U);
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").reason, "RebootProgram ended with exit status 1");
  tells("n2", node("n2").reboot_issued, -1);
  EXPECT_EQ(node("n2").reason, "RebootProgram could not be started");
  EXPECT_EQ(job(id).state, JobState::kPending) << "it is queued again";
  ASSERT_TRUE(run(node_update("n1", "RESUME")));
  tells("n1", issued, 1 << 8);
  EXPECT_TRUE(is_schedulable(node("n1"))) << "which is told again, and known";
}

TEST_F(AdminTest, JobWaitsForTheRebootOfItsNodes) {
  JobSpec spec = batch_spec();
  spec.reboot = spec.wait_all_nodes = true;
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n[1-2]", 8));
  EXPECT_EQ(effects<RebootNow>().size(), 2U);
  EXPECT_TRUE(effects<LaunchStep>().empty());
  EXPECT_NE(job(id).flags & kJobConfiguring, 0U);
  boot("n1", "another");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  boot("n2", "another");
  EXPECT_EQ(effects<LaunchStep>().size(), 1U);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0U);
}

// Without --wait-all-nodes.
TEST_F(AdminTest, ScriptBeginsWhenItsOwnNodeHasBooted) {
  JobSpec spec = batch_spec();
  spec.reboot = true;
  spec.constraint = spec.batch_features = "fast";
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n[1-3]", 8));
  boot("n2", "another");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  boot("n1", "another");
  ASSERT_EQ(effects<LaunchStep>().size(), 1U);
  EXPECT_EQ(effects<LaunchStep>()[0].key.id.step, kBatchStep);
  EXPECT_NE(job(id).flags & kJobConfiguring, 0U);
  StepSpec step;
  step.num_tasks = 1;
  EXPECT_EQ(error_of(CreateStep{kRoot, id, step}), ErrorCode::kStepsBusy) << "a node still boots";
  boot("n3", "another");
  EXPECT_EQ(job(id).flags & kJobConfiguring, 0U);
  EXPECT_TRUE(run(CreateStep{kRoot, id, step}));
}

// Each of the nodes that were given up in one frame had it run.
TEST_F(AdminTest, ControllersPrologBeginsOnceWhenTheLastNodesAreGivenUp) {
  configure([](ClusterConfig& config) { config.prolog_slurmctld = {"/prolog"}; });
  JobSpec spec = batch_spec();
  spec.reboot = true;
  spec.kill_on_node_fail = false;
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n[1-3]", 8));
  EXPECT_TRUE(effects<RunControllerProlog>().empty());
  boot("n1", "another");
  EXPECT_TRUE(effects<RunControllerProlog>().empty()) << "others still boot";
  names_.clear();
  pass(std::chrono::seconds(60));
  EXPECT_EQ(std::ranges::count(names_, std::string("JobPrepared")), 2);
  EXPECT_EQ(effects<RunControllerProlog>().size(), 1U);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  ASSERT_TRUE(run(PrologDone{id, 0, {}, 0}));
  EXPECT_TRUE(effects<RunControllerProlog>().empty());
  EXPECT_EQ(effects<LaunchStep>().size(), 1U);
}

// The end of the reboot made it available again.
TEST_F(AdminTest, NodeThatIsSetDownWhileItReboots) {
  ASSERT_TRUE(reboot("n1", false, AfterReboot::kResume));
  UpdateNode command{kRoot, {}};
  command.update.nodes = "n1";
  command.update.state = "DOWN";
  command.update.reason = "smoke";
  ASSERT_TRUE(run(command));
  boot("n1", "another");
  EXPECT_EQ(node("n1").base, NodeBaseState::kDown);
  EXPECT_EQ(node("n1").reason, "smoke");
  command.update.state = "RESUME";
  command.update.reason = {};
  ASSERT_TRUE(run(command));
  EXPECT_TRUE(is_schedulable(node("n1")));
  EXPECT_TRUE(node("n1").reason.empty());
}

// With a prolog at allocation, that one comes first on all nodes.
TEST_F(AdminTest, ScriptWaitsForPrologsOfNodesThatBoot) {
  configure([](ClusterConfig& config) {
    config.prolog = {"/prolog"};
    config.prolog_flags = {"Alloc"};
  });
  JobSpec spec = batch_spec();
  spec.reboot = true;
  const JobId id = submit(spec, kRoot);
  ASSERT_TRUE(start_job(id, "n[1-2]", 8));
  boot("n1", "another");
  EXPECT_TRUE(effects<LaunchStep>().empty());
  boot("n2", "another");
  EXPECT_EQ(effects<LaunchProlog>().size(), 1U);
}

TEST_F(AdminTest, MailsBeforeTheTimeLimit) {
  JobSpec spec = batch_spec();
  spec.time_limit = 100;
  spec.mail_type = "TIME_LIMIT_50,TIME_LIMIT_90";
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  pass(std::chrono::minutes(49));
  EXPECT_TRUE(effects<SendMail>().empty());
  pass(std::chrono::minutes(1));
  ASSERT_EQ(effects<SendMail>().size(), 1U);
  EXPECT_EQ(effects<SendMail>()[0].kind, MailKind::kTimeLimit50);
  pass(std::chrono::minutes(31));
  EXPECT_TRUE(effects<SendMail>().empty()) << "80 was not asked for, and 50 is said once";
  pass(std::chrono::minutes(10));
  ASSERT_EQ(effects<SendMail>().size(), 1U);
  EXPECT_EQ(effects<SendMail>()[0].kind, MailKind::kTimeLimit90);
}

TEST_F(AdminTest, TriggersFireOnceUnlessPermanent) {
  ASSERT_TRUE(set_trigger(kTriggerDown));
  ASSERT_TRUE(set_trigger(kTriggerDown, kNoJob, 10, true));
  EXPECT_EQ(error_of(SetTrigger{kAnn, {}}), ErrorCode::kAccessDenied);
  for (const char* name : {"n1", "n3"}) { ASSERT_TRUE(run(node_update(name, "DOWN", "test"))); }
  pass(std::chrono::seconds(1));
  ASSERT_EQ(effects<RunTrigger>().size(), 1U);
  EXPECT_EQ(effects<RunTrigger>()[0].resource, "n[1,3]");
  EXPECT_EQ(state_.triggers->size(), 1U);
  pass(std::chrono::seconds(9));
  EXPECT_EQ(effects<RunTrigger>().size(), 1U);
  pass(std::chrono::seconds(9));
  EXPECT_TRUE(effects<RunTrigger>().empty());
  EXPECT_EQ(state_.triggers->size(), 1U);
  EXPECT_EQ(error_of(ClearTriggers{kRoot, {77, {}, {}}}), ErrorCode::kNotFound);
  EXPECT_TRUE(run(ClearTriggers{kRoot, {{}, {}, 0}}));
  EXPECT_TRUE(state_.triggers->empty());
}

// The bug: allow_user_triggers was accepted, and nothing came of it.
TEST_F(AdminTest, TriggersOfTheAccountingDaemon) {
  ASSERT_TRUE(set_trigger(kTriggerDbdFailure));
  ASSERT_TRUE(set_trigger(kTriggerDbdResumed | kTriggerDatabaseResumed));
  ASSERT_TRUE(run(AccountingNoticed{kTriggerDbdFailure}));
  ASSERT_TRUE(run(Tick{}));
  ASSERT_EQ(effects<RunTrigger>().size(), 1U);
  EXPECT_EQ(effects<RunTrigger>()[0].resource, "primary_slurmdbd_failure");
  ASSERT_TRUE(run(AccountingNoticed{kTriggerDbdFailure}));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(effects<RunTrigger>().empty());
  ASSERT_TRUE(run(AccountingNoticed{kTriggerDatabaseResumed}));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(effects<RunTrigger>().size(), 1U);
}

TEST_F(AdminTest, UsersSetTriggersWhereTheyMay) {
  Trigger trigger;
  trigger.events = kTriggerDown;
  trigger.resource = TriggerResource::kNode;
  trigger.program = "/bin/true";
  EXPECT_EQ(error_of(SetTrigger{kAnn, trigger}), ErrorCode::kAccessDenied);
  configure([](ClusterConfig& config) { config.slurmctld_parameters = {"allow_user_triggers"}; });
  ASSERT_EQ(error_of(SetTrigger{kAnn, trigger}), ErrorCode::kOk);
  EXPECT_EQ(state_.triggers->back().uid, kAnn.uid);
  EXPECT_EQ(error_of(ClearTriggers{kBob, {{}, {}, kAnn.uid}}), ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(ClearTriggers{kAnn, {{}, {}, kAnn.uid}}), ErrorCode::kOk);
  configure([](ClusterConfig& config) { config.slurm_user_id = 64030; });
  EXPECT_EQ(error_of(SetTrigger{kAnn, trigger}), ErrorCode::kAccessDenied)
      << "SlurmUser cannot run it as Ann";
}

TEST_F(AdminTest, AUserHasSoManyTriggersAndNoMore) {
  configure([](ClusterConfig& config) { config.slurmctld_parameters = {"allow_user_triggers"}; });
  Trigger trigger;
  trigger.events = kTriggerDown;
  trigger.resource = TriggerResource::kNode;
  const auto set = [&](Identity who, int number) {
    trigger.program = "/bin/true " + std::to_string(number);
    return run(SetTrigger{who, trigger});
  };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(set(kAnn, i));
  const auto refused = set(kAnn, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "A user may have at most 100 triggers");
  EXPECT_EQ(state_.triggers->size(), 100U);
  EXPECT_TRUE(set(kBob, 100));
  for (int i = 0; i <= 100; ++i) ASSERT_TRUE(set(kRoot, i)) << "an administrator may have more";
  EXPECT_TRUE(run(ClearTriggers{kAnn, {state_.triggers->front().id, {}, {}}}));
  EXPECT_TRUE(set(kAnn, 100));
}

TEST_F(AdminTest, TriggersOfAJob) {
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(set_trigger(kTriggerTime, id, -60));
  ASSERT_TRUE(set_trigger(kTriggerFini, id, 5));
  pass(std::chrono::minutes(9));
  ASSERT_EQ(effects<RunTrigger>().size(), 1U);
  EXPECT_EQ(effects<RunTrigger>()[0].resource, std::to_string(id));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  pass(std::chrono::seconds(4));
  EXPECT_TRUE(effects<RunTrigger>().empty());
  pass(std::chrono::seconds(1));
  EXPECT_EQ(effects<RunTrigger>().size(), 1U);
}

// The bug: a job that ended before its limit was near had its trigger wait for nothing.
TEST_F(AdminTest, ATriggerOfTheLimitRunsAtTheEndAtTheLatest) {
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  for (const int32_t offset : {-30, 0, 5}) {
    const JobId id = submit(spec);
    ASSERT_TRUE(start_job(id, "n1"));
    ASSERT_TRUE(set_trigger(kTriggerTime, id, offset));
    pass(std::chrono::minutes(1));
    EXPECT_TRUE(effects<RunTrigger>().empty());
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
    pass(std::chrono::seconds(std::max(offset, 1)));
    ASSERT_EQ(effects<RunTrigger>().size(), 1U) << offset;
    EXPECT_EQ(effects<RunTrigger>()[0].resource, std::to_string(id));
    EXPECT_TRUE(state_.triggers->empty());
  }
}

TEST_F(AdminTest, TriggersGoWithTheRecordOfTheirJob) {
  configure([](ClusterConfig& config) { config.min_job_age = std::chrono::seconds(60); });
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(set_trigger(kTriggerDown, id));
  ASSERT_TRUE(set_trigger(kTriggerFini, id, 120));
  ASSERT_TRUE(set_trigger(kTriggerFini, id, 0, true));
  ASSERT_TRUE(set_trigger(kTriggerDown));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  pass(std::chrono::seconds(1));
  EXPECT_EQ(effects<RunTrigger>().size(), 1U);
  EXPECT_EQ(state_.triggers->size(), 4U) << "the record is there: the job may be queued again";
  pass(std::chrono::seconds(60));
  ASSERT_EQ(state_.jobs.find(id), nullptr);
  EXPECT_EQ(state_.triggers->size(), 2U)
      << "the node's, and the one that is still to tell of the end";
  pass(std::chrono::seconds(60));
  EXPECT_EQ(effects<RunTrigger>().size(), 1U);
  ASSERT_EQ(state_.triggers->size(), 1U);
  EXPECT_EQ(state_.triggers->front().resource, TriggerResource::kNode);
}

TEST_F(AdminTest, TriggersSurviveACheckpoint) {
  ASSERT_TRUE(set_trigger(kTriggerDown));
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  state_ = from_image(*image);
  ASSERT_EQ(state_.triggers->size(), 1U);
  EXPECT_EQ(state_.next_trigger_id, 2U);
}

// The bug: the options of a cancelled line became those of the next one.
TEST_F(AdminTest, ACancelledLineKeepsItsOptions) {
  JobSpec spec = batch_spec();
  spec.uid = kAnn.uid;
  spec.cron = "0 1 * * *";
  spec.cron_line = 7;
  const std::string before = "#SCRON -n1\n0 0 * * * other\n# why\n#SCRON -t 5\nA=b\n #SCRON -J x\n";
  const auto reply = run(
      ReplaceCrontab{kAnn, before + "0 1 * * * echo\n#SCRON -t 9\n0 3 * * * plain\n", {spec}, {}});
  ASSERT_TRUE(reply);
  const std::string id = std::to_string(std::get<CrontabReply>(*reply).jobs.at(0));
  ASSERT_TRUE(run(SignalJob{
      .who = kAnn, .target = id, .flags = protocol::kSignalCancel | protocol::kSignalCron}));
  EXPECT_EQ(
      state_.crontabs->at(kAnn.uid).text,
      "#SCRON -n1\n0 0 * * * other\n# why\n#DISABLED: #SCRON -t 5\nA=b\n#DISABLED:  #SCRON -J x\n"
      "#DISABLED: 0 1 * * * echo\n#SCRON -t 9\n0 3 * * * plain\n");
}

TEST_F(AdminTest, CronJobsWaitForTheirNextTime) {
  JobSpec spec = batch_spec();
  spec.uid = kAnn.uid;
  spec.cron = "0 * * * *";
  spec.cron_line = 1;
  const auto reply = run(ReplaceCrontab{kAnn, "0 * * * * true\n", {spec}, {}});
  ASSERT_TRUE(reply);
  const JobId id = std::get<CrontabReply>(*reply).jobs.at(0);
  const Time first = job(id).eligible;
  EXPECT_GT(first, now_);
  EXPECT_FALSE(start_job(id, "n1"));
  now_ = first;
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(job(id).eligible, first + std::chrono::hours(1));
  // the crontab goes while the job runs: then it is not queued again
  now_ = job(id).eligible;
  ASSERT_TRUE(start_job(id, "n1"));
  ASSERT_TRUE(run(ReplaceCrontab{kAnn, "", {}, {}}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  EXPECT_EQ(job(id).state, JobState::kCompleted);
  EXPECT_TRUE(state_.crontabs->empty());
}

}  // namespace
}  // namespace sluice::state
