// sshare and scontrol show assoc_mgr, to the letter of 26.05.
#include <limits>

#include <gtest/gtest.h>

#include "cli/scontrol/assoc_mgr.hpp"
#include "cli/sshare_json.hpp"
#include "cli/sshare_table.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

constexpr TresId kGpu = 1001, kGpuMemory = 1002, kGpuUse = 1003;

AssociationInUse one(AssociationId id, AssociationId parent, const char* account,
                     const char* user) {
  AssociationInUse out;
  out.record.id = id;
  out.record.parent = parent;
  out.record.cluster = "demo";
  out.record.account = account;
  out.record.user = user;
  out.level_fs = std::numeric_limits<double>::infinity();
  if (*user != '\0') out.uid = 0;
  return out;
}

protocol::TresInUse use(TresId id, uint64_t count, uint64_t minutes_used, uint64_t minutes_left) {
  return {id, count, minutes_left * 60, static_cast<double>(minutes_used * 60)};
}

// What runs in physics.
void fill(AssociationInUse& out) {
  out.use.jobs = 5;
  out.use.accruing = 9;
  out.use.submit = 15;
  out.use.usage_raw = 7205.62;
  out.use.wall = 50.01 * 60;
  out.use.tres = {use(kTresCpu, 8, 120, 200), use(kTresMem, 656, 10569, 15680),
                  use(kTresNode, 1, 60, 140), use(kTresBilling, 8, 120, 200), use(kGpu, 1, 20, 20)};
  out.norm_usage = out.effective_usage = 1;
}

AssocMgrReply site() {
  AssocMgrReply all;
  all.followed = true;
  all.tres = {{1, "cpu", ""},
              {2, "mem", ""},
              {3, "energy", ""},
              {4, "node", ""},
              {5, "billing", ""},
              {6, "fs", "disk"},
              {7, "vmem", ""},
              {8, "pages", ""},
              {kGpu, "gres", "gpu"},
              {kGpuMemory, "gres", "gpumem"},
              {kGpuUse, "gres", "gpuutil"}};
  AssociationInUse root = one(1, 0, "root", "");
  fill(root);
  AssociationInUse root_user = one(2, 1, "root", "root");
  root_user.depth = 1;
  root_user.norm_shares = 0.2;
  root_user.factor = 1;
  AssociationInUse chem = one(4, 1, "chem", "");
  chem.depth = 1;
  chem.record.shares = 3;
  chem.norm_shares = 0.6;
  AssociationInUse physics = one(3, 1, "physics", "");
  fill(physics);
  physics.record.lineage = "/physics/";
  physics.depth = 1;
  physics.norm_shares = physics.level_fs = 0.2;
  physics.level_shares = 5;
  AssociationInUse user = one(5, 3, "physics", "root");
  fill(user);
  user.depth = 2;
  user.norm_shares = user.level_fs = 1;
  user.factor = 0.5;
  all.associations = {root, root_user, chem, physics, user};
  return all;
}

TEST(Sshare, LongTableOfAll) {
  SshareLayout layout;
  layout.long_form = true;
  const auto table = sshare_table(layout, site());
  ASSERT_TRUE(table);
  EXPECT_EQ(
      *table,
      "Account                    User  RawShares  NormShares    RawUsage   NormUsage  EffectvUsage  FairShare    LevelFS                    GrpTRESMins                    TRESRunMins \n"
      "-------------------- ---------- ---------- ----------- ----------- ----------- ------------- ---------- ---------- ------------------------------ ------------------------------ \n"
      "root                                          0.000000        7205                  1.000000                                                      cpu=200,mem=15680,energy=0,no+ \n"
      " root                      root          1    0.200000           0    0.000000      0.000000   1.000000        inf                                cpu=0,mem=0,energy=0,node=0,b+ \n"
      " chem                                    3    0.600000           0    0.000000      0.000000                   inf                                cpu=0,mem=0,energy=0,node=0,b+ \n"
      " physics                                 1    0.200000        7205    1.000000      1.000000              0.200000                                cpu=200,mem=15680,energy=0,no+ \n"
      "  physics                  root          1    1.000000        7205    1.000000      1.000000   0.500000   1.000000                                cpu=200,mem=15680,energy=0,no+ \n");
}

