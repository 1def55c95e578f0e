// The step daemon as a process, over its protocol.
#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/step/step_spool.hpp"
#include "common/wire/codec.hpp"
#include "system/stepd_driver.hpp"

namespace sluice::testing {
namespace {

using protocol::FrameType;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Stepd, RunsABatchScriptOnceAndReports) {
  StepdDriver driver;
  driver.job.std_out = "new/folder/out-%j";
  driver.job.arguments = {SharedText("one"), SharedText("two words")};
  driver.launch.script =
      "#!/bin/sh\necho $SLURM_JOB_ID $FROM \"$2\" $0\npwd\nls /proc/self/fd | wc -l\n"
      "echo oops >&2\nexit 7\n";
  driver.run();
  const auto report = driver.ended();
  EXPECT_EQ(WEXITSTATUS(report.exit_status), 7);
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(driver.wait_exit(), 0);
  // ls itself opens the folder: descriptors 0, 1, 2 and 3
  EXPECT_EQ(driver.read("new/folder/out-5"), "5 submit two words " + driver.folder +
                                                 "/job00005/slurm_script\n" + driver.folder +
                                                 "\n4\noops\n");
  EXPECT_FALSE(std::filesystem::exists(driver.folder + "/job00005"));
  const StepSpool spool(driver.folder);
  ASSERT_TRUE(spool.read_end(report.key));
  EXPECT_EQ(spool.read_end(report.key)->exit_status, report.exit_status);

  driver.run();  // the same step again
  EXPECT_EQ(driver.wait_exit(), protocol::kStepdAlreadyRun);
  spool.remove(report.key);
  EXPECT_TRUE(spool.scan().empty());
}

TEST(Stepd, ATaskStartsWithCleanSignals) {
  StepdDriver driver;
  driver.make_step(1, {"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"});
  ::signal(SIGUSR1, SIG_IGN);
  driver.run();
  ::signal(SIGUSR1, SIG_DFL);
  driver.srun();
  EXPECT_EQ(driver.collect().out.at(0), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Stepd, OutputThatCannotBeOpenedFailsTheLaunch) {
  StepdDriver driver;
  driver.job.std_out = "/proc/nope/out";
  driver.launch.script = "#!/bin/sh\n";
  driver.run();
  const auto report = driver.ended();
  EXPECT_EQ(report.exit_status, 53);
  EXPECT_TRUE(has(report.failure, "Could not open stdout file /proc/nope/out")) << report.failure;
  EXPECT_TRUE(report.users_error);
}

TEST(Stepd, AFolderThatItCannotUseIsNotTheUsersError) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\n";
  driver.write("job00005", "in the way of the script's folder", 0644);
  driver.run();
  const auto report = driver.ended();
  EXPECT_TRUE(has(report.failure, "slurm_script")) << report.failure;
  EXPECT_FALSE(report.users_error);
}

TEST(Stepd, StreamsEachTask) {
  StepdDriver driver;
  driver.make_step(3,
                   {"sh", "-c", "read x; echo $SLURM_PROCID:$x; echo e >&2; exit $SLURM_PROCID"});
  driver.run();
  FramePeer& srun = driver.srun();
  srun.send(FrameType::kStdin, "hello\n");
  const auto output = driver.collect();
  for (uint32_t task = 0; task < 3; ++task) {
    EXPECT_EQ(output.out.at(task), std::to_string(task) + ":hello\n");
    EXPECT_EQ(output.err.at(task), "e\n");
    EXPECT_EQ(WEXITSTATUS(output.exits.at(task)), static_cast<int>(task));
  }
  EXPECT_EQ(WEXITSTATUS(driver.ended().exit_status), 2);
}

TEST(Stepd, TellsOfProgramsAndFoldersThatAreMissing) {
  StepdDriver driver;
  driver.make_step(1, {"nosuchprog"});
  driver.step.work_dir = "/nonexistent";
  driver.run();
  driver.srun();
  const auto output = driver.collect();
  EXPECT_EQ(output.err.at(0),
            "slurmstepd: error: couldn't chdir to `/nonexistent': No such file or directory: going "
            "to /tmp instead\n"
            "slurmstepd: error: execve(): nosuchprog: No such file or directory\n");
  EXPECT_EQ(WEXITSTATUS(output.exits.at(0)), 2);
}

TEST(Stepd, ALargeStreamComesWholeToASlowReader) {
  StepdDriver driver;
  driver.make_step(1, {"head", "-c", "8000000", "/dev/zero"});
  driver.run();
  driver.srun();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // let it fill every buffer
  EXPECT_EQ(driver.collect().out.at(0).size(), 8000000U);
}

TEST(Stepd, TerminationReachesEverythingTheTasksStarted) {
  StepdDriver driver;
  driver.write("spin.sh",
               "#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\necho $!\nwhile :; do wait; done\n",
               0755);
  driver.make_step(1, {"./spin.sh"});
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  const auto first = srun.wait_for(FrameType::kStdout);
  ASSERT_TRUE(first);
  const pid_t grandchild = std::stoi(first->body);
  protocol::TerminateStepRequest request;
  request.message = "CANCELLED AT 2026-11-21T02:38:22";
  agent.send(FrameType::kAgentTerminate, wire::encode(request));
  const auto output = driver.collect();
  EXPECT_EQ(output.messages,
            "slurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-11-21T02:38:22 ***\n");
  EXPECT_EQ(WTERMSIG(output.exits.at(0)), SIGKILL);
  EXPECT_EQ(WTERMSIG(driver.ended().exit_status), SIGKILL);
  driver.wait_exit();
  EXPECT_EQ(::kill(grandchild, 0), -1);
}

TEST(Stepd, WhatTasksLeaveBehindDiesWithThem) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "setsid sleep 1000 & echo $!"});
  driver.run();
  driver.srun();
  const auto output = driver.collect();
  driver.ended();
  driver.wait_exit();
  EXPECT_EQ(::kill(std::stoi(output.out.at(0)), 0), -1);
}

