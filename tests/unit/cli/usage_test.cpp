// sluice usage: the figures, and the screen to the letter.
#include <gtest/gtest.h>

#include "cli/usage/output.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

constexpr TresId kGpu = 1001;
constexpr double kHour = 3600;

AssociationInUse one(AssociationId id, AssociationId parent, const char* account, uint32_t depth) {
  AssociationInUse out;
  out.record.id = id;
  out.record.parent = parent;
  out.record.account = account;
  out.depth = depth;
  return out;
}

void use(AssociationInUse& out, double cpu_hours, double gpu_hours) {
  out.use.jobs = 3;
  out.use.submit = 5;
  out.use.tres = {{kTresCpu, 12, 7200, cpu_hours * kHour}, {kGpu, 1, 0, gpu_hours * kHour}};
}

// ann has a fifth of physics, which has half of the cluster, and the share of all in chem.
AssocMgrReply site() {
  AssocMgrReply all;
  all.followed = true;
  all.tres = {{kTresCpu, "cpu", ""}, {kTresMem, "mem", ""}, {kGpu, "gres", "gpu"}};
  AssociationInUse physics = one(2, 1, "physics", 1);
  physics.norm_shares = 0.5;
  physics.record.group.tres = {{kTresCpu, 48}, {kTresMem, 4096}};
  physics.record.member.jobs = 4;
  use(physics, 900, 10);
  AssociationInUse ann = one(3, 2, "physics", 2);
  ann.record.user = "ann";
  ann.record.shares = 20;
  ann.norm_shares = 0.2;
  ann.effective_usage = 0.25;
  ann.factor = 0.4;
  ann.record.job.wall = std::chrono::hours(24);
  ann.record.qos = {1};
  use(ann, 400, 10);
  AssociationInUse chem = one(4, 1, "chem", 1);
  chem.norm_shares = 0.5;
  AssociationInUse ann_of_chem = one(5, 4, "chem", 2);
  ann_of_chem.record.user = "ann";
  ann_of_chem.record.partition = "long";
  ann_of_chem.record.shares = kSharesOfParent;
  ann_of_chem.norm_shares = 0.5;
  ann_of_chem.factor = 0.9;
  all.associations = {one(1, 0, "root", 0), physics, ann, chem, ann_of_chem};
  protocol::QosInUse normal, other;
  normal.record.id = 1;
  normal.record.name = "normal";
  normal.record.user.tres = {{kTresCpu, 16}};
  normal.record.account.jobs = 0;
  normal.users = {{"ann", 1000, physics.use}, {"bob", 1001, {}}};
  other.record.id = 2;
  other.record.name = "other";
  other.record.group.jobs = 7;
  all.qos = {normal, other};
  return all;
}

ClusterConfig config() {
  ClusterConfig out;
  out.cluster_name = "demo";
  out.priority_weight_fair_share = 1000;
  return out;
}

protocol::HistoryJob job() {
  protocol::HistoryJob out;
  out.job.id = 17;
  out.job.name = "solve";
  out.job.state = JobState::kCompleted;
  out.job.start = from_seconds(1000);
  out.job.end = from_seconds(1000 + 600);
  out.job.cpus = 4;
  out.job.allocated_tres = {{"cpu", 4}, {"mem", 1024}};
  StepHistory& step = out.steps.emplace_back();
  step.tasks = 2;
  step.usage.tasks = 2;
  step.usage.memory.max = 128ULL << 20;
  step.usage.user_cpu = std::chrono::seconds(1200);
  return out;
}

constexpr ClusterSize kSize{.cpus = 64, .cores = 32, .gpus = 8};

TEST(Usage, ScreenIsKept) {
  UsageReport report = usage_report("ann", config(), site(), kSize);
  report.jobs.push_back(usage_job(job(), {}));
  EXPECT_EQ(
      usage_text(report),
      R"(Usage of ann on cluster demo, period of 10.1 days (PriorityDecayHalfLife=7-00:00:00: older usage counts less)

Used
  Account     CPU-hours   Core-years   GPU-hours   GPU-years
  physics        400.00       0.0228       10.00      0.0011
  chem/long        0.00       0.0000        0.00      0.0000

Target
  Account                    Share   Core-years   Used   Average cores   GPU-years   Used   Average GPUs
  physics                   10.00%       0.0885    26%      0.8 of 3.2      0.0221     5%     0.0 of 0.8
  chem/long (all of chem)   50.00%       0.4427     0%     0.0 of 16.0      0.1107     0%     0.0 of 4.0
  The target is what your share of the cluster comes to over the period.
  Using more lowers the priority of your jobs; no job is refused for it.

Shares
  Account     RawShares   NormShares   EffectvUsage   FairShare
  physics            20     0.200000       0.250000    0.400000
  chem/long      parent     0.500000       0.000000    0.900000

Limits
  Of                            Limit                Unit      Used   At most      Used%
  account physics               GrpTRES cpu                      12        48        25%
  account physics               GrpTRES mem          MB           0      4096         0%
  you in physics                MaxJobs                           3         4        75%
  you in physics                MaxWall              minutes             1440   each job
  QOS normal                    MaxTRESPerUser cpu               12        16        75%
  QOS normal, account chem      MaxJobsPerAccount                 0         0       100%
  QOS normal, account physics   MaxJobsPerAccount                 0         0       100%

Last jobs
  JobID   JobName   State        Elapsed   CPU   Memory
  17      solve     COMPLETED   00:10:00   50%      25%
)");
}

