// Which step daemons are this node's, and that nothing below one gets away.
#include "noded/steps/stray_daemons.hpp"

#include "noded/node/node_state.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::noded {
namespace {

using namespace std::string_literals;

const DaemonOwner kOwner{"n1", "/spool/n1", "/etc/slurm.conf", "cluster-7", ""};
const std::string kStatus = "Name:\tslurmstepd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n";

std::string environment(const std::string& cluster, const std::string& node = "n1",
                        const std::string& conf = "/etc/slurm.conf") {
  return "PATH=/bin\0SLURM_CONF="s + conf + "\0SLURMD_NODENAME="s + node + "\0"s +
         (cluster.empty() ? "" : std::string(kClusterOfDaemon) + "=" + cluster + "\0"s);
}

std::string command_line(const std::string& folder, const std::string& step = "178.batch") {
  return "slurmstepd: [" + step + "]\0"s + folder + "\0\0\0"s;
}

// The step of such a daemon, to `owner`.
std::string found(const std::string& command_line, const std::string& environment,
                  const DaemonOwner& owner = kOwner,
                  const std::string& program = "/usr/sbin/slurmstepd",
                  const std::string& status = kStatus, uint32_t uid = 0) {
  return step_of_daemon({command_line, environment, program, status}, owner, uid);
}

TEST(StrayDaemons, AreKnownByNodeAndCluster) {
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7")), "178.batch");
  EXPECT_EQ(found(command_line("/old/n1"), environment("cluster-7", "n1", "/old/conf")),
            "178.batch")
      << "wherever it writes";
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-8")), "");
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7", "n2")), "")
      << "another node of this host";
}

TEST(StrayDaemons, AreKnownByFolderOrConfigurationWhereTheClusterIsNot) {
  DaemonOwner lost = kOwner;
  lost.cluster_id.clear();
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7", "n1", "/other"), lost),
            "178.batch");
  EXPECT_EQ(found(command_line("/old/n1"), environment("cluster-7"), lost), "178.batch");
  EXPECT_EQ(found(command_line("/old/n1"), environment(""), lost), "178.batch")
      << "of an earlier version";
  EXPECT_EQ(found(command_line("/old/n1"), environment("cluster-7", "n1", "/other"), lost), "")
      << "another cluster on this host";
  EXPECT_EQ(found(command_line("/spool/n1"), environment("")), "178.batch");
}

TEST(StrayDaemons, ThoseOfThisVeryFolderAreNoneWhateverItTellsYet) {
  DaemonOwner owner = kOwner;
  owner.spool_id = "5f";
  const std::string spool = std::string(kSpoolOfDaemon) + "=";
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7") + spool + "5f" + '\0', owner),
            "");
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7") + spool + "6a" + '\0', owner),
            "178.batch")
      << "made anew";
  EXPECT_EQ(found(command_line("/spool/n1"), environment("cluster-7"), owner), "178.batch");
}

TEST(StrayDaemons, WhatUsersCanMakeUpDoesNotCount) {
  const std::string words = command_line("/spool/n1"), env = environment("cluster-7");
  EXPECT_EQ(found(words, env, kOwner, "/usr/bin/sleep"), "");
  EXPECT_EQ(found(words, env, kOwner, "/home/ann/slurmstepd", "Uid:\t5\t5\t5\t5\n"), "");
  EXPECT_EQ(found(words, env, kOwner, "/usr/sbin/slurmstepd", "Name:\tx\nUid:\t5\t0\t0\t0\n"), "")
      << "set-user-ID";
  EXPECT_EQ(found(words, env, kOwner, "/usr/sbin/slurmstepd", "Name:\tx\nUid:\t0\t5\t0\t5\n"),
            "178.batch")
      << "as the user for a moment";
  EXPECT_EQ(found(words, env, kOwner, "/opt/old/sluicestepd (deleted)"), "178.batch")
      << "replaced by a newer one";
  EXPECT_EQ(found(command_line("/spool/n1", "spare"), env), "");
  EXPECT_EQ(found("slurmstepd\0--run-when-told\0"s, env), "") << "a prolog";
}

TEST(StrayDaemons, NothingBelowOneGetsAway) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (::fork() == 0) {  // whose parent goes at once
      if (::fork() == 0) {
        ::setsid();
        (void)!::write(ready[1], "x", 1);
        for (;;) ::pause();
      }
      ::_exit(0);
    }
    for (;;) ::pause();
  }
  char byte = 0;
  ::close(ready[1]);
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(end_with_tasks(mark_of(daemon)), 1U);
  EXPECT_EQ(::read(ready[0], &byte, 1), 0) << "the task is gone, who held the other end";
  ::close(ready[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(daemon, &status, 0), daemon);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(end_with_tasks({static_cast<uint32_t>(::getpid()), 1}), 0U)
      << "its number is another's";
}

}  // namespace
}  // namespace sluice::noded
