// The step daemon as a process, over its protocol.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
  EXPECT_TRUE(spool.scan()->empty());
}

// The folder was the user's: a script filled the node's spool, which drained the node.
TEST(Stepd, TheScriptIsTheUsersAndItsFolderIsNot) {
  StepdDriver driver;
  driver.job.std_out = "out";
  driver.launch.script = "#!/bin/sh\nstat -c '%a' $0 ${0%/*}\n";
  driver.run();
  EXPECT_EQ(WEXITSTATUS(driver.ended().exit_status), 0);
  EXPECT_EQ(driver.read("out"), "500\n711\n");
  EXPECT_FALSE(std::filesystem::exists(driver.folder + "/job00005"));
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
  EXPECT_TRUE(report.drain_node) << "the node's";
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

// The bug: an srun of a batch script gets TERM with its job, asked for KILL, and its tasks could
// save nothing.
TEST(Stepd, TasksThatEndHaveKillWaitWhateverTheirSrunWants) {
  StepdDriver driver;
  driver.start.kill_wait = std::chrono::seconds(60);
  // whatever became of a sleep
  driver.make_step(
      1,
      {"sh", "-c",
       "trap 'echo got' TERM; trap 'echo again' USR1; echo up; while [ ! -e go ]; do sleep 0.01; done; exit 0"});
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  ASSERT_TRUE(srun.wait_for(FrameType::kStdout));
  agent.send(FrameType::kAgentTerminate, wire::encode(protocol::TerminateStepRequest{}));
  ASSERT_TRUE(srun.wait_for(FrameType::kStdout)) << "got";
  srun.send(FrameType::kSignalTasks, wire::encode(protocol::SignalTasks{SIGKILL}));
  srun.send(FrameType::kSignalTasks, wire::encode(protocol::SignalTasks{SIGUSR1}));
  ASSERT_TRUE(srun.wait_for(FrameType::kStdout)) << "again";
  driver.write("go", "");
  EXPECT_EQ(driver.ended().exit_status, 0);
}

TEST(Stepd, TasksThatEndHaveKillWaitWithoutTheirSrun) {
  StepdDriver driver;
  driver.start.kill_wait = std::chrono::seconds(60);
  driver.make_step(1, {"sh", "-c", "trap '' TERM; echo up; read x; sleep 0.1; echo saved > mark"});
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  ASSERT_TRUE(srun.wait_for(FrameType::kStdout));
  protocol::TerminateStepRequest request;
  request.message = "CANCELLED AT 2026-11-21T02:38:22";
  agent.send(FrameType::kAgentTerminate, wire::encode(request));
  ASSERT_TRUE(srun.wait_for(FrameType::kMessage));
  srun.close();
  EXPECT_EQ(driver.ended().exit_status, 0);
  EXPECT_EQ(driver.read("mark"), "saved\n");
}

// The bug: two seconds after the script's end the rest was killed, an srun among it.
TEST(Stepd, WhatAScriptLeavesBehindHasKillWait) {
  StepdDriver driver;
  driver.start.kill_wait = std::chrono::seconds(60);
  driver.job.std_out = "out";
  driver.launch.script =
      "#!/bin/sh\n(trap 'sleep 2.5; echo saved; exit' TERM; echo > up; while :; do sleep 0.05; done) &\nwait\n";
  FramePeer& agent = driver.run();
  while (!std::filesystem::exists(driver.folder + "/up"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  agent.send(FrameType::kAgentTerminate, wire::encode(protocol::TerminateStepRequest{}));
  EXPECT_EQ(WTERMSIG(driver.ended().exit_status), SIGTERM);
  EXPECT_TRUE(has(driver.read("out"), "saved\n")) << driver.read("out");
}

// TERM is told as the end that it may be, to the output alone; the end itself is told to srun then,
// without a word.
TEST(Stepd, TellsOfATermOnce) {
  StepdDriver driver;
  driver.make_step(
      1, {"sh", "-c", "trap 'echo got' TERM USR1; echo up; while :; do sleep 0.01; done"});
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  ASSERT_TRUE(srun.wait_for(FrameType::kStdout));
  protocol::SignalStepRequest request;
  for (const uint32_t signal : {SIGUSR1, SIGTERM, SIGTERM}) {
    request.signal = signal;
    agent.send(FrameType::kAgentSignal, wire::encode(request));
    if (signal == SIGUSR1) { ASSERT_TRUE(srun.wait_for(FrameType::kStdout)); }
  }
  protocol::TerminateStepRequest end;
  end.at_once = true;
  end.message = "CANCELLED AT 2026-11-21T02:38:22";
  agent.send(FrameType::kAgentTerminate, wire::encode(end));
  bool told = false;
  std::string errors;
  while (const auto frame = srun.next()) {
    if (frame->type == FrameType::kMessage) told = told || frame->body.empty();
    if (frame->type == FrameType::kStderr) errors += frame->body;
    if (frame->type == FrameType::kNodeDone) break;
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(has(errors, "slurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT ")) << errors;
  EXPECT_EQ(errors.find("CANCELLED"), errors.rfind("CANCELLED")) << errors;
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

TEST(Stepd, DoesNotBeginWhenItsAgentIsGoneBefore) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\ntouch ran\n";
  driver.run_orphaned();
  EXPECT_EQ(driver.wait_exit(), protocol::kStepdBadStart);
  EXPECT_TRUE(StepSpool(driver.folder).scan().value().empty()) << "the next agent may begin it";
}

TEST(Stepd, OutlivesItsAgentAndIsFoundAgain) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\nexit 3\n";
  FramePeer& agent = driver.run();
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentReady));
  agent.close();
  const StepSpool spool(driver.folder);
  const auto keys = spool.scan().value();
  ASSERT_EQ(keys.size(), 1U);
  const auto fd = spool.connect(keys[0]);
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
  driver.step.multi_prog = "# comment\n0 echo first %t\n1-2 echo task:%t offset:%o '%t'\n";
  driver.step.std_out = "out-%n.txt";
  driver.step.label = true;
  driver.run();
  driver.srun();
  driver.collect();
  driver.ended();
  std::string lines = driver.read("out-0.txt");
  for (const char* line : {"0: first 0\n", "1: task:1 offset:0 %t\n", "2: task:2 offset:1 %t\n"}) {
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

// The bug: one that had only given up waiting for streams was said to have ended the step, and its
// job was cancelled.
TEST(Stepd, SaysWhetherItEndsBecauseItsSrunDid) {
  for (const bool before : {true, false}) {
    StepdDriver driver;
    driver.write("epilog.sh", "#!/bin/sh\nexec sleep 1000\n", 0755);
    driver.make_step(1, {"sh", "-c", before ? "echo up; exec sleep 1000" : "exit 3"});
    driver.step.task_epilog = driver.folder + "/epilog.sh";
    driver.run();
    FramePeer& srun = driver.srun();
    ASSERT_TRUE(srun.wait_for(before ? FrameType::kStdout : FrameType::kExited));
    srun.close();
    const auto report = driver.ended();
    EXPECT_EQ(report.srun_ended, before);
    EXPECT_EQ(report.exit_status, before ? SIGKILL : 3 << 8);
  }
}

// The job's CPUs may be another's meanwhile.
TEST(Stepd, TasksThatWaitForTheirSrunDoNotBeginWhileTheJobIsSuspended) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "echo ran"});
  driver.step.waits_for_srun = true;
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  const auto is_heard = [&] {
    agent.send(FrameType::kAgentListPids, {});
    return agent.wait_for(FrameType::kAgentPids).has_value();
  };
  protocol::SignalStepRequest request;
  request.signal = SIGSTOP;
  agent.send(FrameType::kAgentSignal, wire::encode(request));
  ASSERT_TRUE(is_heard());
  srun.send(FrameType::kBegin, {});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_heard());  // it has come to srun's word, too
  pollfd readable{srun.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 0) << "nothing begins";
  request.signal = SIGCONT;
  agent.send(FrameType::kAgentSignal, wire::encode(request));
  EXPECT_TRUE(srun.wait_for(FrameType::kStdout));
  EXPECT_EQ(driver.ended().exit_status, 0);
}