TEST(Sshare, OtherLayouts) {
  SshareLayout layout;
  layout.separators = FieldSeparators::kBetween;
  layout.users_only = true;
  EXPECT_EQ(*sshare_table(layout, site()),
            "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\n"
            "root|root|1|0.200000|0|0.000000|1.000000\n"
            "physics|root|1|1.000000|7205|1.000000|0.500000\n");
  layout.separators = FieldSeparators::kAfterEach;
  layout.format = "acc%5,id,levelfs";
  layout.no_header = true;
  EXPECT_EQ(*sshare_table(layout, site()), "root|2|inf|\nphysics|5|1.000000|\n");
  layout.separators = FieldSeparators::kColumns;
  layout.format = "User%-6,Account%5";
  EXPECT_EQ(*sshare_table(layout, site()), "root    root \nroot   phys+ \n");
  layout.format = "Nothing";
  EXPECT_EQ(sshare_table(layout, site()).error().text, "Invalid field requested: \"Nothing\"");
}

TEST(Sshare, Json) {
  protocol::AssocMgrReply all = site();
  all.associations[3].record.group.tres_mins = {{kTresCpu, 60}};
  const Json json = shares_to_json(all, false);
  EXPECT_EQ(json["total_shares"], 5);
  ASSERT_EQ(json["shares"].size(), 5U);
  const Json& physics = json["shares"][3];
  EXPECT_EQ(physics["name"], "physics");
  EXPECT_EQ(physics["parent"], "root");
  EXPECT_EQ(physics["type"], Json::array({"ASSOCIATION"}));
  EXPECT_EQ(physics["usage"], 7205);
  EXPECT_DOUBLE_EQ(physics["shares_normalized"]["number"].get<double>(), 0.2);
  EXPECT_EQ(physics["tres"]["group_minutes"][0]["name"], "cpu");
  EXPECT_EQ(physics["tres"]["group_minutes"][0]["value"]["number"], 60);
  EXPECT_EQ(physics["tres"]["group_minutes"][1]["value"]["infinite"], true);
  EXPECT_EQ(physics["tres"]["run_seconds"][0]["value"]["number"], 200 * 60);
  const Json& user = json["shares"][1];
  EXPECT_EQ(user["type"], Json::array({"USER"}));
  EXPECT_EQ(user["parent"], "root");
  EXPECT_EQ(user["fairshare"]["level"]["infinite"], true) << "nothing was used";
  EXPECT_EQ(shares_to_json(all, true)["shares"].size(), 2U);
}

TEST(Sshare, FieldsAsSlurmListsThem) {
  EXPECT_TRUE(sshare_fields().starts_with(
      "Account           Cluster           EffectvUsage      FairShare        \n"))
      << sshare_fields();
  EXPECT_TRUE(sshare_fields().ends_with("RawUsage          TRESRunMins       User             \n"));
}

TEST(AssocMgr, AnAssociation) {
  const std::string text =
      scontrol::assoc_mgr_text(site(), protocol::QueryAssocMgrRequest{}, false);
  const std::string expected =
      R"(ClusterName=demo Account=physics UserName= Partition= Priority=0 ID=3)"
      "\n"
      R"(    SharesRaw/Norm/Level/Factor=1/0.20/5/0.00)"
      "\n"
      R"(    UsageRaw/Norm/Efctv=7205.62/1.00/1.00)"
      "\n"
      R"(    ParentAccount=root(1) Lineage=/physics/ DefAssoc=No)"
      "\n"
      R"(    GrpJobs=N(5) GrpJobsAccrue=N(9))"
      "\n"
      R"(    GrpSubmitJobs=N(15) GrpWall=N(50.01))"
      "\n"
      R"(    GrpTRES=cpu=N(8),mem=N(656),energy=N(0),node=N(1),billing=N(8),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(1),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    GrpTRESMins=cpu=N(120),mem=N(10569),energy=N(0),node=N(60),billing=N(120),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(20),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    GrpTRESRunMins=cpu=N(200),mem=N(15680),energy=N(0),node=N(140),billing=N(200),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(20),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=)"
      "\n"
      R"(    MaxTRESPJ=)"
      "\n"
      R"(    MaxTRESPN=)"
      "\n"
      R"(    MaxTRESMinsPJ=)"
      "\n"
      R"(    MinPrioThresh=)"
      "\n"
      R"(    Comment=(null))"
      "\n";
  EXPECT_NE(text.find(expected), std::string::npos) << text;
}

