// What the configuration allows of jobs, arrays and steps.
#include "support/core_fixture.hpp"

#include "common/model/job_update.hpp"

namespace sluice::state {
namespace {

class SiteLimits : public CoreTest {
 protected:
  ErrorCode submit_error(const JobSpec& spec) { return error_of(SubmitJob{kAnn, spec, {"users"}}); }
};

TEST_F(SiteLimits, JobsBeyondAPartitionAreRefusedOrWait) {
  configure([](ClusterConfig& config) {
    config.partitions.front().max_time = 60;
    PartitionConfig large = config.partitions.front();
    large.name = "large";
    large.is_default = false;
    large.max_time = kInfiniteMinutes;
    config.partitions.push_back(large);
  });
  JobSpec spec = batch_spec();
  spec.time_limit = 61;
  const auto outcomes = [&] {
    std::vector<ErrorCode> out;
    for (const char* partitions : {"debug", "debug,large", "large"}) {
      spec.partitions = partitions;
      out.push_back(submit_error(spec));
    }
    return out;
  };
  const ErrorCode no = ErrorCode::kInvalidTimeLimit, ok = ErrorCode::kOk;
  EXPECT_EQ(outcomes(), (std::vector{ok, ok, ok}));
  configure([](ClusterConfig& config) { config.enforce_part_limits = EnforcePartLimits::kAny; });
  EXPECT_EQ(outcomes(), (std::vector{no, ok, ok}));
  configure([](ClusterConfig& config) { config.enforce_part_limits = EnforcePartLimits::kAll; });
  EXPECT_EQ(outcomes(), (std::vector{no, no, ok}));
  spec.time_limit = 60;
  EXPECT_EQ(outcomes(), (std::vector{ok, ok, ok}));
}

// AllowAccounts, DenyAccounts, AllowQos and DenyQos of a partition: what a job without an account
// or a QOS may, too.
TEST_F(SiteLimits, AccountsAndQosOfAPartition) {
  const auto outcomes = [&](const std::function<void(PartitionConfig&)>& change) {
    configure([&](ClusterConfig& config) {
      PartitionConfig& debug = config.partitions.front();
      config.enforce_part_limits = EnforcePartLimits::kAny;
      debug.allow_accounts = debug.deny_accounts = debug.allow_qos = debug.deny_qos = {};
      change(debug);
    });
    std::vector<ErrorCode> out;
    for (const char* name : {"", "one", "two"}) {
      JobSpec account = batch_spec(), qos = batch_spec();
      account.account = name;
      qos.qos = name;
      out.push_back(submit_error(account));
      out.push_back(submit_error(qos));
    }
    return out;
  };
  const ErrorCode ok = ErrorCode::kOk, account = ErrorCode::kInvalidAccount,
                  qos = ErrorCode::kInvalidQos;
  EXPECT_EQ(outcomes([](PartitionConfig&) {}), (std::vector{ok, ok, ok, ok, ok, ok}));
  EXPECT_EQ(outcomes([](PartitionConfig& debug) {
              debug.allow_accounts = {"one", "three"};
            }),
            (std::vector{account, account, ok, account, account, account}));
  EXPECT_EQ(outcomes([](PartitionConfig& debug) {
              debug.deny_accounts = {"one", "three"};
            }),
            (std::vector{ok, ok, account, ok, ok, ok}));
  EXPECT_EQ(outcomes([](PartitionConfig& debug) { debug.allow_qos = {"one"}; }),
            (std::vector{ok, ok, ok, ok, ok, qos}));
  EXPECT_EQ(outcomes([](PartitionConfig& debug) { debug.deny_qos = {"one"}; }),
            (std::vector{ok, ok, ok, qos, ok, ok}));
}

// EnforcePartLimits as it is without a word: of all partitions nothing is refused for an account.
TEST_F(SiteLimits, JobsOfOtherAccountsAreRefusedAsEnforcePartLimitsSays) {
  const auto outcomes = [&](EnforcePartLimits enforced) {
    configure([&](ClusterConfig& config) {
      config.enforce_part_limits = enforced;
      if (config.partitions.size() == 1) {
        PartitionConfig own = config.partitions.front();
        own.name = "own";
        own.is_default = false;
        own.deny_accounts = {"one"};
        config.partitions.push_back(own);
      }
    });
    std::vector<ErrorCode> out;
    for (const char* partitions : {"own", "debug,own", "debug"}) {
      JobSpec spec = batch_spec();
      spec.account = "one";
      spec.partitions = partitions;
      out.push_back(submit_error(spec));
    }
    return out;
  };
  const ErrorCode ok = ErrorCode::kOk, no = ErrorCode::kInvalidAccount;
  EXPECT_EQ(outcomes(EnforcePartLimits::kNo), (std::vector{ok, ok, ok}));
  EXPECT_EQ(outcomes(EnforcePartLimits::kAny), (std::vector{no, ok, ok}));
  EXPECT_EQ(outcomes(EnforcePartLimits::kAll), (std::vector{no, no, ok}));
}

// DependencyParameters and SchedulerParameters=kill_invalid_depend; --kill-on-invalid-dep goes
// before.
TEST_F(SiteLimits, JobsWhoseDependencyFailedMayEnd) {
  const auto outcome = [&](Toggle own) {
    const JobId first = submit(batch_spec());
    JobSpec spec = batch_spec();
    spec.dependency = "afternotok:" + std::to_string(first);
    spec.kill_on_invalid_dependency = own;
    const JobId then = submit(spec);
    EXPECT_TRUE(start_job(first, "n1"));
    EXPECT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
    EXPECT_TRUE(run(Tick{}));
    EXPECT_EQ(job(then).reason, JobReason::kDependencyNeverSatisfied);
    return job(then).state;
  };
  EXPECT_EQ(outcome(Toggle::kDefault), JobState::kPending);
  EXPECT_EQ(outcome(Toggle::kYes), JobState::kCancelled);
  configure([](ClusterConfig& config) { config.dependency_parameters = {"kill_invalid_depend"}; });
  EXPECT_EQ(outcome(Toggle::kDefault), JobState::kCancelled);
  EXPECT_EQ(outcome(Toggle::kNo), JobState::kPending);
  configure([](ClusterConfig& config) {
    config.dependency_parameters.clear();
    config.scheduler_parameters = {"kill_invalid_depend"};
  });
  EXPECT_EQ(outcome(Toggle::kDefault), JobState::kCancelled);
}

TEST_F(SiteLimits, StepsOfAJobAreCounted) {
  configure([](ClusterConfig& config) { config.max_step_count = 2; });
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = submit(spec);
  ASSERT_TRUE(start_job(id, "n1", 4));
  StepSpec step;
  step.num_tasks = 1;
  step.overlap = OverlapKind::kOverlap;
  EXPECT_TRUE(run(CreateStep{kAnn, id, step}));
  EXPECT_TRUE(run(CreateStep{kAnn, id, step}));
  EXPECT_EQ(error_of(CreateStep{kAnn, id, step}), ErrorCode::kInvalidStepId);
}

// max_array_tasks bounds how many there are, MaxArraySize their numbers.
TEST_F(SiteLimits, TasksOfAnArrayAreCounted) {
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"max_array_tasks=3"}; });
  JobSpec spec = batch_spec();
  spec.array = "1,500,1000";
  EXPECT_EQ(submit_error(spec), ErrorCode::kOk);
  spec.array = "1-4";
  EXPECT_EQ(submit_error(spec), ErrorCode::kInvalidArray);
  spec.array = "1001";
  EXPECT_EQ(submit_error(spec), ErrorCode::kInvalidArray);
}

