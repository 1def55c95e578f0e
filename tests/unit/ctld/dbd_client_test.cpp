// Who waits for an accounting daemon that hangs can be let go.
#include "ctld/accounting/dbd_client.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::ctld {
namespace {

// The bug: slurmctld ended when the call of a minute had run out.
TEST(DbdClient, GivesUp) {
  // takes connections, and says nothing
  const auto silent = net::listen_at(*net::resolve("127.0.0.1:0"), "127.0.0.1:0");
  ASSERT_TRUE(silent) << silent.error().text;
  ClusterConfig config;
  config.accounting_storage_host = "127.0.0.1";
  config.accounting_storage_backup_host.clear();
  config.accounting_storage_port = static_cast<uint32_t>(silent->port);
  DbdClient client(config, nullptr, nullptr);
  const SteadyTime began = net::steady_now();
  std::thread other([&client] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    client.give_up();
  });
  const auto ask = [&client] {
    return client.ask<protocol::QueryLastJobReply>(protocol::QueryLastJobRequest{"c"},
                                                   std::chrono::seconds(60));
  };
  const auto waited = ask();
  other.join();
  const auto later = ask();
  EXPECT_LT(net::steady_now() - began, std::chrono::seconds(20));
  for (const auto& reply : {waited, later}) {
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kTimedOut);
    EXPECT_EQ(reply.error().text, "the controller ends");
  }
  ::close(silent->fd);
}

}  // namespace
}  // namespace sluice::ctld