// A debugger takes them from there.
TEST(Stepd, TasksStopInTheirProgramsWhereTheirSrunSaysSo) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "echo ran"});
  driver.step.waits_for_srun = true;
  driver.step.task_prolog = driver.folder + "/prolog.sh";  // what it starts is not stopped
  driver.write("prolog.sh", "#!/bin/sh\necho print before\n", 0755);
  driver.run();
  FramePeer& srun = driver.srun();
  srun.send(FrameType::kBegin, wire::encode(protocol::BeginTasks{true}));
  const auto started = srun.wait_for(FrameType::kStarted);
  ASSERT_TRUE(started);
  const auto tasks = wire::decode<protocol::TasksStarted>(started->body);
  ASSERT_TRUE(tasks && tasks->pids.size() == 1);
  const std::string stat = "/proc/" + std::to_string(tasks->pids[0]) + "/stat";
  const auto is_stopped = [&] {
    std::ifstream in(stat);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return text.find("(sh) T ") != std::string::npos;
  };
  for (int i = 0; i < 2000 && !is_stopped(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(is_stopped());
  ::kill(static_cast<pid_t>(tasks->pids[0]), SIGCONT);
  const auto said = driver.collect();
  EXPECT_EQ(said.out.at(0), "before\nran\n");
  EXPECT_EQ(driver.ended().exit_status, 0);
}

// The daemon looked the name up itself, which can take minutes: it heard of no order meanwhile.
TEST(Stepd, AListenerIsNamedByItsNumber) {
  StepdDriver driver;
  driver.make_step(1, {"sh", "-c", "echo x; echo done > mark"});
  driver.step.io.host = "localhost";
  driver.run();
  EXPECT_EQ(driver.ended().exit_status, 0);
  EXPECT_EQ(driver.read("mark"), "done\n");
}

// It was lost with an agent that ended before the controller had it: the step counted as killed.
TEST(Stepd, AReportThatCannotBeWrittenIsToldAgainUntilItIs) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\nexit 4\n";
  const std::string in_the_way = driver.folder + "/steps/5.4294967291.0.end.new";
  std::filesystem::create_directory(in_the_way);
  FramePeer& agent = driver.run();
  const auto report = driver.ended();
  EXPECT_EQ(WEXITSTATUS(report.exit_status), 4);
  agent.close();
  const StepSpool spool(driver.folder);
  const auto fd = spool.connect(report.key);
  ASSERT_TRUE(fd) << fd.error().text;
  agent = FramePeer(*fd);
  EXPECT_EQ(driver.ended().exit_status, report.exit_status);
  std::filesystem::remove(in_the_way);
  EXPECT_EQ(driver.wait_exit(), 0);
  ASSERT_TRUE(spool.read_end(report.key));
  EXPECT_EQ(spool.read_end(report.key)->exit_status, report.exit_status);
}

