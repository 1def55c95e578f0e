// The node agent as a process, with a controller played by the test.
#include "common/protocol/noded.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/clock.hpp"
#include "common/net/rpc_client.hpp"
#include "common/protocol/admin.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/step/frame.hpp"
#include "common/step/step_spool.hpp"
#include "common/wire/codec.hpp"
#include "fake_controller.hpp"

namespace sluice::testing {
namespace {

// A program of the site in the test's folder; its path.
std::string make_program(const FakeController& controller, const std::string& name,
                         const std::string& commands) {
  std::string path = controller.folder + "/" + name;
  std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

TEST(Noded, RegistersRunsABatchScriptAndReportsOnce) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }))
      << controller.read("log");
  EXPECT_EQ(controller.registrations[0].name, "n1");
  EXPECT_EQ(controller.registrations[0].hardware.cpus, 4U);
  const auto launch = controller.batch_launch(7, "#!/bin/sh\necho hello from $SLURMD_NODENAME\n");
  ASSERT_TRUE(controller.launch(launch));
  ASSERT_TRUE(controller.launch(launch));  // repeated: nothing runs twice
  ASSERT_TRUE(controller.wait([&] { return !controller.ended.empty(); }));
  EXPECT_EQ(controller.read("slurm-7.out"), "hello from n1\n");
  EXPECT_EQ(controller.ended[0].exit_status, 0);
  EXPECT_TRUE(controller.ended[0].node_clean);
  EXPECT_EQ(controller.ended[0].nodes, "n1");
  // a launch that comes late, when all files are gone, is refused
  while (!std::filesystem::is_empty(controller.folder + "/spool/steps")) ::usleep(5000);
  EXPECT_EQ(controller.launch(launch).error().code, ErrorCode::kAlreadyDone);
}

TEST(Noded, TerminatesAJobAndRunsPrologAndEpilog) {
  FakeController controller;
  for (const std::string which : {"prolog", "epilog"}) {
    make_program(controller, which,
                 "echo " + which + " $SLURM_JOB_ID $SLURM_SCRIPT_CONTEXT >> " + controller.folder +
                     "/scripts.out");
  }
  controller.start_agent(fmt::format("Prolog={0}/prolog\nEpilog={0}/epilog\n", controller.folder));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(
      controller.launch(controller.batch_launch(9, "#!/bin/sh\ntouch started\nexec sleep 1000\n")));
  while (!std::filesystem::exists(controller.folder + "/started")) ::usleep(10000);
  protocol::TerminateJobRequest request;
  request.job = 9;
  request.message = "CANCELLED DUE TO TIME LIMIT";
  ASSERT_TRUE(controller.send(request));
  ASSERT_TRUE(controller.wait([&] { return !controller.cleaned.empty(); }));
  EXPECT_EQ(WTERMSIG(controller.ended.at(0).exit_status), SIGTERM);
  EXPECT_EQ(controller.cleaned[0].epilog_status, 0);
  EXPECT_EQ(controller.read("scripts.out"), "prolog 9 prolog_slurmd\nepilog 9 epilog_slurmd\n");
  const std::string output = controller.read("slurm-9.out");
  EXPECT_TRUE(output.starts_with("slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 20")) << output;
  EXPECT_TRUE(output.ends_with(" DUE TO TIME LIMIT ***\n")) << output;
}

// Orders come again when their answer was lost.
TEST(Noded, RunsAPrologOnceForARepeatedOrder) {
  FakeController controller;
  const std::string path = controller.folder + "/prolog";
  std::ofstream(path) << fmt::format(
      "#!/bin/sh\necho $SLURM_JOB_ID >> {0}/prologs.out\nwhile [ ! -e {0}/go ]; do sleep 0.01; done\n",
      controller.folder);
  ::chmod(path.c_str(), 0755);
  controller.start_agent(fmt::format("Prolog={}\n", path));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  protocol::RunPrologRequest request;
  request.job = 11;
  request.job_spec = controller.batch_launch(11, {}).job_spec;
  request.partition = "debug";
  request.node_list = "n1";
  ASSERT_TRUE(controller.send(request));
  while (controller.read("prologs.out").empty()) ::usleep(5000);
  ASSERT_TRUE(controller.send(request));  // it runs
  std::ofstream(controller.folder + "/go").close();
  ASSERT_TRUE(controller.wait([&] { return controller.prologs.size() == 1; }));
  EXPECT_EQ(controller.prologs[0].status, 0);
  ASSERT_TRUE(controller.send(request));  // it has run: that is told again
  ASSERT_TRUE(controller.wait([&] { return controller.prologs.size() == 2; }));
  EXPECT_EQ(controller.prologs[1].job, 11U);
  EXPECT_EQ(controller.prologs[1].status, 0);
  EXPECT_EQ(controller.read("prologs.out"), "11\n");
}

