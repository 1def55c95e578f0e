// What the agent tells the controller, by way of other nodes where there are many.
#include "common/protocol/noded.hpp"

#include <csignal>
#include <filesystem>
#include <future>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/rpc/rpc_server.hpp"
#include "fake_controller.hpp"

namespace sluice::testing {
namespace {

TEST(Noded, AReportIsRepeatedUntilItIsTaken) {
  FakeController controller;
  controller.refuse_reports = true;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(controller.batch_launch(12, "#!/bin/sh\nexit 1\n")));
  const std::string end = controller.folder + "/spool/steps/12.4294967291.0.end";
  while (!std::filesystem::exists(end)) ::usleep(10000);
  controller.refuse_reports = false;
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  while (std::filesystem::exists(end)) ::usleep(10000);
}

// n1 reports to n0 in a tree of width 1.
std::string tree_below_n0(int port) {
  return fmt::format("TreeWidth=1\nNodeName=n0 NodeAddr=127.0.0.1 Port={} CPUs=4\n", port);
}

// n0 is not there.
TEST(Noded, AReportGoesRoundADeadNode) {
  FakeController controller;
  controller.start_agent(tree_below_n0(controller.dead_port.number()));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  auto launch = controller.batch_launch(21, "#!/bin/sh\nexit 3\n");
  StepNode dead;
  dead.name = "n0";
  launch.layout.nodes.insert(launch.layout.nodes.begin(), dead);
  ASSERT_TRUE(controller.launch(launch));
  ASSERT_TRUE(controller.wait([&] { return !controller.ended.empty(); }));
  EXPECT_EQ(WEXITSTATUS(controller.ended[0].exit_status), 3);
}

TEST(Noded, PassesReportsOfOtherNodesOn) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(controller.batch_launch(19, "#!/bin/sh\n")));  // it is ready now
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  protocol::ReportStepsRequest request{controller.cluster_id, {}};
  for (const char* node : {"n8", "n9"}) {
    protocol::StepEnded& report = request.ended.emplace_back();
    report.key.id = {20, 0};
    report.nodes = node;
  }
  ASSERT_TRUE(controller.send(request));
  // the agent may repeat its own report while the answer to it is on its way
  ASSERT_GE(controller.ended.size(), 2U);
  EXPECT_EQ(controller.ended.back().nodes, "n[8-9]");
  for (size_t i = 0; i + 1 < controller.ended.size(); ++i)
    EXPECT_EQ(controller.ended[i].key.id.job, 19U);
}

size_t failed_reports(const FakeController& controller) {
  const std::string log = controller.read("log");
  const std::string_view text = "did not take a report";
  size_t count = 0;
  for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
  return count;
}

// Who passed a report on answers when the controller has it, not before.
template <class Request>
void expect_answered_when_taken(FakeController& controller, const Request& request) {
  controller.refuse_reports = true;
  const size_t failed = failed_reports(controller);
  auto sent = std::async(std::launch::async, [&] { return controller.send(request); });
  while (failed_reports(controller) == failed) ::usleep(5000);
  EXPECT_EQ(sent.wait_for(0s), std::future_status::timeout);
  controller.refuse_reports = false;
  EXPECT_TRUE(sent.get());
}

TEST(Noded, PassesCleanedJobsAndPrologsOfOtherNodesOn) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  ASSERT_TRUE(controller.launch(controller.batch_launch(19, "#!/bin/sh\n")));  // it is ready now
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  expect_answered_when_taken(
      controller, protocol::ReportCleanedRequest{
                      controller.cluster_id, {{20, 0, "n8", 0, false}, {20, 0, "n9", 0, false}}});
  ASSERT_EQ(controller.cleaned.size(), 1U);
  EXPECT_EQ(controller.cleaned[0].nodes, "n[8-9]");
  EXPECT_EQ(controller.cleaned[0].job, 20U);
  expect_answered_when_taken(
      controller, protocol::ReportPrologsRequest{controller.cluster_id,
                                                 {{21, 1, "n8", 0}, {21, 1, "n9", 256}}});
  ASSERT_EQ(controller.prologs.size(), 2U);
  EXPECT_EQ(controller.prologs[0].nodes, "n8");
  EXPECT_EQ(controller.prologs[1].status, 256);
  EXPECT_EQ(controller.prologs[1].restart, 1U);
}

// A prolog and the end of a job on n[0-1], of which n1 is asked.
template <class AfterProlog>
void run_prolog_and_end_job(FakeController& controller, JobId job, AfterProlog after_prolog) {
  protocol::RunPrologRequest prolog;
  prolog.job = job;
  prolog.job_spec = controller.batch_launch(job, {}).job_spec;
  prolog.partition = "debug";
  prolog.node_list = "n[0-1]";
  ASSERT_TRUE(controller.send(prolog));
  after_prolog();
  protocol::TerminateJobRequest end;
  end.job = job;
  end.node_list = prolog.node_list;
  ASSERT_TRUE(controller.send(end));
}

// They went to the controller itself, from each node of a job.
TEST(Noded, TellsTheNodeAboveItOfPrologsAndCleanedJobs) {
  FakeController controller;
  std::vector<protocol::PrologEnded> prologs;
  std::vector<protocol::JobCleaned> cleaned;
  net::RpcServer n0({.addresses = {"127.0.0.1:0"},
                     .receiver = "n0",
                     .auth = controller.auth,
                     .slurm_user = ::geteuid()});
  n0.handle<protocol::ReportPrologsRequest, Empty>(
      [&](const CallContext&, protocol::ReportPrologsRequest request, auto responder) {
        controller.note(
            [&] { prologs.insert(prologs.end(), request.ended.begin(), request.ended.end()); });
        responder.reply({});
      });
  n0.handle<protocol::ReportCleanedRequest, Empty>(
      [&](const CallContext&, protocol::ReportCleanedRequest request, auto responder) {
        controller.note(
            [&] { cleaned.insert(cleaned.end(), request.cleaned.begin(), request.cleaned.end()); });
        responder.reply({});
      });
  ASSERT_TRUE(n0.start());
  controller.start_agent(tree_below_n0(n0.port()));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  run_prolog_and_end_job(controller, 27,
                         [&] { ASSERT_TRUE(controller.wait([&] { return !prologs.empty(); })); });
  ASSERT_TRUE(controller.wait([&] { return !cleaned.empty(); }));
  EXPECT_EQ(prologs[0].job, 27U);
  EXPECT_EQ(prologs[0].nodes, "n1");
  EXPECT_EQ(cleaned[0].job, 27U);
  EXPECT_EQ(cleaned[0].nodes, "n1");
  EXPECT_TRUE(controller.prologs.empty());
  EXPECT_TRUE(controller.cleaned.empty());
  controller.stop_agent(SIGTERM);
}

TEST(Noded, PrologsAndCleanedJobsGoRoundADeadNode) {
  FakeController controller;
  controller.start_agent(tree_below_n0(controller.dead_port.number()));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  run_prolog_and_end_job(controller, 28, [&] {
    ASSERT_TRUE(controller.wait([&] { return !controller.prologs.empty(); }));
    EXPECT_EQ(failed_reports(controller), 1U) << "n0 was not asked";
  });
  ASSERT_TRUE(controller.wait([&] { return !controller.cleaned.empty(); }));
  EXPECT_EQ(failed_reports(controller), 2U);
  EXPECT_EQ(controller.prologs[0].job, 28U);
  EXPECT_EQ(controller.cleaned[0].job, 28U);
}

}  // namespace
}  // namespace sluice::testing