TEST(Usage, TargetIsTheShareOfTheClusterOverThePeriod) {
  const UsageReport report = usage_report("ann", config(), site(), kSize);
  ASSERT_EQ(report.associations.size(), 2U);
  const UsageTarget& mine = report.associations[0].target.value();
  EXPECT_DOUBLE_EQ(mine.cluster_share, 0.1);
  EXPECT_DOUBLE_EQ(mine.cores, 3.2);
  EXPECT_NEAR(mine.core_years, 3.2 * 7 / 0.693147 / 365, 1e-6);
  // 400 hours of CPUs that are half a core each
  EXPECT_NEAR(mine.average_cores, 200 / (24 * 7 / 0.693147), 1e-4);
  const UsageTarget& of_chem = report.associations[1].target.value();
  EXPECT_EQ(of_chem.account, "chem");
  EXPECT_DOUBLE_EQ(of_chem.cluster_share, 0.5);
}

TEST(Usage, ClassicSharesAreOfTheClusterAlready) {
  AssocMgrReply all = site();
  all.fair_tree = false;
  const UsageReport report = usage_report("ann", config(), all, kSize);
  EXPECT_DOUBLE_EQ(report.associations[0].target.value().cluster_share, 0.2);
}

TEST(Usage, PeriodIsTheShorterOfDecayAndReset) {
  ClusterConfig conf = config();
  conf.priority_usage_reset_period = "WEEKLY";
  EXPECT_EQ(usage_report("ann", conf, site(), kSize).period, std::chrono::hours(24 * 7));
  conf.priority_usage_reset_period = "MONTHLY";
  EXPECT_LT(usage_report("ann", conf, site(), kSize).period, std::chrono::hours(24 * 11));
  conf.priority_decay_half_life = {};
  EXPECT_EQ(usage_report("ann", conf, site(), kSize).period, std::chrono::hours(24 * 30));
}

TEST(Usage, WithoutPeriodOrNodesThereIsNoTarget) {
  ClusterConfig conf = config();
  EXPECT_NE(usage_text(usage_report("ann", conf, site(), {})).find("no node is shown to you"),
            std::string::npos);
  conf.priority_decay_half_life = {};
  const UsageReport report = usage_report("ann", conf, site(), kSize);
  EXPECT_FALSE(report.associations[0].target);
  EXPECT_NE(usage_text(report).find("usage is never forgotten here"), std::string::npos);
  EXPECT_TRUE(usage_json(report)["associations"][0]["target"].is_null());
}

std::vector<std::string> limits_of(const UsageReport& report, std::string_view qos) {
  std::vector<std::string> out;
  for (const UsageLimit& one : report.limits) {
    if (!one.owner.starts_with(qos)) continue;
    out.push_back(one.owner + "|" + one.name + "|" + one.unit + "|" +
                  (one.used ? std::to_string(*one.used) : "each job") + "|" +
                  std::to_string(one.limit));
  }
  return out;
}

TEST(Usage, LimitsOfARelativeQosAreParts) {
  AssocMgrReply all = site();
  QosRecord& normal = all.qos[0].record;
  normal.flags = kQosRelative;
  normal.group.tres = {{kTresCpu, 50}};
  normal.job.tres = {{kTresMem, 20}};
  normal.user.tres_run_mins = {{kTresCpu, 600}};
  normal.account = {};
  EXPECT_EQ(
      limits_of(usage_report("ann", config(), all, kSize), "QOS "),
      (std::vector<std::string>{"QOS normal|GrpTRES cpu|% of the cluster|each job|50",
                                "QOS normal|MaxTRESPerJob mem|% of the cluster|each job|20",
                                "QOS normal|MaxTRESRunMinsPerUser cpu|minutes|120|600",
                                "QOS normal|MaxTRESPerUser cpu|% of the cluster|each job|16"}));
}

TEST(Usage, LimitsOfThePartitionsQosAreThere) {
  protocol::PartitionRecord partition;
  partition.config.name = "debug";
  partition.config.qos = "Other";
  EXPECT_EQ(limits_of(usage_report("ann", config(), site(), kSize, {partition}), "QOS other"),
            (std::vector<std::string>{"QOS other of partition debug|GrpJobs||0|7"}));
  EXPECT_TRUE(limits_of(usage_report("ann", config(), site(), kSize), "QOS other").empty());
}

TEST(Usage, CoresAndGpusOfNodesAreCounted) {
  protocol::NodeRecord record;
  NodeConfig node;
  node.cpus = 16;
  node.sockets = 2;
  node.cores_per_socket = 4;
  node.threads_per_core = 2;
  node.gres = "gpu:a100:2,fan:1,gpu:3";
  record.node.config = std::make_shared<const NodeConfig>(node);
  protocol::NodeRecord gone = record;
  gone.node.removed = true;
  const ClusterSize size = cluster_size({record, gone, record});
  EXPECT_EQ(size.cpus, 32U);
  EXPECT_EQ(size.cores, 16U);
  EXPECT_EQ(size.gpus, 10U);
}

}  // namespace
}  // namespace sluice::cli
