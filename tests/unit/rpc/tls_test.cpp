// Encrypted connections between daemons and commands: who is believed, who is not and why, and
// certificates that are renewed meanwhile.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/address.hpp"
#include "common/net/certificates.hpp"
#include "common/os/clock.hpp"
#include "common/net/socket_stream.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/tls_identity.hpp"
#include "unit/rpc/rpc_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

constexpr auto kDay = std::chrono::hours(24);

Validity days(int from, int until) { return {now() + kDay * from, now() + kDay * until}; }

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class Tls : public RpcFixture {
 protected:
  void SetUp() override {
    ::unsetenv("SLURM_CA_CERT_FILE");  // NOLINT(concurrency-mt-unsafe)
    authority_ = *make_authority("test CA", days(-2, 10));
    write("ca.pem", authority_.certificate);
    certify_daemon({"slurmctld"});
  }
  void TearDown() override { server = nullptr; }
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  void certify_daemon(const std::vector<std::string>& names,
                      const Validity& valid = days(-1, 5)) const {
    const auto pair = certify(authority_, names, valid);
    ASSERT_TRUE(pair) << pair.error().text;
    write("key.pem", pair->key);
    write("cert.pem", pair->certificate);
  }
  [[nodiscard]] TlsFiles files() const {
    return {folder_ / "ca.pem", folder_ / "cert.pem", folder_ / "key.pem"};
  }
  void serve_tls(std::string receiver = std::string(kController)) {
    auto identity = TlsIdentity::open(files());
    ASSERT_TRUE(identity) << identity.error().text;
    serve({.receiver = std::move(receiver),
           .auth = test_auth(),
           .tls = *identity,
           .slurm_user = ::geteuid()});
    start();
  }
  [[nodiscard]] ClientOptions to_controller(const std::string& ca = "ca.pem") const {
    ClientOptions options = to_server(test_auth());
    options.receiver = kController;
    if (!ca.empty()) options.tls = *TlsTrust::open(folder_ / ca);
    return options;
  }
  static Result<EchoReply> ask(ClientOptions options) {
    return RpcClient(std::move(options)).call<EchoReply>(EchoRequest{"hello", 1}, kPatience);
  }
  static bool answers(const ClientOptions& options) {
    const auto reply = ask(options);
    EXPECT_TRUE(reply) << reply.error().text;
    const auto other = ask_as_daemon(options);
    EXPECT_TRUE(other) << other.error().text;
    return reply && other;
  }
  static Result<EchoReply> ask_as_daemon(ClientOptions options) {
    AsyncClient client(std::move(options));
    std::promise<Result<EchoReply>> done;
    client.call<EchoReply>(EchoRequest{"hello", 1}, kPatience,
                           [&](Result<EchoReply> reply) { done.set_value(std::move(reply)); });
    return done.get_future().get();
  }
  // Both clients refuse, and say why; returns what the first one says.
  static std::string refusal(const ClientOptions& options, std::string_view why) {
    const auto reply = ask(options);
    EXPECT_FALSE(reply);
    if (reply) return {};
    EXPECT_TRUE(holds(reply.error().text, why)) << reply.error().text;
    const auto other = ask_as_daemon(options);
    EXPECT_FALSE(other);
    if (!other) { EXPECT_TRUE(holds(other.error().text, why)) << other.error().text; }
    return reply.error().text;
  }
  test::TempFolder folder_;
  CertifiedKey authority_;
};

const std::vector<std::string> kHere{"slurmctld"};

TEST_F(Tls, CarriesCallsAndStreams) {
  serve_tls();
  EXPECT_TRUE(answers(to_controller()));
  RpcClient client(to_controller());
  auto stream = client.open<CountChunk>(CountRequest{300, 20000});
  ASSERT_TRUE(stream) << stream.error().text;
  CountChunk chunk;
  uint32_t count = 0;
  while (stream->read(chunk, kPatience) == ReadState::kChunk) {
    EXPECT_EQ(chunk.number, count++);
    EXPECT_EQ(chunk.filler.size(), 20000U);
  }
  EXPECT_EQ(count, 300U);
  const auto big = client.call<EchoReply>(EchoRequest{std::string(5 << 20, 'x'), 1}, kPatience);
  ASSERT_TRUE(big) << big.error().text;
  EXPECT_EQ(big->text.size(), size_t{5} << 20);
}

// Those that are answered are counted in what is sent, before it is encrypted.
TEST_F(Tls, CarriesManyCallsOfOneClient) {
  serve_tls();
  AsyncClient client(to_controller());
  constexpr int kCalls = 6'000;
  std::atomic<int> good{0};
  std::atomic<int> left{kCalls};
  std::promise<void> all;
  for (int i = 0; i < kCalls; ++i) {
    client.call<EchoReply>(EchoRequest{"x"}, std::chrono::seconds(60),
                           [&](const Result<EchoReply>& reply) {
                             if (reply) ++good;
                             else ADD_FAILURE() << reply.error().text;
                             if (--left == 0) all.set_value();
                           });
  }
  all.get_future().wait();
  EXPECT_EQ(good, kCalls);
}