TEST(AssocMgr, AQos) {
  AssocMgrReply all = site();
  protocol::QosInUse high;
  high.record.id = 2;
  high.record.name = "high";
  high.record.priority = 100;
  high.record.job.wall = std::chrono::hours(1);
  high.record.user.tres = {{kTresCpu, 16}};
  high.use.usage_raw = 2398.904647;
  high.use.jobs = 4;
  high.use.accruing = 8;
  high.use.submit = 12;
  high.use.wall = 39.98 * 60;
  high.use.tres = {use(kTresCpu, 4, 39, 120), use(kTresMem, 256, 2558, 7680),
                   use(kTresNode, 1, 39, 120), use(kTresBilling, 4, 39, 120)};
  high.accounts = {{"physics", UINT32_MAX, high.use}};
  high.users = {{"root", 0, high.use}};
  all.qos = {high};
  protocol::QueryAssocMgrRequest request;
  request.no_associations = request.no_users = true;
  EXPECT_EQ(
      scontrol::assoc_mgr_text(all, request, false),
      "Current Association Manager state\n\nQOS Records\n\n"
      R"(QOS=high(2))"
      "\n"
      R"(    UsageRaw=2398.904647)"
      "\n"
      R"(    GrpJobs=N(4) GrpJobsAccrue=N(8) GrpSubmitJobs=N(12) GrpWall=N(39.98))"
      "\n"
      R"(    GrpTRES=cpu=N(4),mem=N(256),energy=N(0),node=N(1),billing=N(4),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    GrpTRESMins=cpu=N(39),mem=N(2558),energy=N(0),node=N(39),billing=N(39),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    GrpTRESRunMins=cpu=N(120),mem=N(7680),energy=N(0),node=N(120),billing=N(120),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    MaxWallPJ=60)"
      "\n"
      R"(    MaxTRESPJ=)"
      "\n"
      R"(    MaxTRESPN=)"
      "\n"
      R"(    MaxTRESMinsPJ=)"
      "\n"
      R"(    MinPrioThresh= )"
      "\n"
      R"(    MinTRESPJ=)"
      "\n"
      R"(    PreemptMode=OFF)"
      "\n"
      R"(    Priority=100)"
      "\n"
      R"(    Account Limits)"
      "\n"
      R"(      physics)"
      "\n"
      R"(        MaxJobsPA=N(4) MaxJobsAccruePA=N(8) MaxSubmitJobsPA=N(12))"
      "\n"
      R"(        MaxTRESPA=cpu=N(4),mem=N(256),energy=N(0),node=N(1),billing=N(4),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(        MaxTRESRunMinsPA=cpu=N(120),mem=N(7680),energy=N(0),node=N(120),billing=N(120),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(    User Limits)"
      "\n"
      R"(      root(0))"
      "\n"
      R"(        MaxJobsPU=N(4) MaxJobsAccruePU=N(8) MaxSubmitJobsPU=N(12))"
      "\n"
      R"(        MaxTRESPU=cpu=16(4),mem=N(256),energy=N(0),node=N(1),billing=N(4),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n"
      R"(        MaxTRESRunMinsPU=cpu=N(120),mem=N(7680),energy=N(0),node=N(120),billing=N(120),fs/disk=N(0),vmem=N(0),pages=N(0),gres/gpu=N(0),gres/gpumem=N(0),gres/gpuutil=N(0))"
      "\n");
}

TEST(AssocMgr, Words) {
  protocol::QueryAssocMgrRequest request;
  EXPECT_EQ(scontrol::read_assoc_mgr_words("Account=a,b users=ann flags=assoc,qos", request), "");
  EXPECT_EQ(request.accounts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.users, std::vector<std::string>{"ann"});
  EXPECT_TRUE(request.no_users);
  EXPECT_FALSE(request.no_associations);
  EXPECT_FALSE(request.no_qos);
  EXPECT_EQ(scontrol::read_assoc_mgr_words("whatever", request), "whatever");
  EXPECT_EQ(scontrol::read_assoc_mgr_words("colour=red", request), "colour=red");
}

}  // namespace
}  // namespace sluice::cli