TEST(Stepd, OutlivesItsAgentAndIsFoundAgain) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\nexit 3\n";
  FramePeer& agent = driver.run();
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentReady));
  agent.close();
  const StepSpool spool(driver.folder);
  const auto records = spool.scan();
  ASSERT_EQ(records.size(), 1U);
  const auto fd = spool.connect(records[0].key);
  ASSERT_TRUE(fd) << fd.error().text;
  agent = FramePeer(*fd);
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentReady));
  agent.send(FrameType::kAgentListPids, {});
  const auto frame = agent.wait_for(FrameType::kAgentPids);
  ASSERT_TRUE(frame);
  const auto pids = wire::decode<protocol::ListPidsReply>(frame->body).value();
  ASSERT_GE(pids.pids.size(), 1U);
  EXPECT_EQ(pids.pids[0].local_task, 0);
  driver.write("go", "");
  EXPECT_EQ(WEXITSTATUS(driver.ended().exit_status), 3);
  EXPECT_EQ(driver.wait_exit(), 0);
}

TEST(Stepd, PtyIsATerminalWithASize) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "tty >/dev/null && stty size; read x; echo got $x"});
  driver.step.pty = true;
  driver.step.pty_rows = 33;
  driver.step.pty_columns = 101;
  driver.run();
  driver.srun().send(FrameType::kStdin, "word\n");
  const auto output = driver.collect();
  EXPECT_TRUE(has(output.out.at(0), "33 101\r\n")) << output.out.at(0);
  EXPECT_TRUE(has(output.out.at(0), "got word\r\n")) << output.out.at(0);
}

TEST(Stepd, FilesByPatternLabelsAndMultiProg) {
  StepdDriver driver;
  driver.make_step(3, {});
  driver.step.multi_prog = "# comment\n0 echo first %t\n1-2 sh -c 'echo task:%t offset:%o'\n";
  driver.step.std_out = "out-%n.txt";
  driver.step.label = true;
  driver.run();
  driver.srun();
  driver.collect();
  driver.ended();
  std::string lines = driver.read("out-0.txt");
  for (const char* line : {"0: first 0\n", "1: task:1 offset:0\n", "2: task:2 offset:1\n"}) {
    EXPECT_TRUE(has(lines, line)) << lines;
  }
}

TEST(Stepd, TaskPrologSteersTheTask) {
  StepdDriver driver;
  driver.write("prolog.sh",
               "#!/bin/sh\necho export ADDED=a=b\necho unset FROM\necho print hi there\n", 0755);
  driver.write("epilog.sh", "#!/bin/sh\necho $SLURM_JOB_ID > epilog.out\n", 0755);
  driver.make_step(1, {"sh", "-c", "echo $ADDED [$FROM]"});
  driver.step.task_prolog = driver.folder + "/prolog.sh";
  driver.start.task_epilog = driver.folder + "/epilog.sh";
  driver.run();
  driver.srun();
  EXPECT_EQ(driver.collect().out.at(0), "hi there\na=b []\n");
  driver.ended();
  EXPECT_EQ(driver.read("epilog.out"), "5\n");
}

TEST(Stepd, SrunThatCannotBeReachedLosesTheOutputOnly) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "echo x; echo done > mark"});
  driver.step.io.port = 1;
  driver.run();
  EXPECT_EQ(driver.ended().exit_status, 0);
  EXPECT_EQ(driver.read("mark"), "done\n");
}

}  // namespace
}  // namespace sluice::testing
