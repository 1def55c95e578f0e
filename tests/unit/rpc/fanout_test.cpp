// The fan-out: shapes of trees, and dead nodes anywhere in them.
#include "common/rpc/fanout.hpp"

#include <map>
#include <set>

#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

std::vector<FanoutTarget> targets(size_t count) {
  std::vector<FanoutTarget> list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back({"n" + std::to_string(i), "a" + std::to_string(i)});
  }
  return list;
}

TEST(Tree, SplitsIntoNearlyEqualRuns) {
  const auto list = targets(10);
  const auto parts = split_tree(list, 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].size(), 4u);
  EXPECT_EQ(parts[1].size(), 3u);
  EXPECT_EQ(parts[2].size(), 3u);
  EXPECT_EQ(parts[1][0].node, "n4");
  EXPECT_EQ(split_tree(targets(2), 16).size(), 2u);
  EXPECT_EQ(split_tree(targets(5), 0).size(), 1u);
  EXPECT_TRUE(split_tree({}, 16).empty());
}

TEST(Tree, DepthGrowsWithTheLogarithm) {
  EXPECT_EQ(tree_depth(0, 16), 0u);
  EXPECT_EQ(tree_depth(16, 16), 1u);
  EXPECT_EQ(tree_depth(17, 16), 2u);
  EXPECT_EQ(tree_depth(16 + 256, 16), 2u);
  EXPECT_EQ(tree_depth(10000, 16), 4u);
  EXPECT_EQ(tree_depth(5, 1), 5u);
}

// A user's time for a block was multiplied by the levels of a tree whose width is his, too: days,
// or less than nothing.
TEST(Tree, TakesAnHourAtMost) {
  EXPECT_EQ(tree_timeout(std::chrono::seconds(10), 3), std::chrono::seconds(30));
  EXPECT_EQ(tree_timeout(std::chrono::minutes(10), 10000), std::chrono::hours(1));
  EXPECT_EQ(tree_timeout(Duration::max(), 4), std::chrono::hours(1));
}

// A network in memory: every node runs its own Fanout, as a node agent would.
class World {
 public:
  explicit World(std::set<std::string> dead) : dead_(std::move(dead)) {
    fanout_ = Fanout::create([this](const FanoutTarget& node, const FanoutRequest& request,
                                    Duration timeout, auto done) {
      ++sent_;
      EXPECT_GE(timeout, request.node_timeout);
      EXPECT_EQ(request.targets.front(), node);
      if (dead_.contains(node.address)) return done(failure(ErrorCode::kUnreachable, "dead"));
      const FanoutTarget self = request.targets.front();
      ++handled_[self.node];
      FanoutRequest below = request;
      below.targets.erase(below.targets.begin());
      fanout_->send(below, [self, done](FanoutReply reply) {
        reply.results.push_back({.node = self.node, .reply = "ok " + self.node});
        done(std::move(reply));
      });
    });
  }
  FanoutReply send(size_t count, uint32_t width) {
    FanoutRequest request{.targets = targets(count), .method = "Test/Ping", .tree_width = width};
    FanoutReply got;
    fanout_->send(request, [&](FanoutReply reply) { got = std::move(reply); });
    return got;
  }
  std::map<std::string, int> handled_;
  int sent_ = 0;

 private:
  std::set<std::string> dead_;
  std::shared_ptr<Fanout> fanout_;
};

void expect_only_dead_fail(size_t count, uint32_t width, const std::set<std::string>& dead) {
  World world(dead);
  const FanoutReply reply = world.send(count, width);
  ASSERT_EQ(reply.results.size(), count);
  std::set<std::string> seen;
  for (const FanoutResult& result : reply.results) {
    EXPECT_TRUE(seen.insert(result.node).second) << result.node << " twice";
    const bool is_dead = dead.contains("a" + result.node.substr(1));
    EXPECT_EQ(result.code, is_dead ? ErrorCode::kUnreachable : ErrorCode::kOk) << result.node;
    EXPECT_EQ(result.reply, is_dead ? "" : "ok " + result.node);
  }
  EXPECT_EQ(world.handled_.size(), count - dead.size());
  for (const auto& [node, times] : world.handled_) EXPECT_EQ(times, 1) << node;
}

TEST(FanoutRouting, ReachesAllAndGoesRoundTheDead) {
  expect_only_dead_fail(1, 16, {});
  expect_only_dead_fail(100, 4, {});
  expect_only_dead_fail(100, 4, {"a0"});
  expect_only_dead_fail(100, 4, {"a0", "a1", "a2", "a25", "a26", "a99"});
  expect_only_dead_fail(7, 1, {"a3"});
  std::set<std::string> half;
  for (int i = 0; i < 300; i += 2) half.insert("a" + std::to_string(i));
  expect_only_dead_fail(300, 16, half);
  World none({});
  EXPECT_TRUE(none.send(0, 16).results.empty());
}

TEST(FanoutRouting, ANodeItsParentForgotIsAnError) {
  const auto forgetful = Fanout::create(
      [](const FanoutTarget&, const FanoutRequest&, Duration, auto done) { done(FanoutReply{}); });
  FanoutReply got;
  forgetful->send({.targets = targets(3)}, [&](FanoutReply reply) { got = std::move(reply); });
  ASSERT_EQ(got.results.size(), 3u);
  EXPECT_EQ(got.results[0].code, ErrorCode::kError);
}

TEST(FanoutOverTheNetwork, RunsTheMethodOnEachNode) {
  const auto auth = test_auth();
  const auto fanout = Fanout::create(std::make_shared<NodeClients>(ClientOptions{.auth = auth}));
  std::vector<std::unique_ptr<RpcServer>> nodes;
  FanoutRequest request{.method = "Test/Echo",
                        .payload = wire::encode(EchoRequest{.text = "to all"}),
                        .tree_width = 2};
  for (int i = 0; i < 7; ++i) {
    const std::string name = "n" + std::to_string(i);
    auto node = std::make_unique<RpcServer>(ServerOptions{
        .addresses = {"127.0.0.1:0"}, .receiver = name, .auth = auth, .slurm_user = ::geteuid()});
    node->handle<EchoRequest, EchoReply>(
        [name](const CallContext&, EchoRequest echo, Responder<EchoReply> responder) {
          responder.reply({.text = name + " " + echo.text});
        });
    fanout->serve(*node);
    ASSERT_TRUE(node->start());
    request.targets.push_back({name, "127.0.0.1:" + std::to_string(node->port())});
    nodes.push_back(std::move(node));
  }
  nodes[0].reset();  // the head of the first part
  nodes[5].reset();  // a leaf
  std::promise<FanoutReply> whole;
  fanout->send(request, [&](FanoutReply reply) { whole.set_value(std::move(reply)); });
  const FanoutReply reply = whole.get_future().get();
  ASSERT_EQ(reply.results.size(), 7u);
  for (const FanoutResult& result : reply.results) {
    if (result.node == "n0" || result.node == "n5") {
      EXPECT_EQ(result.code, ErrorCode::kUnreachable) << result.text;
    } else {
      ASSERT_EQ(result.code, ErrorCode::kOk) << result.text;
      EXPECT_EQ(wire::decode<EchoReply>(result.reply)->text, result.node + " to all");
    }
  }
}

}  // namespace
}  // namespace sluice::net