TEST(Noded, RebootsOnceForARepeatedOrder) {
  FakeController controller;
  const std::string path =
      make_program(controller, "reboot", "echo reboot >> " + controller.folder + "/reboots.out");
  controller.start_agent(fmt::format("RebootProgram={}\n", path));
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 1; }));
  protocol::RebootNodeRequest request;
  request.issued = net::now();
  request.reason = "test";
  ASSERT_TRUE(controller.send(request));
  ASSERT_TRUE(controller.send(request));
  while (controller.read("reboots.out").empty()) ::usleep(5000);
  // the host takes its time, and the agent is started once more
  controller.stop_agent(SIGKILL);
  controller.start_agent(fmt::format("RebootProgram={}\n", path));
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }));
  ASSERT_TRUE(controller.send(request));
  request.issued = net::now();  // another order
  ASSERT_TRUE(controller.send(request));
  while (controller.read("reboots.out").size() < 2 * sizeof("reboot")) ::usleep(5000);
  EXPECT_EQ(controller.read("reboots.out"), "reboot\nreboot\n");
}

// The job's processes are not told of a restart; the reports about it have its number all the same.
TEST(Noded, LaterRunsOfCronJobsAreCleanedUnderTheirOwnNumber) {
  FakeController controller;
  const std::string path = make_program(controller, "epilog", "exit 0");
  controller.start_agent(fmt::format("Epilog={}\n", path));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  auto launch = controller.batch_launch(19, "#!/bin/sh\ntouch started\nexec sleep 1000\n");
  JobSpec spec = *launch.job_spec;
  spec.cron = "* * * * *";
  launch.job_spec = std::make_shared<const JobSpec>(spec);
  launch.key.restart = 3;
  ASSERT_TRUE(controller.launch(launch));
  while (!std::filesystem::exists(controller.folder + "/started")) ::usleep(10000);
  protocol::TerminateJobRequest request;
  request.job = 19;
  request.restart = 3;
  ASSERT_TRUE(controller.send(request));
  ASSERT_TRUE(controller.wait([&] { return !controller.cleaned.empty(); }));
  EXPECT_EQ(controller.cleaned[0].restart, 3U);
  EXPECT_EQ(controller.ended.size(), 1U) << "it was not clean before";
}

TEST(Noded, KilledAndStartedAgainItAdoptsItsStepsAndKeepsReports) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 1; }));
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(10, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\nexit 5\n")));
  ASSERT_TRUE(controller.launch(controller.batch_launch(11,
                                                        "#!/bin/sh\nwhile [ ! -e go1 ]; do "
                                                        "sleep 0.02; done\nexit 6\n")));
  const StepSpool spool(controller.folder + "/spool");
  while (spool.scan().value().size() < 2)  // those whose agent goes before they begin do not begin
    ::usleep(10000);
  controller.stop_agent(SIGKILL);
  std::ofstream(controller.folder + "/go1") << "";
  const std::string end = controller.folder + "/spool/steps/11.4294967291.0.end";
  while (!std::filesystem::exists(end)) ::usleep(10000);
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }));
  EXPECT_EQ(controller.registrations[1].cluster_id, controller.cluster_id);
  ASSERT_EQ(controller.registrations[1].running.size(), 1U);
  EXPECT_EQ(controller.registrations[1].running[0].id.job, 10U);
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[0].exit_status), 6);
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 2; }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[1].exit_status), 5);
}

