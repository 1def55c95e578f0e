// slurmctld -t and sluice check: everything at once, and the configurations of real sites.
#include "common/config_files/check.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/config_files/load.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

class Check : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  void put_key(const std::string& name,
               std::filesystem::perms mode = std::filesystem::perms(0600)) const {
    put(name, std::string(64, 'k'));
    std::filesystem::permissions(folder_ / name, mode);
  }
  [[nodiscard]] ConfigCheck check() const {
    return check_config((folder_ / "slurm.conf").string());
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  test::TempFolder folder_;
};

bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return line.find(part) != line.npos; });
}

TEST_F(Check, TellsAllErrorsOfAllFilesAtOnce) {
  put("slurm.conf",
      "ClusterName=demo\nKilWait=3\nKillWait=abc\nMCSPlugin=mcs/user\nNodeName=n1 Cpu=3\nNodeName=n2 NodeAddr=127.0.0.1\n"
      "PartitionName=a Nodes=n9\nPartitionName=b Nodes=n2\n");
  put("cgroup.conf", "ConstrainCores=perhaps\nNoSuchKey=1\n");
  put("gres.conf", "Name=gpu Count=x\n");
  const ConfigCheck found = check();
  for (const std::string& error :
       {path("slurm.conf") + ":2: unknown key \"KilWait\"; did you mean \"KillWait\"?",
        path("slurm.conf") + ":3: KillWait=\"abc\"", path("slurm.conf") + ":5: unknown key \"Cpu\"",
        path("slurm.conf") + ": SlurmctldHost is not set",
        path("slurm.conf") + ":7: partition \"a\": unknown node \"n9\"",
        path("cgroup.conf") + ":1: ConstrainCores=\"perhaps\"",
        path("cgroup.conf") + ":2: unknown key \"NoSuchKey\"",
        path("gres.conf") + ":1: Count=\"x\"", path("slurm.conf") + ":4: MCSPlugin is set, but"}) {
    EXPECT_TRUE(any_has(found.errors, error)) << error << "\n" << check_text(found);
  }
  EXPECT_EQ(found.errors.size(), 9U) << check_text(found);
  EXPECT_TRUE(check_text(found).ends_with(path("slurm.conf") + ": 9 errors, 3 warnings\n"))
      << check_text(found);
}

TEST_F(Check, TellsAllErrorsOfALineAndOfWhatIsIncluded) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nInclude no-such.conf\nInclude more.conf\nKillWait=x WaitTime=y\n"
      "NodeName=n1 NodeAddr=127.0.0.1 CPUs=x State=GONE\nPartitionName=a Nodes=n1\nTopologyPlugin=topology/tree\nNamespaceType=namespace/linux\n");
  put("more.conf", "ReturnToService=7 BadKey=1\n");
  put("gres.conf", "Name=gpu Count=x Flags=y\nName=gpu Nothing=1\n");
  put("topology.conf", "SwitchName=s1 Nodes=n[ Speed=3\nSwitchName=s2\n");
  put("namespace.yaml", "defaults:\n");
  const ConfigCheck found = check();
  const std::string conf = path("slurm.conf");
  for (const std::string& error :
       {conf + ":3: ", path("more.conf") + ":1: ReturnToService=\"7\"",
        path("more.conf") + ":1: unknown key \"BadKey\"", conf + ":5: KillWait=\"x\"",
        conf + ":5: WaitTime=\"y\"", conf + ":6: CPUs=\"x\"", conf + ":6: State=\"GONE\"",
        path("gres.conf") + ":1: Count=\"x\"", path("gres.conf") + ":1: Flags=\"y\"",
        path("gres.conf") + ":2: unknown key \"Nothing\"",
        path("topology.conf") + ":1: unknown key \"Speed\"",
        path("topology.conf") + ":2: a switch has",
        std::string("namespace.yaml: it is not read here")}) {
    EXPECT_TRUE(any_has(found.errors, error)) << error << "\n" << check_text(found);
  }
  EXPECT_FALSE(any_has(found.errors, "unknown node")) << check_text(found);
}

