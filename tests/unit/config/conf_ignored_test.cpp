// What a configuration asks for and nothing comes of.
#include "common/config/keys/conf_ignored.hpp"

#include <gtest/gtest.h>

#include "common/config/keys/conf_keys.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

std::string refusal_of(const std::string& lines) {
  const Status ok = check_ignored(config_of(lines));
  return ok ? "" : ok.error().text;
}

TEST(ConfIgnored, WhatWeakensSecurityOrEnforcementStopsTheStart) {
  const std::pair<const char*, const char*> cases[] = {
      {"AccountingStorageEnforce=limits,qos", "AccountingStorageEnforce"},
      {"AuthAltTypes=auth/none", "AuthAltTypes"},
      {"CertmgrType=certmgr/script", "CertmgrType"},
      {"CliFilterPlugins=cli_filter/lua", "CliFilterPlugins"},
      {"JobSubmitPlugins=all_partitions,throttle", "JobSubmitPlugins"},
      {"JobSubmitPlugins=job_submit/throttle", "JobSubmitPlugins"},
      {"JobSubmitPlugins=site_policy", "JobSubmitPlugins"},
      {"JobSubmitPlugins=all_partitions,defaults", "JobSubmitPlugins"},
      {"MCSPlugin=mcs/user", "MCSPlugin"},
      {"MCSPlugin=user", "MCSPlugin"},
      {"PrivateData=jobs,usage", "PrivateData"},
      {"PrivateData=all", "PrivateData"},
      {"AccountingStorageEnforce=1", "AccountingStorageEnforce"},
      {"SlurmctldParameters=disable_triggers", "SlurmctldParameters"},
      {"PartitionName=p AllowAccounts=good", "AllowAccounts"},
      {"PartitionName=p AllowQos=high", "AllowQos"},
      {"PartitionName=p DenyAccounts=bad", "DenyAccounts"},
      {"PartitionName=p DenyQos=low", "DenyQos"},
      {"PartitionName=p QOS=limits", "QOS"},
  };
  for (const auto& [line, key] : cases) {
    const std::string refusal = refusal_of(std::string(line) + "\n");
    EXPECT_NE(refusal.find(std::string("SluiceParameters=accept_ignored=") + key),
              std::string::npos)
        << line << ": " << refusal;
    EXPECT_EQ(refusal_of(std::string(line) + "\nSluiceParameters=accept_ignored=" + key + "\n"), "")
        << line;
  }
}

TEST(ConfIgnored, WhatSaysNothingOrActsStopsNothing) {
  for (const char* line :
       {"AccountingStorageEnforce=none", "AuthAltTypes=auth/jwt",
        "JobSubmitPlugins=all_partitions,lua", "MCSPlugin=mcs/none", "MCSPlugin=none",
        "PrivateData=jobs,nodes", "PartitionName=p AllowAccounts=ALL AllowQos=ALL",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "SchedulerParameters=bf_continue,defer", "PriorityWeightQOS=1000"}) {
    EXPECT_EQ(refusal_of(std::string(line) + "\n"), "") << line;
  }
}

TEST(ConfIgnored, AllAreRefusedAtOnceAndAcceptedByAList) {
  const std::string lines =
      "MCSPlugin=mcs/user\nAccountingStorageEnforce=limits\nPartitionName=p AllowQos=high\n";
  const std::string refusal = refusal_of(lines);
  EXPECT_EQ(std::count(refusal.begin(), refusal.end(), '\n'), 2) << refusal;
  EXPECT_EQ(
      refusal_of(
          lines +
          "SluiceParameters=accept_ignored=MCSPlugin,accountingstorageenforce,PartitionName.AllowQos,log_format=json\n"),
      "");
  EXPECT_NE(refusal_of(lines + "SluiceParameters=accept_ignored=MCSPlugin,log_format=text\n")
                .find("AllowQos"),
            std::string::npos);
}

