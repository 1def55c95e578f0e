// A partition that refuses is never started in, whenever it came to refuse.
#include <functional>

#include "world.hpp"

namespace sluice::sched {
namespace {

struct GuardedWorld : World {
  GuardedWorld() : World(2, 8) {
    config.nodes[0].features = {"a"};
    partition("staff").priority_tier = 10;
  }
  PartitionConfig& staff() { return config.partitions[1]; }
  JobId submit_as(const std::vector<std::string>& groups, JobSpec job) {
    const auto reply = run(state::SubmitJob{{job.uid, job.uid}, job, groups});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
    return reply ? std::get<state::JobSubmittedReply>(*reply).job : kNoJob;
  }
  static JobSpec in(const std::string& partitions) {
    JobSpec made = spec(1, 10);
    made.partitions = partitions;
    return made;
  }
  void change(const std::string& name, const std::function<void(PartitionConfig&)>& how) {
    PartitionConfig changed = *state::find_partition(state, name)->config;
    how(changed);
    state::apply(state,
                 state::PartitionChanged{.config = std::make_shared<PartitionConfig>(changed)});
  }
};

struct Guard {
  const char* name;
  std::function<void(PartitionConfig&)> close;
  JobReason reason;
};
const std::vector<Guard> kGuards{
    {"AllowGroups", [](PartitionConfig& p) { p.allow_groups = {"staff"}; },
     JobReason::kPartitionConfig},
    {"RootOnly", [](PartitionConfig& p) { p.root_only = true; }, JobReason::kPartitionConfig},
    {"AllowAccounts", [](PartitionConfig& p) { p.allow_accounts = {"good"}; },
     JobReason::kAccountNotAllowed},
    {"DenyAccounts", [](PartitionConfig& p) { p.deny_accounts = {"bad"}; },
     JobReason::kAccountNotAllowed},
    {"AllowQos", [](PartitionConfig& p) { p.allow_qos = {"high"}; }, JobReason::kQOSNotAllowed},
    {"AllocNodes", [](PartitionConfig& p) { p.alloc_nodes = {"login"}; },
     JobReason::kPartitionConfig},
};
JobSpec refused_by_all(const std::string& partitions) {
  JobSpec made = GuardedWorld::in(partitions);
  made.account = "bad";
  made.qos = "low";
  made.submit_host = "elsewhere";
  return made;
}

TEST(Access, OfAListOnlyThePartitionsThatLetHimInStartTheJob) {
  for (const Guard& guard : kGuards) {
    for (const char* list : {"staff,debug", "debug,staff"}) {
      GuardedWorld world;
      guard.close(world.staff());
      world.up();
      const JobId job = world.submit_as({"users"}, refused_by_all(list));
      EXPECT_EQ(world.job(job).spec->partitions, list) << "it stays in the list";
      world.pass();
      EXPECT_EQ(world.job(job).state, JobState::kRunning) << guard.name;
      EXPECT_EQ(world.job(job).partition, "debug") << guard.name;
    }
  }
}

TEST(Access, APartitionThatIsClosedLaterStartsNothingThatWaits) {
  for (const Guard& guard : kGuards) {
    GuardedWorld world;
    world.up();
    const JobId job = world.submit_as({"users"}, refused_by_all("staff"));
    const Plan planned = plan_pass(world.state, make_policies(world.state), world.now);
    ASSERT_EQ(planned.starts.size(), 1u);
    world.change("staff", guard.close);
    const auto reply = world.run(state::StartJobs{planned.starts});
    ASSERT_TRUE(reply);
    EXPECT_EQ(std::get<state::StartedReply>(*reply).started, 0u)
        << guard.name << ": the plan is older";
    EXPECT_EQ(world.pass(), "") << guard.name;
    EXPECT_EQ(world.reason(job), guard.reason) << guard.name;
    world.change("staff",
                 [](PartitionConfig& p) { p = PartitionConfig{.name = p.name, .nodes = p.nodes}; });
    EXPECT_EQ(world.pass(), "1:n1") << guard.name;
  }
}

TEST(Access, AnAdministratorMayMoveAJobThereButItWaitsUntilItsUserIsLetIn) {
  GuardedWorld world;
  world.staff().allow_groups = {"staff"};
  world.up();
  const JobId job = world.submit_as({"users"}, World::spec(1, 10));
  state::UpdateJob move{{1001, 1001}, std::to_string(job), {}, {"users"}};
  move.update.partitions = "staff";
  EXPECT_FALSE(world.run(move));
  move.who = {0, 0};
  EXPECT_TRUE(world.run(move));
  EXPECT_EQ(world.pass(), "");
  EXPECT_EQ(world.reason(job), JobReason::kPartitionConfig);
  world.submit_as({"users", "staff"}, GuardedWorld::in("debug"));  // he was put into the group
  EXPECT_EQ(world.pass(), "1:n1 2:n1");
}

TEST(Access, WithEnforcePartLimitsAllEachPartitionHasToLetHimIn) {
  GuardedWorld world;
  world.config.enforce_part_limits = EnforcePartLimits::kAll;
  world.staff().allow_groups = {"staff"};
  world.up();
  const auto reply =
      world.run(state::SubmitJob{{1001, 1001}, GuardedWorld::in("debug,staff"), {"users"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kPartitionAccess);
  EXPECT_EQ(world.submit_as({"staff"}, GuardedWorld::in("debug,staff")), 1u);
}

// A controller before this one did not write the groups down: it looked at them when the job came.
TEST(Access, WhereTheGroupsAreNotKnownTheJobIsStarted) {
  GuardedWorld world;
  world.up();
  world.submit_as({}, GuardedWorld::in("staff"));
  world.change("staff", [](PartitionConfig& p) { p.allow_groups = {"staff"}; });
  EXPECT_EQ(world.pass(), "1:n1");
}

}  // namespace
}  // namespace sluice::sched
