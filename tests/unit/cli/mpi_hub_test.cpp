#include "cli/step/mpi_hub.hpp"

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"

namespace sluice::cli {
namespace {

using protocol::MpiMessage;
using protocol::MpiMessageKind;

struct Hub {
  explicit Hub(size_t nodes)
      : hub(nodes,
            {[this](size_t node, const MpiMessage& message) { sent.emplace_back(node, message); },
             [this](const MpiMessage& message) { aborts.push_back(message); },
             [this](const MpiMessage& message) { spawns.push_back(message); },
             [this] { ++ready; }}) {}
  void fence(size_t node, const std::string& data, std::vector<uint32_t> nodes = {},
             const std::string& name = "f") {
    MpiMessage message;
    message.kind = MpiMessageKind::kFence;
    message.name = name;
    message.nodes = std::move(nodes);
    message.data = data;
    hub.received(node, std::move(message));
  }
  // "node:data" of each message since the last call
  std::vector<std::string> take() {
    std::vector<std::string> out;
    for (const auto& [node, message] : std::exchange(sent, {}))
      out.push_back(std::to_string(node) + (message.status == 0 ? ":" + message.data : "!"));
    return out;
  }
  std::vector<std::pair<size_t, MpiMessage>> sent;
  std::vector<MpiMessage> aborts, spawns;
  int ready = 0;
  MpiHub hub;
};

using Lines = std::vector<std::string>;

TEST(MpiHub, AFenceGivesAllWhatEachBrought) {
  Hub hub(3);
  hub.fence(2, "c");
  hub.fence(0, "a");
  EXPECT_EQ(hub.take(), Lines{});
  hub.fence(1, "b");
  EXPECT_EQ(hub.take(), (Lines{"0:abc", "1:abc", "2:abc"}));
  hub.fence(0, "");
  hub.fence(1, "");
  EXPECT_EQ(hub.take(), Lines{});  // the next one begins anew
}

TEST(MpiHub, SomeNodesMayMeetByThemselves) {
  Hub hub(3);
  hub.fence(2, "c", {0, 2}, "some");
  hub.fence(0, "x");  // another fence
  hub.fence(0, "a", {0, 2}, "some");
  EXPECT_EQ(hub.take(), (Lines{"0:ac", "2:ac"}));
  hub.fence(1, "b", {0, 2}, "some");  // has no part in it
  hub.fence(1, "b", {0, 7}, "other");
  EXPECT_EQ(hub.take(), Lines{});
}

TEST(MpiHub, ANodeMayBeOneFenceAhead) {
  Hub hub(2);
  hub.fence(0, "a1");
  hub.fence(0, "a2");
  hub.fence(1, "b1");
  EXPECT_EQ(hub.take(), (Lines{"0:a1b1", "1:a1b1"}));
  hub.fence(1, "b2");
  EXPECT_EQ(hub.take(), (Lines{"0:a2b2", "1:a2b2"}));
}

TEST(MpiHub, AFenceFailsWhenANodeGoesBeforeItCame) {
  Hub hub(3);
  hub.fence(0, "a");
  hub.fence(1, "b");
  hub.hub.node_gone(2);
  EXPECT_EQ(hub.take(), (Lines{"0!", "1!"}));
  hub.fence(0, "a");
  hub.fence(1, "b");
  EXPECT_EQ(hub.take(), (Lines{"0!", "1!"}));
}

TEST(MpiHub, QuestionsAndAnswersFindTheirWay) {
  Hub hub(2);
  MpiMessage question;
  question.kind = MpiMessageKind::kRequest;
  question.nodes = {1};
  question.task = 3;
  hub.hub.received(0, question);
  ASSERT_EQ(hub.sent.size(), 1U);
  EXPECT_EQ(hub.sent[0].first, 1U);
  EXPECT_EQ(hub.sent[0].second.from, 0U);
  hub.sent.clear();
  hub.hub.node_gone(1);
  hub.hub.received(0, question);
  ASSERT_EQ(hub.sent.size(), 1U);  // nobody is there to answer
  EXPECT_EQ(hub.sent[0].first, 0U);
  EXPECT_EQ(hub.sent[0].second.kind, MpiMessageKind::kReply);
  EXPECT_EQ(hub.sent[0].second.task, 3U);
  EXPECT_NE(hub.sent[0].second.status, 0);
}

TEST(MpiHub, LostTasksAndAbortsAreTold) {
  Hub hub(3);
  MpiMessage lost;
  lost.kind = MpiMessageKind::kTaskLost;
  lost.task = 4;
  hub.hub.received(1, lost);
  EXPECT_EQ(hub.take(), (Lines{"0:", "2:"}));
  MpiMessage abort;
  abort.kind = MpiMessageKind::kAbort;
  abort.status = 5;
  hub.hub.received(2, abort);
  ASSERT_EQ(hub.aborts.size(), 1U);
  EXPECT_EQ(hub.aborts[0].status, 5);
}

TEST(MpiHub, WhoSpawnsIsToldOfTheStep) {
  Hub hub(3);
  MpiMessage question;
  question.kind = MpiMessageKind::kSpawn;
  question.name = "spawn.1";
  for (const size_t node : {1U, 2U, 0U}) hub.hub.received(node, question);
  ASSERT_EQ(hub.spawns.size(), 3U);
  EXPECT_EQ(hub.take(), Lines{});
  hub.hub.node_gone(0);
  hub.hub.spawned(hub.spawns[0], "5.1");
  hub.hub.spawned(hub.spawns[2], "5.2");  // its node is gone
  ASSERT_EQ(hub.sent.size(), 1U);
  EXPECT_EQ(hub.sent[0].second.name, "spawn.1");
  EXPECT_EQ(hub.take(), Lines{"1:5.1"});
  hub.hub.spawned(hub.spawns[1], {});
  EXPECT_EQ(hub.take(), Lines{"2!"});
}

TEST(MpiHub, ASpawnedStepIsReadyWhenAllOfItsNodesAre) {
  Hub hub(2);
  MpiMessage ready;
  ready.kind = MpiMessageKind::kReady;
  hub.hub.received(1, ready);
  hub.hub.received(1, ready);
  EXPECT_EQ(hub.ready, 0);
  hub.hub.received(0, ready);
  hub.hub.received(0, ready);
  EXPECT_EQ(hub.ready, 1);
}

TEST(MpiHub, NamesAreKeptForAllNodes) {
  Hub hub(3);
  const auto ask = [&](size_t node, MpiMessageKind kind, const std::string& data,
                       int32_t status = 0) {
    MpiMessage message;
    message.kind = kind;
    message.name = "q";
    message.data = data;
    message.status = status;
    hub.hub.received(node, std::move(message));
  };
  const auto name = [](const std::string& key, const std::string& value) {
    return wire::encode(protocol::PublishedName{key, value});
  };
  ask(0, MpiMessageKind::kLookup, "ocean");
  EXPECT_EQ(hub.take(), (Lines{"0!"}));
  ask(2, MpiMessageKind::kLookup, "ocean", protocol::kWaitForName);
  EXPECT_EQ(hub.take(), Lines{});
  ask(1, MpiMessageKind::kPublish, name("ocean", "port"));
  EXPECT_EQ(hub.take(), (Lines{"1:", "2:port"}));
  ask(0, MpiMessageKind::kPublish, name("ocean", "other"));
  ASSERT_EQ(hub.sent.size(), 1U);
  EXPECT_EQ(hub.sent[0].second.status, protocol::kNameTaken);
  EXPECT_EQ(hub.sent[0].second.name, "q");
  hub.take();
  ask(0, MpiMessageKind::kLookup, "ocean");
  ask(0, MpiMessageKind::kUnpublish, "ocean");
  ask(0, MpiMessageKind::kUnpublish, "ocean");
  EXPECT_EQ(hub.take(), (Lines{"0:port", "0:", "0!"}));
  ask(0, MpiMessageKind::kPublish, name("large", std::string(17U << 20, 'x')));
  EXPECT_EQ(hub.take(), (Lines{"0!"}));
  ask(1, MpiMessageKind::kLookup, "land", protocol::kWaitForName);
  hub.hub.node_gone(1);
  ask(0, MpiMessageKind::kPublish, name("land", "port"));
  EXPECT_EQ(hub.take(), (Lines{"0:"}));
}

}  // namespace
}  // namespace sluice::cli