TEST(Noded, AStepWhoseDaemonIsKilledEndsWithItsProcesses) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(16, "#!/bin/sh\necho $PPID $$ > pids\nexec sleep 1000\n")));
  int daemon = 0;
  int script = 0;
  while (script == 0) std::ifstream(controller.folder + "/pids") >> daemon >> script;
  std::filesystem::create_directories(controller.folder + "/spool/pmix.16.batch/of-a-task");
  ::kill(daemon, SIGKILL);
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_NE(controller.ended[0].failure, "");
  EXPECT_FALSE(std::filesystem::exists(controller.folder + "/spool/pmix.16.batch"))
      << "what mpi/pmix kept is left";
  // SIGKILL was sent; a busy machine takes a moment to end who gets it
  const auto is_running = [&] {
    std::ifstream stat(fmt::format("/proc/{}/stat", script));
    std::string line;
    std::getline(stat, line);
    return !line.empty() && line.find(") Z ") == std::string::npos;
  };
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (is_running() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(is_running());
  EXPECT_FALSE(std::filesystem::exists(controller.folder + "/spool/job00016"))
      << "the script's folder is left";
}

// A script that runs until there is a file "go"; its agent is killed.
void run_and_lose_agent(FakeController& controller, protocol::StepLaunch launch) {
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 1; }));
  launch.issued = net::now();  // after the agent's start
  ASSERT_TRUE(controller.launch(launch));
  while (!std::filesystem::exists(controller.folder + "/started")) ::usleep(10000);
  controller.stop_agent(SIGKILL);
}
constexpr const char* kUntilGo =
    "#!/bin/sh\ntouch started\nwhile [ ! -e go ]; do sleep 0.02; done\nexit 5\n";

// The agent said that it knew the step, and never heard of its end.
TEST(Noded, AStepThatItsDaemonClaimsAfterTheAgentHasLookedIsFound) {
  FakeController controller;
  const auto launch = controller.batch_launch(18, kUntilGo);
  ASSERT_NO_FATAL_FAILURE(run_and_lose_agent(controller, launch));
  const std::string key = controller.folder + "/spool/steps/18.4294967291.0.key";
  std::filesystem::rename(key, key + ".later");
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }));
  EXPECT_TRUE(controller.registrations[1].running.empty());
  std::filesystem::rename(key + ".later", key);
  ASSERT_TRUE(controller.launch(launch));
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[0].exit_status), 5);
  EXPECT_EQ(controller.ended[0].failure, "");
}

// A step whose daemon could not be connected to just then was taken for lost, and its processes
// were killed.
TEST(Noded, AStepIsNotLostAsLongAsItsDaemonLives) {
  FakeController controller;
  auto launch = controller.batch_launch(19, kUntilGo);
  launch.key.restart = 1;
  ASSERT_NO_FATAL_FAILURE(run_and_lose_agent(controller, launch));
  const std::string socket = controller.folder + "/spool/steps/19.4294967291.1.sock";
  std::filesystem::rename(socket, socket + ".later");
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }));
  ASSERT_EQ(controller.registrations[1].running.size(), 1U);
  EXPECT_TRUE(controller.registrations[1].ended.empty());
  std::filesystem::rename(socket + ".later", socket);
  // a signal for the run before that comes late is not for this one
  protocol::SignalStepRequest late;
  late.key = {{19, kBatchStep}, 0};
  late.signal = SIGKILL;
  const Status sent = controller.send(late);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kInvalidStepId);
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[0].exit_status), 5);
  EXPECT_EQ(controller.ended[0].failure, "");
}

// A daemon has made its key file and not written into it: the step counted as lost, and ran.
TEST(Noded, AStepIsNotLostWhileItIsClaimed) {
  FakeController controller;
  ASSERT_NO_FATAL_FAILURE(run_and_lose_agent(controller, controller.batch_launch(22, kUntilGo)));
  const std::string step = controller.folder + "/spool/steps/22.4294967291.0.";
  for (const char* ending : {"key", "sock"})
    std::filesystem::rename(step + ending, step + ending + ".later");
  std::ofstream(step + "key") << "";
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }));
  EXPECT_EQ(controller.registrations[1].running.size(), 1U);
  for (const char* ending : {"key", "sock"})
    std::filesystem::rename(step + ending + ".later", step + ending);
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[0].exit_status), 5);
  EXPECT_EQ(controller.ended[0].failure, "");
}

// The next frame within 20 s.
std::optional<Frame> next_frame(int fd, FrameReader& reader) {
  for (;;) {
    auto frame = reader.next();
    if (!frame) return std::nullopt;
    if (frame->has_value()) return **frame;
    pollfd ready{fd, POLLIN, 0};
    char buffer[4096];
    const ssize_t n = ::poll(&ready, 1, 20000) == 1 ? ::read(fd, buffer, sizeof buffer) : 0;
    if (n <= 0) return std::nullopt;
    reader.feed(std::string_view(buffer, static_cast<size_t>(n)));
  }
}

