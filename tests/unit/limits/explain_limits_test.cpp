// sluice explain: whose limit holds a job back, what is used of it, and when it lets the job start.
#include <algorithm>

#include "common/base/time_text.hpp"
#include "common/model/job_update.hpp"
#include "ctld/sched/explain/explain.hpp"
#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

// 4 nodes of 8 CPUs.
class ExplainLimits : public AccountingTest {
 protected:
  using Lines = std::vector<std::string>;
  // What it says of limits; with the time of what is foreseen as minutes from now.
  Lines explained(JobId id, const sched::ExplainLimits& limits = {}) {
    const sched::Plan plan =
        sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
    const auto reply = sched::explain(state_, plan.soft.get(), std::to_string(id), now_, limits);
    EXPECT_TRUE(reply);
    if (!reply) return {};
    const auto from = std::ranges::find_if(reply->lines, [](const std::string& line) {
      return line.starts_with("A limit holds it back: ");
    });
    return {from, from == reply->lines.end() ? from : from + 3};
  }
  static std::string says(std::string_view what) {
    return "A limit holds it back: " + std::string(what) + ".";
  }
  std::string from_on(Minutes minutes) {
    return "  By the time limits of jobs that go before, it may start from " +
           format_time(now_ + std::chrono::minutes(minutes)) + " on.";
  }
  static JobSpec of(uint32_t cpus, Minutes limit = 60) {
    JobSpec spec = batch_spec();
    spec.num_tasks = spec.min_cpus = cpus;
    spec.time_limit = limit;
    return spec;
  }
  JobId running(uint32_t cpus, const char* node = "n1") {
    const JobId id = submit(of(cpus));
    EXPECT_TRUE(start_job(id, node, cpus));
    return id;
  }
  JobId of_bob(JobSpec spec) {
    spec.user_name = "bob";
    return submit(spec, kBob);
  }
};

TEST_F(ExplainLimits, OfAnAccount) {
  association(kPhysics).group.tres = {{kTresCpu, 4}};
  follow();
  running(3);
  now_ += std::chrono::minutes(20);
  EXPECT_EQ(explained(of_bob(of(2))),
            (Lines{says("GrpTRES=cpu=4 of account physics"),
                   "  Jobs of account physics use cpu=3 now, and this job asks for cpu=2.",
                   from_on(40)}));
  EXPECT_EQ(explained(submit(of(5)))[2], "  That does not pass: alone it is above the limit.");
}

TEST_F(ExplainLimits, InheritedFromAnAccount) {
  association(kPhysics).member.jobs = 1;
  association(kRootId).job.tres = {{kTresCpu, 6}};
  follow();
  running(1);
  EXPECT_EQ(
      explained(submit(of(1))),
      (Lines{says("MaxJobs=1 of account physics"),
             "  Of user ann in account physics 1 job runs now, and this job would be one more.",
             from_on(60)}));
  EXPECT_EQ(explained(of_bob(of(7))),
            (Lines{says("MaxTRES=cpu=6 of account root"), "  This job asks for cpu=7.",
                   "  That does not pass: it has to ask for less."}));
}

TEST_F(ExplainLimits, OfAQosForItsUserOrAccount) {
  qos(kNormal).user.jobs = 2;
  qos(kHigh).account.tres = {{kTresMem, 2048}};
  follow();
  running(1);
  running(1, "n2");
  EXPECT_EQ(explained(submit(of(1))),
            (Lines{says("MaxJobsPerUser=2 of QOS normal"),
                   "  Of user ann in the QOS 2 jobs run now, and this job would be one more.",
                   from_on(60)}));
  JobSpec large = of(1);
  large.qos = "high";
  large.memory_kind = MemoryKind::kPerNode;
  large.memory_mib = 900;
  large.min_nodes = large.max_nodes = large.num_tasks = 3;
  EXPECT_EQ(explained(submit(large)),
            (Lines{says("MaxTRESPerAccount=mem=2G of QOS high"),
                   "  Jobs of account physics in the QOS use mem=0 now, and this job asks for "
                   "mem=2700M.",
                   "  That does not pass: alone it is above the limit."}));
}

TEST_F(ExplainLimits, OfMinutes) {
  association(kPhysics).group.tres_run_mins = {{kTresCpu, 200}};
  qos(kHigh).group.tres_mins = {{kTresCpu, 0}};
  qos(kHigh).flags |= kQosNoDecay;
  follow();
  running(2);
  EXPECT_EQ(
      explained(of_bob(of(2))),
      (Lines{says("GrpTRESRunMins=cpu=200 of account physics"),
             "  Running jobs of account physics may still use cpu=120 (minutes), and this job "
             "cpu=120.",
             from_on(60)}));
  JobSpec high = of(1, 30);
  high.qos = "high";
  EXPECT_EQ(explained(submit(high)),
            (Lines{says("GrpTRESMins=cpu=0 of QOS high"),
                   "  Jobs of the QOS used cpu=0 (minutes), and this job may use cpu=30.",
                   "  When that falls depends on how usage decays."}));
}