TEST_F(Tls, AnotherCaIsNotBelieved) {
  serve_tls();
  write("other.pem", make_authority("test CA", days(-2, 10))->certificate);
  refusal(to_controller("other.pem"), "the certificate is not of the CA that is trusted here");
  EXPECT_EQ(ask(to_controller("other.pem")).error().code, ErrorCode::kAuthentication);
}

TEST_F(Tls, ANodeIsNotTheController) {
  certify_daemon({"slurmd", "n1"});
  serve_tls("n2");
  refusal(to_controller(), "is that of slurmd,slurmd,n1, and none of slurmctld, 127.0.0.1");
  ClientOptions options = to_controller();
  options.receiver = "n2";
  EXPECT_TRUE(answers(options));  // by the one pair that all nodes have
}

TEST_F(Tls, NamesOfOneNodeAreItsOwn) {
  certify_daemon({"n1"});
  serve_tls("n2");
  ClientOptions options = to_controller();
  options.receiver = "n2";
  refusal(options, "is that of n1,n1, and none of n2, slurmd");
}

TEST_F(Tls, PlainTextIsRefusedOnBothSides) {
  serve_tls();
  const auto reply = ask(to_controller(""));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kAuthentication);
  EXPECT_TRUE(holds(reply.error().text, "speaks TLS alone")) << reply.error().text;
  const auto daemons = ask_as_daemon(to_controller(""));
  ASSERT_FALSE(daemons);
  EXPECT_TRUE(holds(daemons.error().text, "speaks TLS alone")) << daemons.error().text;
  EXPECT_TRUE(holds(daemons.error().text, "TLSType")) << daemons.error().text;
  server = nullptr;
  serve({.auth = test_auth(), .slurm_user = ::geteuid()});
  start();
  const auto other = ask(to_controller());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kAuthentication);
  EXPECT_TRUE(holds(other.error().text, "speaks no TLS")) << other.error().text;
  EXPECT_FALSE(ask_as_daemon(to_controller()));
}

TEST_F(Tls, ARenewedCertificateIsShownWithoutARestart) {
  serve_tls();
  const ClientOptions old = to_controller();
  EXPECT_TRUE(answers(old));
  write("first.pem", authority_.certificate);
  authority_ = *make_authority("test CA", days(-2, 10));
  write("cert.pem", "nothing of the kind");
  EXPECT_TRUE(answers(old));  // what cannot be used is not used
  write("ca.pem", authority_.certificate);
  certify_daemon({"slurmctld"});
  refusal(to_controller("first.pem"), "is not of the CA");
  EXPECT_TRUE(answers(old));  // its CA's file was replaced, too
}

TEST_F(Tls, ADaemonSaysWhatIsWrongWithItsFiles) {
  const auto problem = [this] {
    const auto identity = TlsIdentity::open(files());
    EXPECT_FALSE(identity);
    return identity ? "" : identity.error().text;
  };
  certify_daemon({"slurmctld"}, days(-9, -3));
  EXPECT_TRUE(holds(problem(), "cert.pem: TLS: the certificate has expired: it was valid until "))
      << problem();
  certify_daemon({"slurmctld"}, days(3, 9));
  EXPECT_TRUE(holds(problem(), "is not valid yet")) << problem();
  certify_daemon({"slurmctld"});
  write("key.pem", make_authority("x", days(0, 1))->key);
  EXPECT_TRUE(holds(problem(), "key.pem: it is not the key of ")) << problem();
  std::filesystem::permissions(folder_ / "key.pem", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_TRUE(holds(problem(), "only its owner may have access")) << problem();
  std::filesystem::remove(folder_ / "cert.pem");
  EXPECT_TRUE(holds(problem(), "cert.pem: No such file")) << problem();
  write("ca.pem", "");
  EXPECT_TRUE(holds(problem(), "ca.pem: it holds no certificate")) << problem();
}

TEST_F(Tls, WhatHasExpiredIsNotBelieved) {
  const auto trust = TlsTrust::open(folder_ / "ca.pem");
  ASSERT_TRUE(trust);
  const auto verdict =
      (*trust)->check_chain(certify(authority_, kHere, days(-9, -3))->certificate, kHere);
  ASSERT_FALSE(verdict);
  EXPECT_TRUE(holds(verdict.error().text, "has expired")) << verdict.error().text;
  EXPECT_TRUE((*trust)->check_chain(certify(authority_, kHere, days(-1, 3))->certificate, kHere));
  // a daemon is no CA
  const auto daemon = certify(authority_, kHere, days(-1, 3));
  const auto forged = certify(*daemon, kHere, days(-1, 3));
  ASSERT_TRUE(forged);
  EXPECT_FALSE((*trust)->check_chain(forged->certificate + daemon->certificate, kHere));
}

TEST(CertifiedNames, AreTheReceiversAndItsHosts) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(certified_names(kController, "ctl:6817"), (Names{"slurmctld", "ctl"}));
  EXPECT_EQ(certified_names("n1", "[::1]:6818"), (Names{"n1", "slurmd", "::1"}));
  EXPECT_EQ(certified_names("n1", "unix:/x"), (Names{"n1", "slurmd"}));
}

