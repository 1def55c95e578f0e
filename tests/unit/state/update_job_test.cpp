// scontrol update of jobs: what a user may change of his own, and where a job may be moved.
#include <algorithm>
#include <csignal>

#include "unit/state/update_job_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::JobAction;
using std::chrono::minutes;

// The bugs: a least time was kept or refused, and the partition that a job runs in was refused.
TEST_F(UpdateJobTest, WhatSaysNothingOfARunningJob) {
  JobSpec spec = batch_spec();
  spec.time_limit = 10;
  spec.time_min = 2;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1"));
  for (const Minutes least : {0U, 5U, 99U}) {
    EXPECT_EQ(update(kAnn, id, [least](JobUpdate& u) { u.time_min = least; }), ErrorCode::kOk)
        << least;
  }
  EXPECT_EQ(job(id).spec->time_min, 2U);
  EXPECT_EQ(limit(kAnn, id, 1), ErrorCode::kInvalidTimeMin);
  configure([this](ClusterConfig& config) { add_partition(config, "other"); });
  EXPECT_EQ(move(kAnn, id, "debug"), ErrorCode::kOk);
  EXPECT_EQ(move(kAnn, id, "other"), ErrorCode::kJobNotPending);
  EXPECT_EQ(move(kAnn, id, "debug,other"), ErrorCode::kJobNotPending);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = 7; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->nice, 7);
}

TEST_F(UpdateJobTest, SiteFactorsAreTheAdministrators) {
  JobSpec spec = batch_spec();
  spec.site_factor = 1000;  // a request may have one
  const JobId id = submit(spec);
  EXPECT_EQ(job(id).spec->site_factor, 0);
  for (const int32_t factor : {5, 0, -5}) {
    EXPECT_EQ(update(kAnn, id, [factor](JobUpdate& u) { u.site_factor = factor; }),
              ErrorCode::kAccessDenied)
        << factor;
  }
  EXPECT_EQ(update(kRoot, id, [](JobUpdate& u) { u.site_factor = -5; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->site_factor, -5);
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(update(kRoot, id, [](JobUpdate& u) { u.site_factor = 8; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->site_factor, 8);
}

// As in a real Slurm 22.05: also while the job runs, for steps to come.
TEST_F(UpdateJobTest, FrequenciesOfGpus) {
  const JobId id = submit(batch_spec());
  const auto set = [&](const char* text) {
    return update(kAnn, id, [text](JobUpdate& u) { u.tres_freq = text; });
  };
  EXPECT_EQ(set("gpu:memory=low,high"), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->tres_freq, "gpu:memory=low,high");
  for (const char* text : {"high", "gpu", "gpu:", "gpu:foo", "gpu:Low"})
    EXPECT_EQ(set(text), ErrorCode::kInvalidTres) << text;
  EXPECT_EQ(job(id).spec->tres_freq, "gpu:memory=low,high");
  EXPECT_EQ(set(""), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->tres_freq, "");
  ASSERT_TRUE(start_job(id, "n1"));
  EXPECT_EQ(set("gpu:high"), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->tres_freq, "gpu:high");
}

TEST_F(UpdateJobTest, AWaitForSwitchesIsOfSwitches) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.wait_for_switch_seconds = 60; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->switches, "");
  EXPECT_EQ(
      update(kAnn, id, [](JobUpdate& u) { u.switches = "2", u.wait_for_switch_seconds = 60; }),
      ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->switches, "2@00:01:00");
}

TEST_F(UpdateJobTest, AUserRaisesNothingOfHisOwn) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = -1; }), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = 10; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = 0; }), ErrorCode::kOk)
      << "what he took himself, as in Slurm";
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.priority = 100; }), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.admin_comment = "x"; }),
            ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kRoot, id, [](JobUpdate& u) { u.nice = -5; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = -5; }), ErrorCode::kOk)
      << "it stays as it is";
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.nice = -3; }), ErrorCode::kAccessDenied);
}

