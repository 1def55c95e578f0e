// JobSubmitPlugins: what they fill in and refuse.
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

class SubmitPlugins : public CoreTest {
 protected:
  // Beside debug (n1-4, at most an hour): root's own, one without time limit, and one that is
  // closed.
  void use(std::vector<std::string> plugins) {
    auto changed = std::make_shared<ClusterConfig>(*config_);
    changed->job_submit_plugins = std::move(plugins);
    PartitionConfig& debug = changed->partitions.front();
    PartitionConfig roots = debug, large = debug, closed = debug;
    debug.max_time = 60;
    roots.name = "roots", roots.root_only = true;
    large.name = "large";
    closed.name = "closed", closed.state = PartitionState::kInactive;
    for (PartitionConfig* more : {&roots, &large, &closed}) {
      more->is_default = false;
      changed->partitions.push_back(*more);
    }
    config_ = changed;
    ASSERT_TRUE(run(ReplaceConfig{config_}));
  }
  std::string partitions_for(JobSpec spec, Identity who = kAnn) {
    const JobId id = submit(std::move(spec), who);
    return id == kNoJob ? "refused" : job(id).spec->partitions.str();
  }
  static JobSpec of_minutes(Minutes limit) {
    JobSpec spec = batch_spec();
    spec.time_limit = limit;
    return spec;
  }
  ErrorCode submit_error(const JobSpec& spec) { return error_of(SubmitJob{kAnn, spec, {"users"}}); }
  ErrorCode limit_error(JobId id, Minutes to) {
    UpdateJob command{kRoot, std::to_string(id), {}, {}};
    command.update.time_limit = to;
    return error_of(command);
  }
};

TEST_F(SubmitPlugins, WithoutThemNothingIsFilledIn) {
  use({});
  EXPECT_EQ(partitions_for(of_minutes(10)), "");
  EXPECT_EQ(submit_error(of_minutes(0)), ErrorCode::kOk);
}

TEST_F(SubmitPlugins, AllPartitionsAreThoseOpenToTheUser) {
  use({"all_partitions"});
  EXPECT_EQ(partitions_for(of_minutes(10)), "debug,large");
  EXPECT_EQ(partitions_for(of_minutes(10), kRoot), "debug,roots,large");
  JobSpec named = of_minutes(10);
  named.partitions = "large";
  EXPECT_EQ(partitions_for(named), "large");
}

TEST_F(SubmitPlugins, PartitionIsTheFirstWhereTheJobCouldRun) {
  use({"partition"});
  EXPECT_EQ(partitions_for(of_minutes(10)), "") << "the default one will do";
  EXPECT_EQ(partitions_for(of_minutes(61)), "large");
  JobSpec named = of_minutes(61);
  named.partitions = "debug";
  EXPECT_EQ(partitions_for(named), "debug");
}

TEST_F(SubmitPlugins, RequireTimelimitWantsOneAndKeepsIt) {
  use({"throttle", "require_timelimit"});
  EXPECT_EQ(submit_error(of_minutes(0)), ErrorCode::kMissingTimeLimit);
  EXPECT_EQ(submit_error(of_minutes(kInfiniteMinutes)), ErrorCode::kOk);
  const JobId id = submit(of_minutes(10));
  EXPECT_EQ(limit_error(id, 0), ErrorCode::kMissingTimeLimit);
  EXPECT_EQ(limit_error(id, kInfiniteMinutes), ErrorCode::kMissingTimeLimit);
  EXPECT_EQ(limit_error(id, 20), ErrorCode::kOk);
  EXPECT_EQ(job(id).time_limit, 20U);
}

TEST_F(SubmitPlugins, EachComponentNeedsATimeLimit) {
  use({"require_timelimit"});
  SubmitJob command{kAnn, of_minutes(10), {"users"}};
  command.components.push_back(of_minutes(0));
  EXPECT_EQ(error_of(command), ErrorCode::kMissingTimeLimit);
  command.components.front().time_limit = 10;
  EXPECT_EQ(error_of(command), ErrorCode::kOk);
}

}  // namespace
}  // namespace sluice::state