TEST_F(ExplainLimits, OfWall) {
  enforce({"associations", "limits", "qos", "safe"});
  association(kPhysics).group.wall = std::chrono::minutes(90);
  follow();
  running(1);
  now_ += std::chrono::minutes(40);
  EXPECT_EQ(explained(submit(of(1))),
            (Lines{says("GrpWall=01:30:00 of account physics"),
                   "  Jobs of account physics ran for 00:40:00, and this job may run for 01:00:00.",
                   "  When that falls depends on how usage decays."}));
}

TEST_F(ExplainLimits, OfJobsWithoutATimeLimit) {
  association(kPhysics).group.jobs = 1;
  follow();
  ASSERT_TRUE(start_job(submit(of(1, kInfiniteMinutes)), "n1"));
  EXPECT_EQ(explained(submit(of(1)))[2], "  When that falls cannot be foreseen.");
}

// A limit of nodes is known once nodes were chosen.
TEST_F(ExplainLimits, OfOneNode) {
  qos(kNormal).job.tres_node = {{kTresCpu, 2}};
  follow();
  JobSpec spec = of(3);
  spec.min_nodes = spec.max_nodes = 1;
  EXPECT_EQ(explained(submit(spec)),
            (Lines{says("MaxTRESPerNode=cpu=2 of QOS normal"), "  This job asks for cpu=3.",
                   "  That does not pass: it has to ask for less."}));
}

TEST_F(ExplainLimits, AreOthersAffair) {
  association(kPhysics).group.jobs = 1;
  follow();
  running(1);
  const JobId waits = submit(of(1));
  sched::ExplainLimits limits;
  limits.only_limits_of = kBob.uid;
  EXPECT_EQ(explained(waits, limits), Lines{});
  limits.only_limits_of = kAnn.uid;
  EXPECT_EQ(explained(waits, limits).size(), 3u);
  EXPECT_EQ(explained(of_bob(of(1))).size(), 3u);
}

TEST_F(ExplainLimits, SayNothingWhereNoneIsEnforced) {
  association(kPhysics).group.jobs = 0;
  follow();
  enforce({"associations"});
  EXPECT_EQ(explained(submit(of(1))), Lines{});
}

// What whole nodes have counts, also what the job did not ask for.
TEST_F(ExplainLimits, ForecastOfWholeNodes) {
  configure([](ClusterConfig& config) {
    config.gres_types = {"gpu"};
    for (NodeConfig& node : config.nodes) node.gres = "gpu:2";
  });
  for (const NodeConfig& node : state_.config->nodes) {
    RegisterNode command;
    command.node.name = node.name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = "boot";
    command.node.hardware.devices = {{.name = "gpu", .count = 2, .files = {"/dev/g0", "/dev/g1"}}};
    ASSERT_TRUE(run(command));
  }
  association(kPhysics).group.tres = {{kGpu, 2}};
  follow();
  JobSpec spec = of(1);
  spec.required_nodes = "n1";
  spec.gres = "gpu:1";
  const auto start = [&] {
    const sched::Plan plan =
        sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
    ASSERT_EQ(plan.starts.size(), 1u);
    ASSERT_TRUE(run(StartJobs{plan.starts, {}, {}}));
  };
  submit(spec);
  start();
  now_ += std::chrono::minutes(30);
  spec.required_nodes = "n2";
  submit(spec);
  start();
  JobSpec whole = of(1);
  whole.sharing = Sharing::kExclusive;
  whole.gres = "gpu:1";
  const JobId waits = submit(whole);
  const sched::Plan plan =
      sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  EXPECT_EQ(plan.soft->find(waits)->reason, JobReason::kAssocGrpGRES);
  EXPECT_EQ(std::chrono::round<std::chrono::minutes>(plan.soft->find(waits)->expected_start - now_)
                .count(),
            60)
      << "it gets both GPUs of its node: the second job has to end, too";
}

// The bug: nothing helped, where another account of the user's had room.
TEST_F(ExplainLimits, AnotherAccountHelps) {
  association(kPhysics).group.jobs = 0;
  follow();
  const JobId id = submit(of(1));
  const sched::Plan plan =
      sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
  const auto reply = sched::explain(state_, plan.soft.get(), std::to_string(id), now_);
  ASSERT_TRUE(reply && reply->change);
  EXPECT_EQ(reply->change->account, "chem");
  EXPECT_TRUE(std::ranges::any_of(reply->lines, [](const std::string& line) {
    return line.find("charge it to account chem") != std::string::npos;
  }));
}

}  // namespace
}  // namespace sluice::state