// The bug: users had OverSubscribe= and Contiguous= by an update. Of a job that is held they are
// told so.
TEST_F(UpdateJobTest, WhatAnOperatorAloneSets) {
  const JobId id = submit(batch_spec());
  const auto shares = [](JobUpdate& u) { u.sharing = Sharing::kOversubscribe; };
  const auto in_a_row = [](JobUpdate& u) { u.contiguous = true; };
  const auto priority = [](JobUpdate& u) { u.priority = 77; };
  EXPECT_EQ(update(kAnn, id, shares), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kAnn, id, in_a_row), ErrorCode::kAccessDenied);
  EXPECT_EQ(update(kRoot, id, shares), ErrorCode::kOk);
  EXPECT_EQ(update(kRoot, id, in_a_row), ErrorCode::kOk);
  EXPECT_TRUE(job(id).spec->contiguous);
  EXPECT_EQ(update(kAnn, id, priority), ErrorCode::kAccessDenied) << "nobody knows what it has";
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kHold}));
  EXPECT_EQ(update(kAnn, id, priority), ErrorCode::kJobHeld);
}

TEST_F(UpdateJobTest, PartitionsAreOpenToSome) {
  configure([this](ClusterConfig& config) {
    add_partition(config, "staff").allow_groups = {"staff", "guests"};
    add_partition(config, "root").root_only = true;
    add_partition(config, "users").disable_root_jobs = true;
    add_partition(config, "login").alloc_nodes = {"login1"};
  });
  const auto submits = [&](Identity who, const char* partition, std::vector<std::string> groups,
                           const char* host = "") {
    JobSpec spec = batch_spec();
    spec.uid = who.uid;
    spec.partitions = partition;
    spec.submit_host = host;
    return error_of(SubmitJob{who, spec, std::move(groups), {}});
  };
  EXPECT_EQ(submits(kAnn, "staff", {"users"}), ErrorCode::kPartitionAccess);
  EXPECT_EQ(submits(kAnn, "staff", {"users", "guests"}), ErrorCode::kOk);
  EXPECT_EQ(submits(kRoot, "staff", {"root"}), ErrorCode::kOk);
  EXPECT_EQ(submits(kAnn, "root", {"users"}), ErrorCode::kAccessDenied);
  EXPECT_EQ(submits(kRoot, "root", {"root"}), ErrorCode::kOk);
  EXPECT_EQ(submits(kRoot, "users", {"root"}), ErrorCode::kAccessDenied);
  EXPECT_EQ(submits(kAnn, "users", {"users"}), ErrorCode::kOk);
  EXPECT_EQ(submits(kAnn, "login", {"users"}, "n1"), ErrorCode::kAccessDenied);
  EXPECT_EQ(submits(kAnn, "login", {"users"}, "login1"), ErrorCode::kOk);
  EXPECT_EQ(submits(kAnn, "staff,debug", {"users"}), ErrorCode::kOk) << "one of them will do";
  configure([](ClusterConfig& config) { config.disable_root_jobs = true; });
  EXPECT_EQ(submits(kRoot, "debug", {"root"}), ErrorCode::kAccessDenied);
}

// The bug: whoever ordered it, the job's user counted as one without groups.
TEST_F(UpdateJobTest, AJobMovesWhereItsUserMayGo) {
  configure([this](ClusterConfig& config) {
    add_partition(config, "staff").allow_groups = {"staff"};
    add_partition(config, "root").root_only = true;
    add_partition(config, "users").disable_root_jobs = true;
  });
  const JobId id = submit(batch_spec());
  EXPECT_EQ(move(kAnn, id, "staff"), ErrorCode::kPartitionAccess);
  EXPECT_EQ(move(kAnn, id, "root"), ErrorCode::kAccessDenied);
  EXPECT_EQ(move(kAnn, id, "staff", {"users", "staff"}), ErrorCode::kOk);
  EXPECT_EQ(job(id).partition, "staff");
  EXPECT_EQ(move(kRoot, id, "users"), ErrorCode::kOk) << "it is no job of root's";
  EXPECT_EQ(move(kRoot, id, "staff"), ErrorCode::kOk) << "an administrator takes it anywhere";
  EXPECT_EQ(move(kRoot, id, "root"), ErrorCode::kOk);
}

