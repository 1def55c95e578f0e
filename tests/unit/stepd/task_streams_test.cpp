// Input and output of tasks, over pipes that nobody but the test holds.
#include "stepd/io/task_streams.hpp"

#include <array>
#include <csignal>

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

class TaskStreamsTest : public ::testing::Test {
 protected:
  struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0); }
    ~Pipe() { close(); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close() {
      if (own >= 0) ::close(std::exchange(own, -1));
    }
    int give(int end) {  // the daemon's; the other one is kept
      own = ends[1 - end];
      return ends[end];
    }
    void say(const std::string& text) const {
      EXPECT_EQ(::write(own, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    [[nodiscard]] std::string hear() const {
      char buffer[64];
      const ssize_t n = ::read(own, buffer, sizeof buffer);
      return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : n == 0 ? "(end)" : "";
    }
    int ends[2] = {-1, -1};
    int own = -1;
  };
  TaskStreamsTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    step = test::step_facts([](StepSpec& spec) { spec.io.port = 5; });
    streams = std::make_unique<TaskStreams>(
        io, *step, audience,
        TaskStreams::Handlers{[this] { ++ends; }, [this](int error) { lost = error; }});
  }
  // A task whose input is the pipe; the test reads it, or does not.
  void add_reader(uint32_t rank, Pipe& in) {
    TaskPlan plan;
    plan.rank = rank;
    plan.write_in = in.give(1);
    streams->adopt(plan, false);
  }
  // Whatever can be done without anybody's help.
  void settle() {
    io.restart();
    while (io.poll() > 0) {}
  }
  boost::asio::io_context io;
  test::FakeAudience audience;
  std::unique_ptr<StepFacts> step;
  std::unique_ptr<TaskStreams> streams;
  int ends = 0;
  int lost = 0;
};

TEST_F(TaskStreamsTest, OutputFlowsOnceItIsLet) {
  Pipe out;
  TaskPlan plan;
  plan.rank = 3;
  plan.read_out = out.give(0);
  streams->adopt(plan, false);
  out.say("a");
  settle();
  EXPECT_TRUE(audience.sent.empty());
  EXPECT_TRUE(streams->busy());
  streams->let_flow();
  settle();
  out.close();
  settle();
  EXPECT_EQ(audience.sent,
            (std::vector<Sent>{{FrameType::kStdout, 3, "a"}, {FrameType::kStdout, 3, ""}}));
  EXPECT_EQ(ends, 1);
  EXPECT_FALSE(streams->busy());
}

TEST_F(TaskStreamsTest, OutputWaitsWhileListenersAreSlow) {
  Pipe out, other;
  TaskPlan plan;
  plan.read_out = out.give(0);
  plan.read_err = other.give(0);
  streams->adopt(plan, false);
  streams->let_flow();
  audience.full = true;
  EXPECT_TRUE(streams->waits_for_readers());
  out.say("a");
  settle();
  EXPECT_EQ(audience.sent.size(), 1U);
  // what was asked for already still comes
  other.say("b");
  out.say("c");
  settle();
  const size_t came = audience.sent.size();
  out.say("d");
  other.say("e");
  settle();
  EXPECT_EQ(audience.sent.size(), came);
  streams->let_flow();
  settle();
  EXPECT_EQ(audience.sent.size(), came) << "they are slow still";
  audience.full = false;
  streams->let_flow();
  settle();
  EXPECT_EQ(audience.bodies(FrameType::kStdout), "acd");
  EXPECT_EQ(audience.bodies(FrameType::kStderr), "be");
}

TEST_F(TaskStreamsTest, InputGoesToOneTaskOrAll) {
  Pipe first, second;
  add_reader(0, first);
  add_reader(1, second);
  streams->give_input({FrameType::kStdin, kNoTask, "all"});
  streams->give_input({FrameType::kStdin, 1, "one"});
  settle();
  EXPECT_EQ(first.hear(), "all");
  EXPECT_EQ(second.hear(), "allone");
  streams->give_input({FrameType::kStdin, 0, ""});
  settle();
  EXPECT_EQ(first.hear(), "(end)");
  EXPECT_EQ(second.hear(), "");
  streams->close_all_input();
  settle();
  EXPECT_EQ(second.hear(), "(end)");
}

TEST_F(TaskStreamsTest, InputThatNobodyTakesIsHeldUpUntilTheTaskEnds) {
  Pipe in;
  add_reader(0, in);
  streams->give_input({FrameType::kStdin, kNoTask, std::string(9U << 20, 'x')});
  EXPECT_EQ(audience.pauses, 1);
  streams->close_input(7);
  EXPECT_EQ(audience.resumes, 0) << "another task";
  streams->close_input(0);
  EXPECT_EQ(audience.resumes, 1);
}

TEST_F(TaskStreamsTest, InputOfManyTasksIsHeldOnce) {
  std::array<Pipe, 16> pipes;
  for (uint32_t rank = 0; rank < pipes.size(); ++rank) add_reader(rank, pipes[rank]);
  streams->give_input({FrameType::kStdin, kNoTask, std::string(6U << 20, 'x')});
  settle();
  EXPECT_EQ(audience.pauses, 0);
  streams->give_input({FrameType::kStdin, 3, std::string(3U << 20, 'x')});
  settle();
  EXPECT_EQ(audience.pauses, 1) << "together they are too much, though no task waits for 8 MiB";
}

TEST_F(TaskStreamsTest, ATaskThatReadsDoesNotFillTheQueueOfOneThatDoesNot) {
  Pipe reads, sleeps;
  add_reader(0, reads);
  add_reader(1, sleeps);
  streams->give_input({FrameType::kStdin, 1, std::string(9U << 20, 'x')});
  EXPECT_EQ(audience.pauses, 1);
  streams->give_input({FrameType::kStdin, 0, "all of it is taken"});
  settle();
  EXPECT_EQ(reads.hear(), "all of it is taken");
  EXPECT_EQ(audience.resumes, 0);
  sleeps.close();  // its reader is gone
  settle();
  EXPECT_EQ(audience.resumes, 1);
}

TEST_F(TaskStreamsTest, ManySmallPiecesCostWhatHoldsThem) {
  Pipe in;
  add_reader(0, in);
  for (int piece = 0; piece < 100'000; ++piece)
    streams->give_input({FrameType::kStdin, kNoTask, "x"});
  EXPECT_GT(audience.pauses, 0);
}

TEST_F(TaskStreamsTest, WithoutListenersInputIsOver) {
  step = test::step_facts();
  streams =
      std::make_unique<TaskStreams>(io, *step, audience, TaskStreams::Handlers{[] {}, [](int) {}});
  Pipe in;
  add_reader(0, in);
  settle();
  EXPECT_EQ(in.hear(), "(end)");
}

TEST_F(TaskStreamsTest, FilesGetLabelsAndTheListenersNothing) {
  const sluice::test::TempFolder folder;
  const std::string path = folder / "out";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  Pipe out;
  TaskPlan plan;
  plan.rank = 4;
  plan.read_out = out.give(0);
  plan.out_file = file;
  streams->adopt(plan, true);
  streams->let_flow();
  out.say("a\nb");
  out.close();
  settle();
  EXPECT_EQ(read_file(path), " 4: a\n 4: b\n");
  EXPECT_TRUE(audience.sent.empty());
  EXPECT_EQ(ends, 1);
  streams.reset();
  ::close(file);
}

TEST_F(TaskStreamsTest, ThoseThatAreGivenUpEndWithWhatTheyGave) {
  Pipe out;
  TaskPlan plan;
  plan.read_out = out.give(0);
  streams->adopt(plan, true);
  streams->let_flow();
  out.say("half a line");
  settle();
  EXPECT_TRUE(audience.sent.empty());
  streams->stop();
  streams->stop();
  EXPECT_EQ(audience.bodies(FrameType::kStdout), "half a line");
  EXPECT_EQ(ends, 1);
  EXPECT_FALSE(streams->busy());
}

}  // namespace
}  // namespace sluice::stepd