TEST(ConfIgnored, SluiceParametersKnowsItsOptions) {
  EXPECT_EQ(config_of("SluiceParameters=log_format=json,accept_ignored=MCSPlugin,PrivateData\n")
                .sluice_parameters.size(),
            3U);
  for (const char* bad :
       {"log_format=xml", "accept_ignored=NoSuchKey", "MCSPlugin", "accept=MCSPlugin",
        "soft_limit_qos", "soft_limit_qos=", "submit_advice=maybe", "submit_advice"}) {
    EXPECT_NE(error_of(std::string("SluiceParameters=") + bad + "\n"), "") << bad;
  }
  EXPECT_EQ(accepted_ignored(config_of("SluiceParameters=accept_ignored=MCSPlugin,PrivateData,"
                                       "soft_limit_qos=low,submit_advice=no\n")),
            (std::vector<std::string>{"MCSPlugin", "PrivateData"}));
}

TEST(ConfIgnored, SoftLimitsNeedLimitsAndPreemptionByQos) {
  const std::string key = "SluiceParameters=soft_limit_qos=low\n";
  EXPECT_EQ(ignored_summary(config_of(key)),
            "keys without effect: accounting: SluiceParameters=soft_limit_qos");
  const std::string limits =
      "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits\n";
  EXPECT_NE(error_of(key + limits).find("soft_limit_qos needs PreemptType=preempt/qos"),
            std::string::npos);
  const ClusterConfig good =
      config_of(key + limits + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n");
  EXPECT_EQ(ignored_summary(good), "");
}

TEST(ConfIgnored, ANameThatIsNoKeyIsNamed) {
  const std::string error = error_of("SluiceParameters=accept_ignored=MCSPlugin,Nope\n");
  EXPECT_NE(error.find("accept_ignored names \"Nope\", which is no key"), std::string::npos)
      << error;
  EXPECT_EQ(error.find("\"MCSPlugin\""), std::string::npos) << error;
}

// It was said to have no effect.
TEST(ConfIgnored, KeysOfAccountsActByName) {
  EXPECT_EQ(
      ignored_summary(config_of(
          "AccountingStorageExternalHost=h\nNodeName=n\nPartitionName=p Nodes=n AllowAccounts=a\n")),
      "keys without effect: accounting: AccountingStorageExternalHost; keys that act by the account or QOS that a user names, which nobody checks: "
      "PartitionName.AllowAccounts");
}

TEST(ConfIgnored, WithAccountingThatIsEnforcedTheyAct) {
  const std::string lines =
      "PartitionName=p AllowAccounts=good DenyAccounts=bad AllowQos=high DenyQos=low QOS=own\n"
      "AccountingStorageType=accounting_storage/slurmdbd\n";
  EXPECT_EQ(refusal_of(lines + "AccountingStorageEnforce=limits,qos\n"), "");
  EXPECT_EQ(refusal_of(lines + "AccountingStorageEnforce=limits,qos\nPrivateData=usage,users\n"),
            "");
  const std::string refusal = refusal_of(lines + "AccountingStorageEnforce=associations\n");
  EXPECT_EQ(refusal.find("Accounts"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("DenyQos"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("PartitionName.QOS"), std::string::npos) << refusal;
}

TEST(ConfIgnored, TheSummaryIsOneLineByClass) {
  EXPECT_EQ(ignored_summary(config_of("")), "");
  EXPECT_EQ(
      ignored_summary(config_of(
          "AccountingStorageExternalHost=h\nSchedulerParameters=bf_busy_nodes,bf_hetjob_immediate\nCliFilterParameters=x\n"
          "NodeName=n TRESWeights=x\n")),
      "keys without effect: accounting: AccountingStorageExternalHost, NodeName.TRESWeights; scheduling: SchedulerParameters=bf_busy_nodes, "
      "SchedulerParameters=bf_hetjob_immediate; plugins: CliFilterParameters");
}

TEST(ConfIgnored, EveryKeyWithoutEffectHasAClass) {
  const auto check = [](const std::string& section, const auto& keys) {
    for (const auto& row : keys) {
      if (row.effect != ConfEffect::kNotYet || row.kind == ConfKind::kRuntime) continue;
      EXPECT_NE(ignored_class(section + std::string(row.name)), IgnoredClass::kOther)
          << section << row.name;
    }
  };
  check("", global_keys());
  check("NodeName.", node_keys());
  check("PartitionName.", partition_keys());
  check("cgroup.conf: ", cgroup_keys());
  check("gres.conf.", gres_keys());
  check("mpi.conf: ", mpi_keys());
}

}  // namespace
}  // namespace sluice::tables
