// What a user may have under way on a node at one time. The program that is to write takes each
// block and never says that it has written it.
#include "noded/broadcasts.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::noded {
namespace {

using protocol::BlockAction;
using protocol::BlockReply;

constexpr uint32_t kAlice = 1001;
constexpr uint32_t kBob = 1002;

class BroadcastsOfAUser : public ::testing::Test {
 protected:
  BroadcastsOfAUser() {
    node.sbin_dir = ::testing::TempDir() + "sluice-broadcasts-" + std::to_string(::getpid());
    std::filesystem::create_directories(node.sbin_dir);
    const std::string program = node.sbin_dir + "/slurmstepd";
    std::ofstream(program) << "#!/bin/sh\nexec cat <&3 >/dev/null\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(node.sbin_dir); }

  // The answer to a block, where there is one at once.
  std::optional<BlockReply> write(uint32_t uid, const protocol::BroadcastBlock& block) {
    protocol::BroadcastTicket ticket;
    ticket.uid = uid;
    const auto answer = std::make_shared<std::optional<BlockReply>>();
    broadcasts.write(ticket, block, [answer](BlockReply reply) { *answer = std::move(reply); });
    return *answer;
  }
  std::optional<BlockReply> begin(uint32_t uid, uint64_t transfer, size_t bytes) {
    protocol::BroadcastBlock block;
    block.transfer = transfer;
    block.path = "/tmp/x";
    block.last = false;
    block.data.assign(bytes, 'x');
    return write(uid, block);
  }
  void abort(uint32_t uid, uint64_t transfer) {
    protocol::BroadcastBlock block;
    block.transfer = transfer;
    block.action = BlockAction::kAbort;
    EXPECT_EQ(write(uid, block)->error, 0);
  }

  boost::asio::io_context io;
  NodeState node{.io = io};
  ChildProcesses children{io};
  Broadcasts broadcasts{node, children, {.transfers = 3, .bytes = 1000}};
};

TEST_F(BroadcastsOfAUser, AreSoManyAtOneTime) {
  for (uint64_t transfer = 1; transfer <= 3; ++transfer)
    EXPECT_FALSE(begin(kAlice, transfer, 1)) << "it is being written";
  const auto refused = begin(kAlice, 4, 1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error, EAGAIN);
  EXPECT_FALSE(begin(kBob, 4, 1)) << "another user's are counted by themselves";
  abort(kAlice, 2);
  EXPECT_FALSE(begin(kAlice, 4, 1)) << "one of them is over";
}

TEST_F(BroadcastsOfAUser, HoldSoManyBytes) {
  EXPECT_FALSE(begin(kAlice, 1, 600));
  EXPECT_FALSE(begin(kAlice, 2, 400));
  const auto refused = begin(kAlice, 3, 1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error, EAGAIN);
  EXPECT_EQ(refused->text, "too much is being written for this user on this node");
  EXPECT_FALSE(begin(kAlice, 2, 400)) << "one that came before waits with it";
  EXPECT_FALSE(begin(kBob, 3, 1000));
  abort(kAlice, 2);
  EXPECT_FALSE(begin(kAlice, 3, 400));
  EXPECT_TRUE(begin(kAlice, 4, 1));
}

TEST(BroadcastBounds, HoldFilesOfAUsualSize) {
  const BroadcastBounds usual;
  EXPECT_EQ(usual.transfers, 256U);
  EXPECT_GE(usual.bytes, size_t{16} * protocol::kMaxBlockBytes);
  EXPECT_LT(usual.bytes, size_t{1} << 30) << "what MemoryMax=1G allows";
}

}  // namespace
}  // namespace sluice::noded
