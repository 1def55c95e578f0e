// What the daemon says to the user, and to whom it says it.
#include "stepd/io/user_messages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "unit/stepd/step_fakes.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

using protocol::FrameType;
using Sent = test::FakeAudience::Sent;

class UserMessagesTest : public ::testing::Test {
 protected:
  ~UserMessagesTest() override {
    if (fd >= 0) ::close(fd);
  }
  void use_file() {
    fd = ::open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    messages->use_file(fd);
  }
  [[nodiscard]] std::string path() const { return folder / "err"; }
  void use(std::unique_ptr<StepFacts> made) {
    facts = std::move(made);
    messages = std::make_unique<UserMessages>(*facts, sinks, audience);
  }

  boost::asio::io_context io;
  OutputSinks sinks{io, {[] {}, [](int) {}}};
  test::FakeAudience audience;
  sluice::test::TempFolder folder;
  std::unique_ptr<StepFacts> facts;
  std::unique_ptr<UserMessages> messages;
  int fd = -1;
};

TEST_F(UserMessagesTest, AnEndIsToldOnceAndAgainWithAReason) {
  use(test::step_facts());
  messages->tell("CANCELLED AT now");
  ASSERT_EQ(audience.sent.size(), 1U);
  EXPECT_EQ(audience.sent[0], (Sent{FrameType::kMessage, kNoTask,
                                    "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT now "
                                    "***\n"}));
  messages->tell("CANCELLED AT later");
  EXPECT_EQ(audience.sent.at(1), (Sent{FrameType::kMessage, kNoTask, ""})) << "srun hears of it";
  messages->tell("CANCELLED AT later DUE TO TIME LIMIT");
  EXPECT_NE(audience.sent.at(2).body.find("DUE TO TIME LIMIT"), std::string::npos);
  messages->tell("Exceeded something");
  EXPECT_EQ(audience.sent.at(3).body, "slurmstepd: error: Exceeded something\n");
}

TEST_F(UserMessagesTest, OneNodeTells) {
  use(test::step_facts());
  facts->start.node_index = 1;
  messages->tell("CANCELLED AT now");
  EXPECT_TRUE(audience.sent.empty());
}

TEST_F(UserMessagesTest, TheFirstTaskSpeaksOnceThereAreTasks) {
  use(test::step_facts());
  messages->write("a\n", FrameType::kStderr);
  EXPECT_TRUE(audience.sent.empty()) << "no task has a standard error yet";
  messages->speak_for(3);
  messages->write("b\n", FrameType::kStderr);
  messages->write("", FrameType::kStderr);
  messages->write("", FrameType::kMessage);
  EXPECT_EQ(audience.sent,
            (std::vector<Sent>{{FrameType::kStderr, 3, "b\n"}, {FrameType::kMessage, 3, ""}}));
}

TEST_F(UserMessagesTest, AFileGetsItAndTheListenersTheNews) {
  use(test::batch_facts());
  use_file();
  messages->speak_for(0);
  messages->write("a\n");
  messages->write("b\n", FrameType::kStderr);
  EXPECT_EQ(read_file(path()), "a\nb\n");
  EXPECT_EQ(audience.sent, (std::vector<Sent>{{FrameType::kMessage, kNoTask, "a\n"}}));
}

TEST_F(UserMessagesTest, AFileWithLabelsNamesTheFirstTask) {
  use(test::step_facts());
  use_file();
  sinks.add(fd);
  messages->speak_for(3);
  messages->write("a\n");
  EXPECT_EQ(read_file(path()), " 3: a\n");
}

TEST_F(UserMessagesTest, LostOutputIsToldOnce) {
  use(test::step_facts());
  messages->tell_of_lost_output(ENOSPC);
  messages->tell_of_lost_output(ENOSPC);
  ASSERT_EQ(audience.sent.size(), 1U);
  EXPECT_EQ(audience.sent[0].body,
            "slurmstepd: error: Cannot write the tasks' output on n1: No space left on device. "
            "Some of it is lost.\n");
}

}  // namespace
}  // namespace sluice::stepd