TEST_F(Check, WarnsOfWhatThisHostLacks) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nSlurmctldPort=6817\nAcctGatherNodeFreq=30\n"
      "Prolog=/no/such/prolog\nEpilog=" +
          path("epilog") +
          "\nTaskProlog=relative\nResumeProgram=/bin/true\nMpiDefault=foo\n"
          "PriorityWeightTRES=CPU=1000,Foo=5,GRES/gpu=2\n"
          "NodeName=n1 NodeAddr=127.0.0.1 Port=7001\nNodeName=n2 NodeAddr=127.0.0.1 Port=7001\n"
          "NodeName=n3 NodeAddr=127.0.0.1 Port=6817\nNodeName=n4 NodeAddr=no-such-host.invalid\nNodeName=n5 NodeAddr=later.invalid State=CLOUD\n"
          "PartitionName=p Nodes=ALL AllowGroups=no-such-group\n");
  put("epilog", "#!/bin/sh\n");
  const ConfigCheck found = check();
  EXPECT_EQ(found.errors, std::vector<std::string>{});
  for (const std::string& warning :
       {std::string("keys without effect: accounting: AcctGatherNodeFreq"),
        std::string("Prolog=/no/such/prolog is not there"),
        "Epilog=" + path("epilog") + " cannot be run",
        std::string("TaskProlog=relative is no absolute path"),
        std::string("nodes n1 and n2 have the same address 127.0.0.1 and port 7001"),
        std::string("SlurmctldPort=6817 is also the port of node n3"),
        std::string("NodeName=n4: the address cannot be resolved here"),
        std::string("MpiDefault=foo is no kind of MPI"),
        std::string("ResumeProgram is set and SuspendProgram is not"),
        std::string("PriorityWeightTRES: there is no TRES \"foo\""),
        std::string("AllowGroups names \"no-such-group\"")}) {
    EXPECT_TRUE(any_has(found.warnings, warning)) << warning << "\n" << check_text(found);
  }
  EXPECT_EQ(found.warnings.size(), 11U) << check_text(found);
  const std::vector<std::string> logged = host_warnings(found.config);
  EXPECT_TRUE(any_has(logged, "MpiDefault=foo is no kind of MPI"));
  EXPECT_FALSE(any_has(logged, "Prolog=")) << "the controller logs programs by themselves";
  EXPECT_FALSE(any_has(logged, "cannot be resolved")) << "name services may be slow";
  EXPECT_FALSE(any_has(logged, "AllowGroups"));
  EXPECT_EQ(logged.size(), 5U);
}

TEST_F(Check, AnEmptyFileIsNamed) {
  put("slurm.conf", "# nothing\n");
  EXPECT_EQ(check().errors,
            std::vector{path("slurm.conf") + ": there is nothing in it: ClusterName is not set"});
}

// The bug: a file that was cut off before its nodes was taken, and every running job ended.
TEST_F(Check, AFileWithoutNodesIsAnError) {
  const std::string begin = "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\n";
  put("slurm.conf", begin);
  const std::vector<std::string> errors = check().errors;
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors.front().starts_with(path("slurm.conf") + ": it has no NodeName line"));
  put("slurm.conf", begin + "MaxNodeCount=10\n");
  EXPECT_TRUE(check().errors.empty());
}

// The start fails with either of them.
TEST_F(Check, AnUnknownSlurmUserAndANulByteAreErrors) {
  const std::string plain =
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\n";
  put("slurm.conf", plain + "SlurmUser=nobody-of-that-name\n");
  EXPECT_EQ(
      check().errors,
      std::vector{
          path("slurm.conf") +
          ": SlurmUser=\"nobody-of-that-name\" is not valid; allowed: a user of this machine"});
  put("slurm.conf", plain + std::string("KillWait=3\0 0\n", 14));
  EXPECT_EQ(check().errors,
            std::vector{path("slurm.conf") + ":4: there is a NUL byte, which no text has"});
}

// Nothing else would tell: the nodes would be put down, or run jobs across switches that do not
// connect them.
TEST_F(Check, WarnsOfNamesThatNothingHas) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\nNodeName=n2 NodeAddr=127.0.0.1 Port=7000\nPartitionName=a Nodes=n1\n"
      "SuspendExcNodes=n1,nosuch[1-2]:1\nSuspendExcParts=a,nopart\nTopologyPlugin=topology/tree\nGresTypes=gpu\nAuthType=auth/slurm\n"
      "JobCompType=jobcomp/filetxt\nJobCompLoc=/nosuch/jobs\n");
  put("gres.conf", "NodeName=nx,n1 Name=gpu Count=1\n");
  put_key("slurm.key", std::filesystem::perms(0644));
  const ConfigCheck none = check();
  EXPECT_TRUE(any_has(none.warnings, "topology.conf is not there, or has no switch"))
      << check_text(none);
  put("topology.conf", "SwitchName=s1 Nodes=n1\n");
  const ConfigCheck found = check();
  EXPECT_TRUE(found.errors.empty()) << check_text(found);
  for (const std::string warning :
       {"SuspendExcNodes names nosuch[1-2], which is not configured",
        "SuspendExcParts names nopart, which is not configured", "topology.conf: no switch has n2",
        "gres.conf: Name=gpu names nx, which is not configured",
        "slurm.key has mode 0644, and daemons take it only",
        "JobCompLoc=/nosuch/jobs: the folder is not there"}) {
    EXPECT_TRUE(any_has(found.warnings, warning)) << warning << "\n" << check_text(found);
  }
}