TEST_F(SiteLimits, RunningJobsMayHaveToKeepTheirNodes) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n[1-4]"));
  JobUpdate update;
  update.min_nodes = update.max_nodes = 3;
  configure([](ClusterConfig& config) { config.scheduler_parameters = {"disable_job_shrink"}; });
  EXPECT_EQ(error_of(UpdateJob{kAnn, std::to_string(id), update}), ErrorCode::kNotSupported);
  EXPECT_EQ(job(id).allocation->nodes.size(), 4u);
  configure([](ClusterConfig& config) { config.scheduler_parameters.clear(); });
  EXPECT_EQ(error_of(UpdateJob{kAnn, std::to_string(id), update}), ErrorCode::kOk);
  EXPECT_EQ(job(id).allocation->nodes.size(), 3u);
}

// The bug: of two changes made at once, each from the partition as it was, the later one undid the
// other.
TEST_F(CoreTest, ChangesOfAPartitionAddUp) {
  const PartitionConfig before = *find_partition(state_, "debug")->config;
  const auto change = [&](const std::string& key, const std::string& value) {
    return error_of(UpdatePartition{
        kRoot, protocol::PartitionAction::kUpdate, "debug", before, {{key, value}}});
  };
  EXPECT_EQ(change("MaxTime", "10"), ErrorCode::kOk);
  EXPECT_EQ(change("Nodes", "n[1-2]"), ErrorCode::kOk);
  EXPECT_EQ(change("State", "DOWN"), ErrorCode::kOk);
  const Partition& after = *find_partition(state_, "debug");
  EXPECT_EQ(after.config->max_time, 10U);
  EXPECT_EQ(after.config->state, PartitionState::kDown);
  EXPECT_EQ(after.nodes.count(), 2U);
  EXPECT_EQ(change("Nodes", "n9"), ErrorCode::kInvalidNodeName);
  EXPECT_EQ(change("Nonsense", "1"), ErrorCode::kInvalidUpdate);
}

}  // namespace
}  // namespace sluice::state