// The bugs: DisableRootJobs refused every change of every user's job; so did a partition that was
// closed meanwhile.
TEST_F(UpdateJobTest, AJobChangesWhereItWaits) {
  configure([this](ClusterConfig& config) {
    config.partitions[0].allow_groups = {"users"};
    add_partition(config, "other");
    config.disable_root_jobs = true;
  });
  const JobId id = submit(batch_spec());
  const auto more_cpus = [](JobUpdate& u) { u.cpus_per_task = 2; };
  EXPECT_EQ(update(kAnn, id, more_cpus), ErrorCode::kOk);
  configure([](ClusterConfig& config) {
    config.partitions[0].state = config.partitions[1].state = PartitionState::kDrain;
    config.partitions[0].allow_groups = {"staff"};
  });
  EXPECT_EQ(update(kAnn, id, more_cpus), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.cpus_per_task = 99; }),
            ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(move(kAnn, id, "other"), ErrorCode::kPartitionNotAvailable);
}

// The bug: they were held against the total alone, and then more were in use than there are.
TEST_F(UpdateJobTest, LicensesOfARunningJobAreThoseThatAreFree) {
  configure([](ClusterConfig& config) { config.licenses = "solver:5"; });
  const auto start = [this](const char* licenses) {
    JobSpec spec = batch_spec();
    spec.licenses = licenses;
    const JobId id = submit(spec);
    EXPECT_TRUE(start_job(id, "n1"));
    return id;
  };
  const JobId first = start("solver:2");
  const JobId second = start("solver:2");
  const auto ask = [&](JobId id, const char* licenses) {
    return update(kRoot, id, [licenses](JobUpdate& u) { u.licenses = licenses; });
  };
  EXPECT_EQ(ask(first, "solver:4"), ErrorCode::kInvalidLicense);
  EXPECT_EQ(ask(first, "solver:3"), ErrorCode::kOk);
  EXPECT_EQ(ask(second, "solver:3"), ErrorCode::kInvalidLicense);
  EXPECT_EQ(ask(second, ""), ErrorCode::kOk);
  EXPECT_EQ(ask(first, "solver:5"), ErrorCode::kOk);
  const JobId waiting = submit(batch_spec());
  EXPECT_EQ(ask(waiting, "solver:5"), ErrorCode::kOk) << "it waits for them";
}

// The bug: they were counted at submission only.
TEST_F(UpdateJobTest, LicensesOfTasksFollowTheirNumber) {
  configure([](ClusterConfig& config) { config.licenses = "solver:50,other:1"; });
  JobSpec spec = batch_spec();
  spec.num_tasks = 2;
  spec.tres_per_task = "license/solver=3";
  spec.licenses = "other:1,solver:6";
  const JobId id = submit(spec);
  const auto tasks = [&](uint32_t number) {
    return update(kAnn, id, [number](JobUpdate& u) { u.num_tasks = number; });
  };
  EXPECT_EQ(tasks(4), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->licenses, "other:1,solver:12");
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.tres_per_task = "license/solver=1"; }),
            ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->licenses, "other:1,solver:4");
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.tres_per_task = "license/solver=100"; }),
            ErrorCode::kInvalidLicense);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.licenses = "solver:2"; }), ErrorCode::kOk);
  EXPECT_EQ(tasks(2), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->licenses, "solver:2") << "what the user set instead stays";
}