// It took no notice, and tried on for ever.
TEST(Stepd, WithoutRoomForItsReportItEndsOnTerm) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\nexit 4\n";
  std::filesystem::create_directory(driver.folder + "/steps/5.4294967291.0.end.new");
  driver.run();
  const auto report = driver.ended();
  const StepSpool spool(driver.folder);
  ASSERT_EQ(::kill(static_cast<pid_t>(spool.record_of(report.key).daemon_pid), SIGTERM), 0);
  EXPECT_EQ(driver.wait_exit(), 0);
  EXPECT_FALSE(spool.read_end(report.key));
}

TEST(Stepd, AReportThatNobodyNeedsIsNotWritten) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\n";
  const std::string in_the_way = driver.folder + "/steps/5.4294967291.0.end.new";
  std::filesystem::create_directory(in_the_way);
  driver.run();
  const auto report = driver.ended();
  StepSpool(driver.folder).remove(report.key);  // the controller has it
  EXPECT_EQ(driver.wait_exit(), 0);
  EXPECT_FALSE(StepSpool(driver.folder).read_end(report.key));
}

// It ran, and was taken for lost and killed when its agent was started again.
TEST(Stepd, AStepThatNoAgentCouldFindDoesNotBegin) {
  StepdDriver driver;
  driver.launch.script = "#!/bin/sh\ntouch ran\n";
  std::filesystem::create_directories(driver.folder + "/steps/5.4294967291.0.sock/in-the-way");
  driver.run();
  const auto report = driver.ended();
  EXPECT_TRUE(has(report.failure, "cannot listen at")) << report.failure;
  EXPECT_FALSE(report.users_error);
  EXPECT_EQ(driver.wait_exit(), 0);
  EXPECT_FALSE(std::filesystem::exists(driver.folder + "/ran"));
}