TEST_F(Check, AGoodConfigurationHasNothingToSay) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\nPartitionName=p Nodes=ALL\n");
  EXPECT_EQ(check_text(check()), path("slurm.conf") + ": 0 errors, 0 warnings\n");
}

TEST_F(Check, WarnsOfKeysAndFilesThatAgentsWouldShare) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nAuthType=auth/slurm\nAuthAltTypes=auth/jwt\nStateSaveLocation=" +
          path("state") +
          "\nSlurmdSpoolDir=/spool/%n\nNodeName=n[1-3] NodeAddr=127.0.0.1 NodeHostname=vm Port=[7001-7003]\nNodeName=m NodeAddr=127.0.0.2\nPartitionName=p Nodes=ALL\n");
  for (
      const std::string& warning :
      {"AuthType=auth/slurm: the key " + path("slurm.key") + " is not there",
       "AuthAltTypes=auth/jwt: the key " + path("state") + "/jwt_hs256.key is not there",
       std::string(
           "nodes n[1-3] are on host vm, and SlurmdPidFile=/var/run/slurmd.pid has no %n: one agent alone can run there")}) {
    EXPECT_TRUE(any_has(check().warnings, warning)) << warning << "\n" << check_text(check());
  }
  EXPECT_EQ(check().warnings.size(), 3U) << check_text(check());
  put_key("slurm.key");
  std::filesystem::create_directory(folder_ / "state");
  put_key("state/jwt_hs256.key");
  EXPECT_EQ(check().warnings.size(), 1U) << check_text(check());
}

TEST_F(Check, KeysThatStopTheStartAreOnLines) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\nInclude more.conf\n");
  put("more.conf", "\nPartitionName=p Nodes=ALL allowqos=good\nprivatedata=jobs,users\n");
  for (const char* error :
       {":2: PartitionName.AllowQos is set, but", ":3: PrivateData=users is set"})
    EXPECT_TRUE(any_has(check().errors, path("more.conf") + error)) << check_text(check());
}

TEST_F(Check, WarnsWhereThereIsNoPartition) {
  put("slurm.conf",
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\n");
  EXPECT_EQ(check().warnings,
            std::vector<std::string>{
                path("slurm.conf") +
                ": it has no partition: jobs can be submitted only to those that scontrol makes"});
}

TEST_F(Check, RequiredPluginsOfSpankStopTheStart) {
  const std::string plain =
      "ClusterName=demo\nSlurmctldHost=vm(127.0.0.1)\nNodeName=n1 NodeAddr=127.0.0.1\n";
  put("slurm.conf", plain);
  put("plugstack.conf", "# SPANK\noptional private-tmp.so\ninclude plugstack.d/*\n");
  EXPECT_EQ(check().errors, std::vector<std::string>{});
  EXPECT_TRUE(any_has(check().warnings, "plugins: PlugStackConfig"));
  std::filesystem::create_directory(folder_ / "plugstack.d");
  put("plugstack.d/one.conf", "required\t/usr/lib/slurm/x11.so  arg\n");
  EXPECT_TRUE(any_has(check().errors, "PlugStackConfig=required is set, but SPANK"))
      << check_text(check());
  put("slurm.conf", plain + "SluiceParameters=accept_ignored=PlugStackConfig\n");
  EXPECT_EQ(check().errors, std::vector<std::string>{}) << check_text(check());
}

TEST(Sites, FilesOfRealSitesAreReadAsTheyAre) {
  size_t count = 0;
  for (const auto& site : std::filesystem::directory_iterator("tests/data/sites")) {
    if (!site.is_directory()) continue;
    ++count;
    WholeConfig whole = load_whole_config((site.path() / "slurm.conf").string());
    std::erase_if(whole.errors, [](const std::string& error) {  // a site's user, not this machine's
      return error.find("allowed: a user of this machine") != std::string::npos;
    });
    EXPECT_EQ(whole.errors, std::vector<std::string>{}) << site.path();
    const Status ok = tables::check_ignored(whole.config);
    EXPECT_TRUE(ok) << site.path() << ": " << (ok ? "" : ok.error().text);
    EXPECT_FALSE(whole.config.nodes.empty()) << site.path();
    EXPECT_FALSE(whole.config.partitions.empty()) << site.path();
  }
  EXPECT_EQ(count, 6U);
}

}  // namespace
}  // namespace sluice