// The spool of an agent that has not been started.
StepSpool spool_before(const FakeController& controller) {
  std::filesystem::create_directory(controller.folder + "/spool");
  StepSpool spool(controller.folder + "/spool");
  EXPECT_TRUE(spool.prepare());
  return spool;
}

// Each user's question waited for a step that was at its beginning, for as long as that was.
TEST(Noded, QuestionsDoNotPileUpForAStepThatIsNotReady) {
  FakeController controller;
  const StepSpool spool = spool_before(controller);  // its daemon is this test
  protocol::StepRecord record;
  record.key = {{21, kBatchStep}, 0};
  record.daemon_pid = static_cast<uint32_t>(::getpid());
  ASSERT_TRUE(spool.claim(record).value());
  const int listening = spool.listen(record.key).value();
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_EQ(controller.registrations[0].running.size(), 1U);
  pollfd ready{listening, POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 20000), 1);
  const int agent = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(controller.agent->call<protocol::ListPidsReply>(
        protocol::ListPidsRequest{21, UINT32_MAX}, 10s));
  protocol::SignalStepRequest signal;
  signal.key = record.key;
  signal.signal = SIGUSR1;
  EXPECT_TRUE(controller.send(signal));
  std::string bytes;
  append_frame(bytes, protocol::FrameType::kAgentReady, kNoTask, {});
  ASSERT_EQ(::write(agent, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  FrameReader reader;
  for (const auto type : {protocol::FrameType::kAgentListPids, protocol::FrameType::kAgentSignal}) {
    const auto frame = next_frame(agent, reader);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->type, type);
  }
  controller.stop_agent(SIGTERM);
  ::close(agent);
  ::close(listening);
}

// They took 3 GB: of any length, and as many as came.
TEST(Noded, AttachesDoNotPileUpForAStepThatIsNotReady) {
  FakeController controller;
  const StepSpool spool = spool_before(controller);  // its daemon is this test
  protocol::StepRecord record;
  record.key = {{25, kBatchStep}, 0};
  record.daemon_pid = static_cast<uint32_t>(::getpid());
  ASSERT_TRUE(spool.claim(record).value());
  const int listening = spool.listen(record.key).value();
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  protocol::AttachRequest attach;
  attach.key = record.key;
  attach.io.host = std::string(1U << 20, 'h');
  Status sent = controller.send(attach);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kBadRequest);
  sent = {};
  uint32_t taken = 0;
  for (; sent && taken < 100; taken += sent ? 1 : 0) {
    attach.io.host = std::to_string(taken);
    sent = controller.send(attach);
  }
  EXPECT_EQ(taken, 16U);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kRetry);
  // so do a user's signals
  protocol::SignalStepRequest signal;
  signal.key = record.key;
  for (sent = {}; sent && signal.signal < 10000; ++signal.signal) sent = controller.send(signal);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kRetry);
  EXPECT_TRUE(controller.send(protocol::TerminateStepRequest{record.key, false, "end"}));
  controller.stop_agent(SIGTERM);
  ::close(listening);
}

// A script's report freed the node although another step of the job, which was found later, ran on.
TEST(Noded, AllStepsAreKnownBeforeTheReportOfOne) {
  FakeController controller;
  const StepSpool spool = spool_before(controller);  // the daemons are this test
  protocol::StepRecord record;
  record.daemon_pid = static_cast<uint32_t>(::getpid());
  std::vector<int> listening;
  for (uint32_t step = 0; step < 10; ++step) {
    // one that ran would be found before the script, perhaps
    record.key = {{24, step}, 0};
    ASSERT_TRUE(spool.claim(record).value());
    listening.push_back(spool.listen(record.key).value());
  }
  record.key = {{24, kBatchStep}, 0};
  ASSERT_TRUE(spool.claim(record).value());
  protocol::StepEnded report;
  report.key = record.key;
  report.nodes = "n1";
  ASSERT_TRUE(spool.write_end(report));
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_FALSE(controller.ended[0].node_clean);
  EXPECT_EQ(controller.registrations[0].running.size(), 10U);
  controller.stop_agent(SIGTERM);
  for (const int fd : listening) ::close(fd);
}