// The bug: the 0 stayed the job's priority when the hold was gone, so that all others went before
// it.
TEST_F(UpdateJobTest, PriorityZeroIsAHoldAndNoPriority) {
  const JobId id = submit(batch_spec());
  ASSERT_EQ(update(kAnn, id, [](JobUpdate& u) { u.priority = 0; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).hold, HoldKind::kUser);
  ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), protocol::JobAction::kRelease}));
  EXPECT_EQ(job(id).spec->priority, UINT32_MAX);
  JobSpec spec = batch_spec();
  spec.priority = 0;
  const JobId held = submit(spec);
  EXPECT_EQ(job(held).hold, HoldKind::kUser);
  EXPECT_EQ(job(held).spec->priority, UINT32_MAX);
}

// The bug: the reason of the dependency before stayed, and a hold lost it.
TEST_F(UpdateJobTest, TheReasonFollowsTheDependency) {
  const JobId failed = submit(batch_spec()), runs = submit(batch_spec());
  ASSERT_TRUE(start_job(failed, "n1"));
  ASSERT_TRUE(start_job(runs, "n2"));
  ASSERT_TRUE(end_step(failed, kBatchStep, "n1", 1 << 8, true));
  const std::string never = "afterok:" + std::to_string(failed),
                    later = "afterok:" + std::to_string(runs);
  const JobId id = submit(batch_spec());
  const auto depend = [&](const std::string& on) {
    EXPECT_EQ(update(kAnn, id, [&](JobUpdate& u) { u.dependency = on; }), ErrorCode::kOk);
    EXPECT_TRUE(run(Tick{}));
    return job(id).reason;
  };
  EXPECT_EQ(depend(never), JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(depend(later), JobReason::kDependency);
  EXPECT_EQ(depend(never), JobReason::kDependencyNeverSatisfied);
  for (const protocol::JobAction action :
       {protocol::JobAction::kUserHold, protocol::JobAction::kRelease}) {
    ASSERT_TRUE(run(ChangeJob{kAnn, std::to_string(id), action}));
    ASSERT_TRUE(run(Tick{}));
  }
  EXPECT_EQ(job(id).reason, JobReason::kDependencyNeverSatisfied);
  names_.clear();
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(names_.empty()) << "what is told already is not told again";
}

// The bug: it showed Dependency until its begin time, and no time from which it is eligible.
TEST_F(UpdateJobTest, AJobThatLosesItsDependencyWaitsForItsBeginTime) {
  const JobId other = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.begin = now_ + minutes(60);
  const JobId id = submit(spec);
  const auto depend = [&](const std::string& on) {
    EXPECT_EQ(update(kAnn, id, [&](JobUpdate& u) { u.dependency = on; }), ErrorCode::kOk);
    EXPECT_TRUE(run(Tick{}));
  };
  depend("afterany:" + std::to_string(other));
  EXPECT_EQ(job(id).reason, JobReason::kDependency);
  EXPECT_EQ(job(id).eligible, kNoTime);
  depend("");
  EXPECT_EQ(job(id).reason, JobReason::kNone);
  EXPECT_EQ(job(id).eligible, spec.begin);
}

// The bug: each time that one of the other jobs was over, too.
TEST_F(UpdateJobTest, OneMailTellsOfADependencyThatIsNeverSatisfied) {
  const JobId failed = submit(batch_spec()), other = submit(batch_spec());
  JobSpec spec = batch_spec();
  spec.mail_type = "INVALID_DEPEND";
  spec.dependency = "afterany:" + std::to_string(other) + ",afterok:" + std::to_string(failed);
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(failed, "n1"));
  ASSERT_TRUE(end_step(failed, kBatchStep, "n1", 1 << 8, true));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(job(id).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(effects<SendMail>().size(), 1U);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(other), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(run(Tick{}));
  EXPECT_TRUE(effects<SendMail>().empty());
  EXPECT_EQ(job(id).reason, JobReason::kDependencyNeverSatisfied);
  EXPECT_EQ(job(id).dependency, "afterany:" + std::to_string(other) +
                                    "(unfulfilled),afterok:" + std::to_string(failed) + "(failed)");
}

// The bug: with few numbers left, two tasks got the same one.
TEST_F(UpdateJobTest, TasksThatThereAreNoNumbersFor) {
  configure([](ClusterConfig& config) {
    config.first_job_id = 1;
    config.max_job_id = 4;
  });
  JobSpec spec = batch_spec();
  spec.array = "0-9";
  const JobId array = submit(spec);
  EXPECT_EQ(
      error_of(ChangeJob{kAnn, std::to_string(array) + "_[0-5]", protocol::JobAction::kUserHold}),
      ErrorCode::kTooManyJobs);
  EXPECT_EQ(
      error_of(ChangeJob{kAnn, std::to_string(array) + "_[0-2]", protocol::JobAction::kUserHold}),
      ErrorCode::kOk);
}

// The bug: a queue of jobs with texts of some MB each was more than the controller's memory.
TEST_F(UpdateJobTest, TextsHaveBounds) {
  const auto error = [&](const std::function<void(JobSpec&)>& change) {
    JobSpec spec = batch_spec();
    change(spec);
    return error_of(SubmitJob{kAnn, spec, {"users"}});
  };
  const std::string bound(1024, 'x'), longer(1025, 'x'), path(4097, 'x'),
      word((128U << 10) + 1, 'x');
  EXPECT_EQ(error([&](JobSpec& spec) { spec.name = spec.comment = spec.mail_user = bound; }),
            ErrorCode::kOk);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.std_out = longer; }), ErrorCode::kOk);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.submit_line = word; }), ErrorCode::kOk);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.name = longer; }), ErrorCode::kError);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.constraint = longer; }), ErrorCode::kError)
      << "which is not looked for";
  EXPECT_EQ(error([&](JobSpec& spec) { spec.work_dir = path; }), ErrorCode::kError);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.partitions = longer; }), ErrorCode::kError)
      << "nor is this";
  EXPECT_EQ(error([&](JobSpec& spec) { spec.burst_buffer = word; }), ErrorCode::kError);
  EXPECT_EQ(error([&](JobSpec& spec) { spec.arguments.assign(20, word); }), ErrorCode::kError);
  const JobId id = submit(batch_spec());
  EXPECT_EQ(update(kAnn, id, [&](JobUpdate& u) { u.comment = bound; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [&](JobUpdate& u) { u.comment = longer; }), ErrorCode::kError);
  EXPECT_EQ(update(kRoot, id, [&](JobUpdate& u) { u.admin_comment = longer; }), ErrorCode::kOk)
      << "as in Slurm";
  EXPECT_EQ(job(id).spec->comment, bound);
}

