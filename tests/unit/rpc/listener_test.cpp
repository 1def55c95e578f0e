// A flood of connections: who has too many gets no more, others are served, and all is well when it
// is over.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/connection_quota.hpp"
#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

// Connected sockets to a port of this host, from any of its loopback addresses.
class Flood {
 public:
  Flood() = default;
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() { stop(); }
  void add(int port, uint32_t from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in own{
          .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(from)}, .sin_zero = {}};
      sockaddr_in there{.sin_family = AF_INET,
                        .sin_port = htons(static_cast<uint16_t>(port)),
                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
      ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
      ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
      sockets_.push_back(fd);
    }
  }
  // How many the server closed already.
  [[nodiscard]] size_t refused() const {
    size_t count = 0;
    char byte = 0;
    for (const int fd : sockets_) {
      const ssize_t got = ::recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
      count += got == 0 || (got < 0 && errno == ECONNRESET) ? 1 : 0;
    }
    return count;
  }
  void wait_refused(size_t count) const {
    const SteadyTime until = steady_now() + kPatience;
    while (refused() < count && steady_now() < until) ::usleep(1000);
    EXPECT_GE(refused(), count);
  }
  void stop() {
    for (const int fd : sockets_) ::close(fd);
    sockets_.clear();
  }

 private:
  std::vector<int> sockets_;
};

class Listening : public RpcFixture {
 protected:
  [[nodiscard]] bool answers() const {
    RpcClient client(to_server());
    return client.call<EchoReply>(EchoRequest{"hello", 1}, kPatience).has_value();
  }
};

TEST_F(Listening, AFloodFromOneHostLeavesOthersAlone) {
  serve({.connections_of_host = 20});
  start();
  Flood flood;
  flood.add(server->port(), INADDR_LOOPBACK + 1, 100);
  flood.wait_refused(80);
  EXPECT_TRUE(answers()) << "from 127.0.0.1";
}

TEST_F(Listening, IsThereAgainWhenAFloodIsOver) {
  serve({.connections = 200});  // and the process has some descriptors open
  start();
  Flood flood;
  for (uint32_t host = 1; host <= 10; ++host) flood.add(server->port(), INADDR_LOOPBACK + host, 30);
  flood.wait_refused(100);
  flood.stop();
  const SteadyTime until = steady_now() + kPatience;
  bool back = false;
  while (!back && steady_now() < until) back = answers();
  EXPECT_TRUE(back);
}

TEST(ConnectionQuota, CountsWhatIsOpenOnly) {
  const auto port = listen_at(*resolve("127.0.0.1:0"), "127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().text;
  ConnectionQuota quota(10'000, 3);
  std::vector<int> accepted;
  Flood flood;
  const auto take = [&] {
    flood.add(port->port, INADDR_LOOPBACK, 1);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int fd = ::accept4(port->fd, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
    accepted.push_back(fd);
    return quota.take(fd, peer);
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(take(), ConnectionQuota::Verdict::kTaken);
  EXPECT_EQ(take(), ConnectionQuota::Verdict::kTooManyOfHost);
  for (const int fd : {accepted[0], accepted[1], accepted[3]}) ::close(fd);
  const SteadyTime until = steady_now() + kPatience;
  ConnectionQuota::Verdict verdict = take();
  while (verdict != ConnectionQuota::Verdict::kTaken && steady_now() < until) {
    ::close(accepted.back());
    verdict = take();  // who is open is looked at again, but not all the time
  }
  EXPECT_EQ(verdict, ConnectionQuota::Verdict::kTaken);
  ::close(accepted[2]);
  ::close(accepted.back());
  ::close(port->fd);
}

}  // namespace
}  // namespace sluice::net