TEST(TlsFiles, StandBesideSlurmConfUnlessTheyAreNamed) {
  ::unsetenv("SLURM_CA_CERT_FILE");  // NOLINT(concurrency-mt-unsafe)
  ClusterConfig config;
  config.config_path = "/etc/slurm/slurm.conf";
  EXPECT_FALSE(uses_tls(config));
  config.values["TLSType"] = "tls/s2n";
  EXPECT_TRUE(uses_tls(config));
  EXPECT_EQ(controller_tls_files(config).certificate, "/etc/slurm/ctld_cert.pem");
  EXPECT_EQ(controller_tls_files(config).key, "/etc/slurm/ctld_cert_key.pem");
  EXPECT_EQ(controller_tls_files(config).ca, "/etc/slurm/ca_cert.pem");
  config.values["TLSParameters"] =
      "ca_cert_file=/a,slurmd_cert_file=/c/%n.pem,slurmd_cert_key_file=/c/%n.key";
  NodeConfig node;
  node.name = "n7";
  EXPECT_EQ(agent_tls_files(config, node).certificate, "/c/n7.pem");
  EXPECT_EQ(agent_tls_files(config, node).key, "/c/n7.key");
  EXPECT_EQ(agent_tls_files(config, node).ca, "/a");
}

// A command's second connection costs neither side a signature.
TEST_F(Tls, ASecondConnectionGoesOnWhereTheFirstOneBegan) {
  serve_tls();
  const auto trust = *TlsTrust::open(folder_ / "ca.pem");
  const auto is_resumed = [&](const std::vector<std::string>& names) {
    SocketStream stream(*connect_to(address(), steady_now() + kPatience));
    const Status done = stream.secure(trust, names, address(), steady_now() + kPatience);
    EXPECT_TRUE(done) << done.error().text;
    char byte = 0;  // with the server's first word its tickets have come
    pollfd ready{stream.fd(), POLLIN, 0};
    while (done && stream.receive(&byte, 1) < 0 && errno == EAGAIN) ::poll(&ready, 1, 1000);
    return stream.is_resumed();
  };
  EXPECT_FALSE(is_resumed(kHere));
  EXPECT_TRUE(is_resumed(kHere));
  EXPECT_FALSE(is_resumed({"127.0.0.1", "slurmctld"})) << "who is to be somebody else is looked at";
  write("ca.pem", authority_.certificate + make_authority("another", days(-2, 10))->certificate);
  EXPECT_FALSE(is_resumed(kHere)) << "who is believed has changed";
}

TEST_F(Tls, WhatLeavesThisHost) {
  serve_tls();
  const int there = *connect_to(address(), steady_now() + kPatience);
  EXPECT_FALSE(leaves_host(there)) << "loopback";
  ::close(there);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_FALSE(leaves_host(ends[0]));
  for (const int end : ends) ::close(end);
}

// A query has no deadline: it waited for such a host for ever.
TEST_F(Tls, AHostThatSaysNothingIsUnreachableForAQuery) {
  const Listening mute;
  ClientOptions options{.addresses = {mute.address()}, .receiver = std::string(kController)};
  options.tls = *TlsTrust::open(folder_ / "ca.pem");
  options.connect_timeout = std::chrono::milliseconds(200);
  const auto stream = RpcClient(options).open<CountChunk>(CountRequest{.count = 1});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::kUnreachable) << stream.error().text;
}

// Whoever took the port of a dead controller may send a handshake that has no end.
TEST_F(Tls, AHandshakeHasAnEndThoughBytesCome) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  constexpr int kMany = 1000;
  std::atomic<bool> over = false;
  int sent = 0;
  std::thread peer([&] {
    // of 16 KiB: a ServerHello, it says
    const std::string record("\x16\x03\x03\x40\x00\x02\x00\x3f\xfc", 9);
    for (; sent < kMany && !over; ++sent) {
      const char byte =
          static_cast<size_t>(sent) < record.size() ? record[static_cast<size_t>(sent)] : '\0';
      if (::send(ends[1], &byte, 1, MSG_NOSIGNAL) != 1) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const auto trust = *TlsTrust::open(folder_ / "ca.pem");
  SocketStream stream(ends[0]);
  const Status done = stream.secure(trust, {"slurmctld"}, "ctl:6817",
                                    steady_now() + std::chrono::milliseconds(200));
  over = true;
  peer.join();
  ::close(ends[1]);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnreachable) << done.error().text;
  EXPECT_LT(sent, kMany) << "it was listened to until its end";
}

}  // namespace
}  // namespace sluice::net