// The daemon waited in open() for ever and heard of no order: the job could not be ended, and its
// node was drained.
TEST(Stepd, AFifoThatNobodyReadsFailsTheLaunch) {
  StepdDriver driver;
  driver.job.std_out = "fifo";
  driver.launch.script = "#!/bin/sh\n";
  ASSERT_EQ(::mkfifo((driver.folder + "/fifo").c_str(), 0600), 0);
  driver.run();
  const auto report = driver.ended();
  EXPECT_TRUE(has(report.failure, "nobody opens its other end")) << report.failure;
  EXPECT_TRUE(report.users_error);
}

// A FIFO for a step's labelled output, and the end of it that reads.
struct OutputFifo {
  explicit OutputFifo(StepdDriver& driver) {
    const std::string path = driver.folder + "/fifo-0";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    driver.step.std_out = "fifo-%n";
    driver.step.label = true;
  }
  ~OutputFifo() { ::close(fd); }
  OutputFifo(const OutputFifo&) = delete;
  OutputFifo& operator=(const OutputFifo&) = delete;
  void wait_half_full() const {
    for (int bytes = 0; bytes < 32768; ::ioctl(fd, FIONREAD, &bytes))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // All that comes until the daemon is gone.
  [[nodiscard]] std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (;;) {
      pollfd ready{fd, POLLIN, 0};
      if (::poll(&ready, 1, 20000) != 1) return text + "(nothing more came)";
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) return text;
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  int fd = -1;
};

// The daemon waited in write() for the FIFO's reader and heard of no order: the job could not be
// ended.
TEST(Stepd, AFifoWhoseReaderStallsKeepsNoOrderWaiting) {
  StepdDriver driver;
  driver.make_step(1, {"yes"});
  const OutputFifo fifo(driver);
  FramePeer& agent = driver.run();
  driver.srun();
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentReady));
  fifo.wait_half_full();
  agent.send(FrameType::kAgentListPids, {});
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentPids));
  agent.send(FrameType::kAgentTerminate, wire::encode(protocol::TerminateStepRequest{}));
  EXPECT_EQ(WTERMSIG(driver.ended().exit_status), SIGTERM);
  EXPECT_EQ(driver.wait_exit(), 0);
}

TEST(Stepd, AFifoWithASlowReaderGetsItAll) {
  constexpr int kLines = 100000;  // more than waits anywhere
  StepdDriver driver;
  driver.make_step(1, {"seq", std::to_string(kLines)});
  const OutputFifo fifo(driver);
  driver.run();
  driver.srun();
  fifo.wait_half_full();
  std::string expected;
  for (int i = 1; i <= kLines; ++i) expected += "0: " + std::to_string(i) + "\n";
  EXPECT_TRUE(fifo.read_all() == expected);
  EXPECT_EQ(driver.ended().exit_status, 0);
}

// The daemon of a step stayed for ever when somebody had attached who said nothing.
TEST(Stepd, AWatcherThatNeverAcceptsIsDropped) {
  StepdDriver driver;
  driver.make_step(1, {"cat"});
  FramePeer& agent = driver.run();
  FramePeer& srun = driver.srun();
  ASSERT_TRUE(agent.wait_for(FrameType::kAgentReady));
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(silent, 4), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &length), 0);
  protocol::AttachRequest request;
  request.key = driver.launch.key;
  request.io = {"127.0.0.1", ntohs(address.sin_port), "key"};
  agent.send(FrameType::kAgentAttach, wire::encode(request));
  pollfd attached{silent, POLLIN, 0};
  ASSERT_EQ(::poll(&attached, 1, 20000), 1);
  srun.send(FrameType::kStdin, {});
  driver.collect();
  EXPECT_EQ(driver.ended().exit_status, 0);
  EXPECT_EQ(driver.wait_exit(), 0);
  ::close(silent);
}

}  // namespace
}  // namespace sluice::testing
