// Endless headers: a peer that has proved nothing sent one header block in thousands of frames,
// which took 18 bytes of memory and much CPU time for each of its own. Its connection is closed,
// and others are served.
#include "common/rpc/guard/connection_frames.hpp"

#include <csignal>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "common/net/address.hpp"
#include "common/net/certificates.hpp"
#include "common/os/clock.hpp"
#include "common/net/socket_stream.hpp"
#include "common/rpc/tls_identity.hpp"
#include "unit/rpc/rpc_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

constexpr uint8_t kData = 0, kHeaders = 1, kSettings = 4, kContinuation = 9;
constexpr uint8_t kEndHeaders = 4;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(uint8_t type, uint8_t flags, const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string out{static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                  static_cast<char>(size), static_cast<char>(type), static_cast<char>(flags)};
  out += std::string("\0\0\0\1", 4);
  return out + payload;
}

class Followed {
 public:
  bool read(std::string_view bytes) { return frames_.receive(bytes, {}).empty(); }

 private:
  ConnectionFrames frames_;
};

TEST(HeaderBlocks, AreBoundedInBytesAndFrames) {
  const std::string half(HeaderBlocks::kMostBytes / 2, 'x');
  Followed good;
  EXPECT_TRUE(good.read(kPreface + frame(kSettings, 0, "") + frame(kHeaders, 0, half)));
  EXPECT_TRUE(good.read(frame(kContinuation, kEndHeaders, half)));
  EXPECT_TRUE(good.read(frame(kData, 0, std::string(1'000'000, 'x')))) << "data are another thing";
  EXPECT_TRUE(good.read(frame(kHeaders, kEndHeaders, half))) << "each block is counted anew";
  Followed long_one;
  EXPECT_TRUE(long_one.read(kPreface + frame(kHeaders, 0, half) + frame(kContinuation, 0, half)));
  EXPECT_FALSE(long_one.read(frame(kContinuation, 0, "x")));
  Followed many;
  EXPECT_TRUE(many.read(kPreface + frame(kHeaders, 0, "")));
  for (uint32_t i = 1; i < HeaderBlocks::kMostFrames; ++i)
    EXPECT_TRUE(many.read(frame(kContinuation, 0, "")));
  EXPECT_FALSE(many.read(frame(kContinuation, 0, "")));
  Followed mixed;
  EXPECT_TRUE(mixed.read(kPreface + frame(kHeaders, 0, "")));
  EXPECT_FALSE(mixed.read(frame(kData, 0, "")));
}

TEST(HeaderBlocks, AreFollowedWhateverTheReadsAre) {
  const std::string all = kPreface + frame(kHeaders, 0, std::string(60'000, 'x')) +
                          frame(kContinuation, 0, std::string(6'000, 'x'));
  for (const size_t step : {1, 2, 7, 9, 4096}) {
    Followed blocks;
    size_t at = 0;
    while (at < all.size() && blocks.read(std::string_view(all).substr(at, step))) at += step;
    EXPECT_LT(at, all.size()) << step;
    EXPECT_GE(at + step, 60'000U) << step;
  }
}

// How much of an endless header block a server takes.
template <class Send>
size_t taken_of_endless(const Send& send) {
  std::string many;
  while (many.size() < 16'000) many += std::string("\0\1x\0", 4);
  if (!send(kPreface + frame(kSettings, 0, "") + frame(kHeaders, 0, std::string("\0\1x\1y", 5))))
    return 0;
  const std::string more = frame(kContinuation, 0, many);
  size_t taken = 0;
  while (taken < (size_t{200} << 20) && send(more)) taken += more.size();
  return taken;
}
constexpr size_t kBuffered = size_t{16} << 20;  // what the kernel takes before it knows of the end

class EndlessHeaders : public RpcFixture {
 protected:
  [[nodiscard]] int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in there{.sin_family = AF_INET,
                      .sin_port = htons(static_cast<uint16_t>(server->port())),
                      .sin_addr = {htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
    return fd;
  }
};

TEST_F(EndlessHeaders, CloseTheConnection) {
  serve();
  start();
  const int fd = connect();
  const size_t taken = taken_of_endless([fd](const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t size = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return false;
      sent += static_cast<size_t>(size);
    }
    return true;
  });
  ::close(fd);
  EXPECT_LT(taken, kBuffered);
  RpcClient client(to_server());
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(client.call<EchoReply>(EchoRequest{std::string(100'000, 'x')}, kPatience));
}

TEST_F(EndlessHeaders, CloseAnEncryptedConnection) {
  const test::TempFolder folder;
  const auto write = [&folder](const std::string& name, const std::string& text) {
    const auto path = folder.path() / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path;
  };
  const Validity valid{now() - std::chrono::hours(1), now() + std::chrono::hours(24)};
  const auto authority = make_authority("test CA", valid);
  ASSERT_TRUE(authority);
  const auto pair = certify(*authority, {"slurmctld"}, valid);
  ASSERT_TRUE(pair);
  const TlsFiles files{write("ca.pem", authority->certificate),
                       write("cert.pem", pair->certificate), write("key.pem", pair->key)};
  const auto identity = TlsIdentity::open(files);
  ASSERT_TRUE(identity) << identity.error().text;
  serve({.receiver = std::string(kController),
         .auth = test_auth(),
         .tls = *identity,
         .slurm_user = ::geteuid()});
  start();
  const int fd = connect();
  ::signal(SIGPIPE, SIG_IGN);  // SSL_write() knows no MSG_NOSIGNAL
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  const unsigned char kH2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context, kH2, sizeof kH2);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  ASSERT_EQ(SSL_connect(ssl), 1);
  const size_t taken = taken_of_endless([ssl](const std::string& text) {
    return SSL_write(ssl, text.data(), static_cast<int>(text.size())) > 0;
  });
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, kBuffered);
  SSL_free(ssl);
  SSL_CTX_free(context);
  ::close(fd);
  ClientOptions options = to_server(test_auth());
  options.receiver = kController;
  options.tls = *TlsTrust::open(folder.path() / "ca.pem");
  RpcClient client(options);
  EXPECT_TRUE(client.call<EchoReply>(EchoRequest{std::string(1'000'000, 'x')}, kPatience));
}

}  // namespace
}  // namespace sluice::net
