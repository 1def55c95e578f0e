// Which launches a node agent takes, with a controller played by the test.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/clock.hpp"
#include "common/protocol/noded.hpp"
#include "common/wire/codec.hpp"
#include "fake_controller.hpp"

namespace sluice::testing {
namespace {

TEST(Noded, RefusesLaunchesWithoutTheControllersSignature) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  protocol::LaunchStepRequest request;
  request.launch = wire::encode(controller.batch_launch(8, "#!/bin/sh\n"));
  request.signature = net::CredentialSigner::generate().sign(request.launch);
  Status sent = controller.send(request);
  while (sent.error().code == ErrorCode::kRetry) sent = controller.send(request);
  EXPECT_EQ(sent.error().code, ErrorCode::kInvalidCredential);
}

// A repeated launch that was slow on its way began a step again whose end the controller had
// already: its key file was gone, and its job not over.
TEST(Noded, ALaunchThatComesLateDoesNotBeginAStepAgain) {
  FakeController controller;
  std::ofstream(controller.folder + "/epilog") << "#!/bin/sh\n";
  ::chmod((controller.folder + "/epilog").c_str(), 0755);
  controller.start_agent(fmt::format("Epilog={}/epilog\n", controller.folder));
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  const auto launch = controller.batch_launch(17, "#!/bin/sh\necho ran >> runs\n");
  ASSERT_TRUE(controller.launch(launch));
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_FALSE(controller.ended[0].node_clean);
  while (!std::filesystem::is_empty(controller.folder + "/spool/steps")) ::usleep(5000);
  const Status late = controller.launch(launch);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kAlreadyDone);
  EXPECT_EQ(controller.read("runs"), "ran\n");
}

// An array of 2,000 tasks on a busy host never ended: each launch that a registration had overtaken
// had its agent register again, which overtook those that were on their way.
TEST(Noded, ALaunchThatARegistrationOvertookIsRefusedWithoutAnotherRegistration) {
  FakeController controller;
  auto overtaken = controller.batch_launch(17, "#!/bin/sh\ntrue\n");
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return controller.registrations.size() == 1; }));
  auto current = controller.batch_launch(18, "#!/bin/sh\ntrue\n");
  current.issued = net::now();  // after the agent's start
  ASSERT_TRUE(controller.launch(current));
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  for (JobId job = 20; job < 40; ++job) {
    overtaken.key.id.job = job;
    const Status sent = controller.launch_once(overtaken);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, ErrorCode::kRetry) << sent.error().text;
  }
  auto expired = overtaken;
  expired.issued -= 1h;
  EXPECT_FALSE(controller.launch_once(expired));
  EXPECT_TRUE(controller.wait([&] { return controller.registrations.size() == 2; }))
      << "what is known of the clock may be wrong";
  current.key.id.job = 19;
  current.issued = net::now();
  ASSERT_TRUE(controller.launch(current));
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 2; }));
  EXPECT_EQ(controller.registrations.size(), 2U);
}

TEST(Noded, ALaunchThatCannotBeClaimedSaysWhy) {
  FakeController controller;
  controller.start_agent();
  ASSERT_TRUE(controller.wait([&] { return !controller.registrations.empty(); }));
  const std::string steps = controller.folder + "/spool/steps";
  std::filesystem::remove_all(steps);
  std::ofstream(steps) << "in the way";
  ASSERT_TRUE(controller.launch(controller.batch_launch(20, "#!/bin/sh\n")));
  ASSERT_TRUE(controller.wait([&] { return controller.ended.size() == 1; }));
  EXPECT_EQ(controller.ended[0].failure,
            "its step daemon cannot write to " + controller.folder + "/spool");
  EXPECT_TRUE(controller.ended[0].drain_node) << "else it takes all jobs that wait";
}

}  // namespace
}  // namespace sluice::testing