TEST_F(UpdateJobTest, AnAdministratorsCommentIsNotTheUsers) {
  // a request may have one, though sbatch has no option for it
  JobSpec spec = batch_spec();
  spec.admin_comment = "checked by the operators";
  EXPECT_EQ(job(submit(spec)).spec->admin_comment, "");
  EXPECT_EQ(job(submit(spec, kRoot)).spec->admin_comment, "checked by the operators");
}

TEST_F(UpdateJobTest, CpusStayBelowTheMost) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_cpus = 3, u.max_cpus = 5; }), ErrorCode::kOk);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_cpus = 6; }), ErrorCode::kError);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_cpus = 4; }), ErrorCode::kOk);
}

// The bug: it was the most as well.
TEST_F(UpdateJobTest, OneNumberOfNodesIsTheLeast) {
  JobSpec spec = batch_spec();
  spec.min_nodes = 2;
  spec.max_nodes = 3;
  const JobId id = submit(spec);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_nodes = 1; }), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->min_nodes, 1U);
  EXPECT_EQ(job(id).spec->max_nodes, 3U);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_nodes = 4; }), ErrorCode::kTooManyNodes);
  EXPECT_EQ(update(kAnn, id, [](JobUpdate& u) { u.min_nodes = 2, u.max_nodes = 4; }),
            ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->max_nodes, 4U);
}