TEST(Noded, AnotherClustersControllerIsRefused) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(13, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n")));
  protocol::PingNodeRequest ping{"cluster-b", 1};
  const auto reply = controller.agent->call<protocol::PingNodeReply>(ping, 10s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kWrongCluster);
  auto foreign = controller.batch_launch(14, "#!/bin/sh\n");
  foreign.cluster_id = "cluster-b";
  EXPECT_EQ(controller.launch(foreign).error().code, ErrorCode::kWrongCluster);
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
}

// The bug: it went on with a job that was requeued, and so ran twice.
TEST(Noded, EndsWhatItRunsWhenItsClusterHasItNoMore) {
  FakeController controller;
  const std::string path = make_program(
      controller, "epilog", "echo epilog $SLURM_JOB_ID >> " + controller.folder + "/scripts.out");
  controller.start_agent(fmt::format("Epilog={}\n", path));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(controller.batch_launch(
      22, "#!/bin/sh\necho $$ > new && mv new started\nexec sleep 1000\n")));
  while (!std::filesystem::exists(controller.folder + "/started")) ::usleep(5000);
  const pid_t job = std::stoi(controller.read("started"));
  const auto logged = [&](const char* text) {
    return controller.read("log").find(text) != std::string::npos;
  };

  const std::string own = controller.cluster_id;
  controller.note([&] {
    controller.cluster_id = "cluster-b";  // an empty state folder knows no node at all
    controller.removed = true;
  });
  ASSERT_TRUE(controller.agent->call<protocol::PingNodeReply>(
      protocol::PingNodeRequest{own, 1, true}, 10s));
  ASSERT_TRUE(
      controller.wait([&] { return logged(("this node belongs to cluster " + own).c_str()); }));
  EXPECT_EQ(::kill(job, 0), 0);
  EXPECT_TRUE(controller.ended.empty());

  controller.note([&] { controller.cluster_id = own; });
  ASSERT_TRUE(controller.wait([&] {
    return !controller.cleaned.empty() && !controller.ended.empty();
  })) << controller.read("log");
  EXPECT_EQ(::kill(job, 0), -1);
  EXPECT_EQ(controller.ended[0].key.id.job, 22U);
  EXPECT_EQ(controller.cleaned[0].job, 22U);
  EXPECT_EQ(controller.read("scripts.out"), "epilog 22\n");
  EXPECT_TRUE(logged("the cluster does not have this node any more; steps that are ended: 1"));
}

// The controller does not ask a node that it has no more, and may not have reached it when it was
// told.
TEST(Noded, RegistersByItselfWhileItHasWorkAndNobodyAsks) {
  FakeController controller;
  controller.start_agent("SlurmdTimeout=1\n");
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(23, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n")));
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.back().running.size() == 1; }));
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return !controller.ended.empty(); }));
}

// Who has taken the controller's port knows no key: neither a configuration nor an acknowledgement
// of his is believed.
TEST(Noded, BelievesNoAnswerThatTheControllerHasNotSigned) {
  FakeController controller;
  const auto answer = [&](bool with_key) {
    controller.server.reset();
    const auto auth = controller.auth;
    if (!with_key) controller.auth = nullptr;
    controller.start_server();
    controller.auth = auth;
  };
  const auto logged = [&](const char* text) {
    return controller.read("log").find(text) != std::string::npos;
  };
  answer(false);
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] {
    return logged("cannot register with the controller") && logged("the answer is not signed");
  })) << controller.read("log");
  EXPECT_FALSE(std::filesystem::exists(controller.folder + "/spool/cluster_id"));
  answer(true);
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(16, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n")));
  answer(false);
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return !controller.ended.empty(); }));
  controller.server.reset();
  controller.ended.clear();
  answer(true);
  ASSERT_TRUE(controller.wait([&] { return !controller.ended.empty(); })) << "it is told again";
}

TEST(Noded, ListsPidsAndDescribesItself) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(
      controller.batch_launch(15, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n")));
  size_t found = 0;
  while (found == 0) {
    const auto pids = controller.agent->call<protocol::ListPidsReply>(
        protocol::ListPidsRequest{15, UINT32_MAX}, 10s);
    ASSERT_TRUE(pids);
    found = pids->pids.size();
  }
  const auto about =
      controller.agent->call<protocol::ShowAgentReply>(protocol::ShowAgentRequest{}, 10s);
  ASSERT_TRUE(about);
  EXPECT_EQ(about->lines[0], "Active Steps             = 15.batch");
  std::ofstream(controller.folder + "/go") << "";
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
}

}  // namespace
}  // namespace sluice::testing
