// Between the MPI server of a node's tasks and srun.
#include "stepd/mpi/mpi_link.hpp"

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "unit/stepd/step_fakes.hpp"

namespace sluice::stepd {
namespace {

using protocol::FrameType;
using protocol::MpiMessage;
using protocol::MpiMessageKind;

struct Calls {
  int prepared = 0;
  std::vector<MpiMessage> received;
  int alone = 0;
  int stopped = 0;
};
class FakeServer final : public MpiServer {
 public:
  explicit FakeServer(Calls& calls) : calls_(calls) {}
  [[nodiscard]] Status prepare(StepPlan&) override {
    ++calls_.prepared;
    return {};
  }
  void received(const MpiMessage& message) override { calls_.received.push_back(message); }
  void alone() override { ++calls_.alone; }
  void stop() override { ++calls_.stopped; }

 private:
  Calls& calls_;
};

class MpiLinkTest : public ::testing::Test {
 protected:
  void serve() {
    StepPlan plan;
    ASSERT_TRUE(link.serve(std::make_unique<FakeServer>(calls), plan));
  }
  Calls calls;
  test::FakeAudience audience;
  bool ending = false;
  int ends = 0;
  MpiLink link{audience, {[this] { return ending; }, [this] { ++ends; }, [](std::string_view) {}}};
};

TEST_F(MpiLinkTest, WithoutAServerNothingHappens) {
  link.received("rubbish");
  link.alone();
  link.stop();
  EXPECT_EQ(calls.alone, 0);
}

TEST_F(MpiLinkTest, PutsMessagesTogether) {
  serve();
  MpiMessage message;
  message.kind = MpiMessageKind::kFence;
  message.data = "one ";
  message.more = true;
  link.received(wire::encode(message));
  EXPECT_TRUE(calls.received.empty());
  message.data = "two";
  message.more = false;
  link.received(wire::encode(message));
  ASSERT_EQ(calls.received.size(), 1U);
  EXPECT_EQ(calls.received[0].data, "one two");
  link.stop();
  EXPECT_EQ(calls.stopped, 1);
}

TEST_F(MpiLinkTest, AfterRubbishNothingIsTrusted) {
  serve();
  link.received("\xff\xff\xff");
  EXPECT_EQ(calls.alone, 1);
  EXPECT_TRUE(calls.received.empty());
}

TEST_F(MpiLinkTest, AnAbortIsForSrunToSeeTo) {
  link.abort(3, 5, "it is lost");
  EXPECT_EQ(audience.bodies(FrameType::kMessage), "slurmstepd: error: it is lost\n");
  ASSERT_EQ(audience.to_owner.size(), 1U);
  EXPECT_EQ(audience.to_owner[0].type, FrameType::kMpi);
  const auto message = wire::decode<MpiMessage>(audience.to_owner[0].body);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, MpiMessageKind::kAbort);
  EXPECT_EQ(message->task, 3U);
  EXPECT_EQ(message->status, 5);
  EXPECT_EQ(ends, 0);
}

TEST_F(MpiLinkTest, WithoutSrunAnAbortEndsTheTasksHere) {
  audience.owner = false;
  link.abort(3, 5, {});
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(audience.to_owner.empty());
  EXPECT_TRUE(audience.sent.empty());
}

TEST_F(MpiLinkTest, AnAbortOfAStepThatEndsIsNoNews) {
  ending = true;
  link.abort(3, 5, "it is lost");
  EXPECT_TRUE(audience.sent.empty());
  EXPECT_TRUE(audience.to_owner.empty());
}

}  // namespace
}  // namespace sluice::stepd