// The bug: the event held all of the specification, for each task of an array: two commands of a
// user were more than a journal takes.
TEST_F(UpdateJobTest, TheEventHoldsWhatChangesAlone) {
  JobSpec spec = batch_spec();
  spec.submit_line = std::string(size_t{1} << 20, 'x');
  spec.array = "0-9";
  const JobId id = submit(spec);
  UpdateJob command{kAnn, std::to_string(id) + "_[0-4]", {}};
  command.update.comment = "new";
  const auto decision = decide(state_, command, now_);
  ASSERT_TRUE(decision) << decision.error().text;
  size_t updated = 0;
  for (const Event& event : decision->events) {
    const auto* change = std::get_if<JobUpdated>(&event);
    if (change == nullptr) continue;
    ++updated;
    EXPECT_EQ(change->changed, std::vector<uint32_t>{12});
    EXPECT_EQ(change->spec->comment, "new");
    EXPECT_TRUE(change->spec->submit_line.empty());
  }
  EXPECT_EQ(updated, 5U);
  EXPECT_LT(wire::encode(EventFrame{decision->events}).size(), 10'000U);
  ASSERT_TRUE(run(command));
  size_t changed = 0;
  state_.jobs.for_each([&](const Job& one) {
    EXPECT_EQ(one.spec->submit_line, spec.submit_line);
    changed += one.spec->comment == "new" ? 1 : 0;
  });
  EXPECT_EQ(changed, 5U);
}

TEST_F(UpdateJobTest, AnEventOfAnOlderJournalHoldsAllOfIt) {
  const JobId id = submit(batch_spec());
  auto spec = std::make_shared<JobSpec>(*job(id).spec);
  spec->comment = "old";
  spec->name = "renamed";
  JobUpdated event{.job = id, .spec = spec, .time = now_};
  sluice::state::apply(state_, Event(event));
  EXPECT_EQ(job(id).spec->comment, "old");
  event.spec = nullptr;  // no older journal has this: it stays
  sluice::state::apply(state_, Event(event));
  EXPECT_EQ(job(id).spec->name, "renamed");
}

// The bug: 1000 jobs of a crontab that were cancelled at once journalled it 1000 times.
TEST_F(UpdateJobTest, ManyLinesOfACrontabAreDisabledByOneEvent) {
  configure([](ClusterConfig& config) { config.scron_parameters = {"enable"}; });
  ReplaceCrontab crontab{kAnn, {}, {}, {"users"}};
  for (uint32_t line = 1; line <= 50; ++line) {
    crontab.text += "0 0 1 1 * true\n";
    JobSpec spec = batch_spec();
    spec.uid = kAnn.uid;
    spec.cron = "0 0 1 1 *";
    spec.cron_line = line;
    crontab.jobs.push_back(spec);
  }
  const auto reply = run(crontab);
  ASSERT_TRUE(reply) << reply.error().text;
  std::vector<std::string> targets;
  for (const JobId id : std::get<CrontabReply>(*reply).jobs) targets.push_back(std::to_string(id));
  ASSERT_EQ(targets.size(), 50U);
  const SignalJobs cancel{kAnn, targets, SIGKILL, protocol::kSignalCancel, protocol::kSignalCancel};
  const auto decision = decide(state_, cancel, now_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(std::ranges::count_if(
                decision->events,
                [](const Event& event) { return std::holds_alternative<CrontabReplaced>(event); }),
            1);
  ASSERT_TRUE(run(cancel));
  EXPECT_TRUE(state_.crontabs->at(kAnn.uid).jobs.empty());
  EXPECT_TRUE(state_.crontabs->at(kAnn.uid).text.ends_with("#DISABLED: 0 0 1 1 * true\n"));
}

}  // namespace
}  // namespace sluice::state
