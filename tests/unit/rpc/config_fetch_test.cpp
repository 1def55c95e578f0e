// Configuration from a controller: whom to ask, with which proof, and what is not taken from it.
#include "common/net/config_fetch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/protocol/ctld.hpp"
#include "common/rpc/token_server.hpp"
#include "unit/rpc/rpc_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

using Addresses = std::vector<std::string>;

TEST(ConfServers, AreHostsWithOrWithoutAPort) {
  EXPECT_EQ(parse_conf_servers("ctl"), (Addresses{"ctl:6817"}));
  EXPECT_EQ(parse_conf_servers("ctl1:7000, ctl2"), (Addresses{"ctl1:7000", "ctl2:6817"}));
  EXPECT_EQ(parse_conf_servers("10.0.0.1:7000"), (Addresses{"10.0.0.1:7000"}));
  EXPECT_EQ(parse_conf_servers("[fe80::1]:7000,[fe80::2],fe80::3"),
            (Addresses{"[fe80::1]:7000", "[fe80::2]:6817", "[fe80::3]:6817"}));
}

TEST(ConfServers, AreRefusedByName) {
  for (const char* bad : {"", ",", "ctl,", ":7000", "ctl:", "ctl:port", "ctl:0", "ctl:65536",
                          "ctl:-1", "[fe80::1", "[]:1", "a b", "unix:/tmp/x"}) {
    const auto addresses = parse_conf_servers(bad);
    ASSERT_FALSE(addresses) << bad;
    EXPECT_EQ(addresses.error().code, ErrorCode::kInvalidConfig);
  }
  EXPECT_EQ(parse_conf_servers("ctl1,ctl2:x").error().text, "\"ctl2:x\" is no HOST or HOST:PORT");
}

TEST(ConfigDigest, ChangesWithNamesAndTexts) {
  const std::string one = config_digest({{"slurm.conf", "a"}});
  EXPECT_EQ(one, config_digest({{"slurm.conf", "a"}}));
  EXPECT_NE(one, config_digest({{"slurm.conf", "b"}}));
  EXPECT_NE(one, config_digest({{"slurm.conf", "a"}, {"gres.conf", ""}}));
  EXPECT_NE(config_digest({{"a.conf", "b"}, {"c.conf", ""}}),
            config_digest({{"a.conf", ""}, {"c.conf", "b"}}));
}

class ConfigFetch : public RpcFixture {
 protected:
  void SetUp() override {
    ::unsetenv("SLURM_SACK_KEY");  // NOLINT(concurrency-mt-unsafe)
    write_key(kKeyBytes);
    serve({.receiver = std::string(kController), .auth = test_auth(), .slurm_user = ::geteuid()});
    server->handle<protocol::PingRequest, protocol::PingReply>(
        [this](const CallContext&, const protocol::PingRequest&,
               Responder<protocol::PingReply> responder) { responder.reply(told_); },
        kForAnyone);
    server->handle<protocol::FetchConfigRequest, protocol::FetchConfigReply>(
        [this](const CallContext& context, const protocol::FetchConfigRequest&,
               Responder<protocol::FetchConfigReply> responder) {
          asked_by_ = context.identity;
          responder.complete(reply_);
        });
    start();
    told_.cluster = "test";
    told_.auth_type = "auth/slurm";
    send({{"slurm.conf", "ClusterName=test\n"}, {"gres.conf", "Name=gpu\n"}});
  }
  void TearDown() override { server = nullptr; }
  void write_key(const std::string& bytes) const {
    const auto path = folder_ / "slurm.key";
    std::filesystem::remove(path);
    std::ofstream(path) << bytes;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  }
  void send(std::vector<ConfigFile> files) {
    protocol::FetchConfigReply reply;
    reply.digest = config_digest(files);
    reply.files = std::move(files);
    reply_ = std::move(reply);
  }
  [[nodiscard]] Result<protocol::FetchConfigReply> fetch() const {
    return fetch_config({.addresses = {address()},
                         .config_path = (folder_ / "slurm.conf").string(),
                         .holds_key = true,
                         .timeout = kPatience});
  }
  [[nodiscard]] std::string refusal() const {
    const auto reply = fetch();
    EXPECT_FALSE(reply);
    return reply ? "" : reply.error().text;
  }
  test::TempFolder folder_;
  protocol::PingReply told_;
  Result<protocol::FetchConfigReply> reply_;
  Identity asked_by_;
};

TEST_F(ConfigFetch, ProvesItselfAsTheControllerWantsIt) {
  const auto reply = fetch();
  ASSERT_TRUE(reply) << reply.error().text;
  ASSERT_EQ(reply->files.size(), 2U);
  EXPECT_EQ(reply->files[1], (ConfigFile{"gres.conf", "Name=gpu\n"}));
  EXPECT_TRUE(asked_by_.is_user(::geteuid()));
}

TEST_F(ConfigFetch, NeedsTheKeyOfTheCluster) {
  write_key(std::string(32, 'x'));
  EXPECT_NE(refusal().find("signature is wrong"), std::string::npos) << refusal();
  std::filesystem::remove(folder_ / "slurm.key");
  EXPECT_NE(refusal().find("key file " + (folder_ / "slurm.key").string()), std::string::npos)
      << refusal();
  EXPECT_FALSE(asked_by_.authenticated);
}

TEST_F(ConfigFetch, ALiarIsNotBelieved) {
  server = nullptr;
  serve();  // has no key
  server->handle<protocol::PingRequest, protocol::PingReply>(
      [this](const CallContext&, const protocol::PingRequest&,
             Responder<protocol::PingReply> responder) { responder.reply(told_); });
  server->handle<protocol::FetchConfigRequest, protocol::FetchConfigReply>(
      [this](const CallContext&, const protocol::FetchConfigRequest&,
             Responder<protocol::FetchConfigReply> responder) { responder.complete(reply_); });
  start();
  EXPECT_NE(refusal().find("the answer is not signed"), std::string::npos) << refusal();
}

// Whoever holds the port says that munge is enough: of that he can have any user's credentials.
TEST_F(ConfigFetch, NobodyTalksItOutOfTheKey) {
  told_.auth_type = "auth/munge";
  told_.slurm_user = ::geteuid();
  EXPECT_NE(refusal().find("has the key of auth/slurm"), std::string::npos) << refusal();
  EXPECT_FALSE(asked_by_.authenticated);
  std::filesystem::remove(folder_ / "slurm.key");
  const auto pinned = fetch_config({.addresses = {address()},
                                    .config_path = (folder_ / "slurm.conf").string(),
                                    .holds_key = true,
                                    .auth_type = "auth/slurm",
                                    .timeout = kPatience});
  ASSERT_FALSE(pinned);
  EXPECT_NE(pinned.error().text.find("proved itself by auth/slurm before"), std::string::npos)
      << pinned.error().text;
  EXPECT_FALSE(asked_by_.authenticated);
}

// He says which user SlurmUser is, too: that he is himself. What is asked can be read by the one
// alone whom this host takes for SlurmUser.
TEST_F(ConfigFetch, SlurmUserIsNotLearntFromWhoeverAnswers) {
  const AuthOptions munge{.type = "auth/munge", .cluster = "test"};
  const auto own = make_auth(munge);
  if (!own || !(*own)->create_token(digest_request(kController, "x", "y")))
    GTEST_SKIP() << "no munged";
  server = nullptr;
  serve({.receiver = std::string(kController), .auth = *own, .slurm_user = ::geteuid()});
  server->handle<protocol::PingRequest, protocol::PingReply>(
      [this](const CallContext&, const protocol::PingRequest&,
             Responder<protocol::PingReply> responder) { responder.reply(told_); },
      {.access = Access::kAnyone});
  server->handle<protocol::FetchConfigRequest, protocol::FetchConfigReply>(
      [this](const CallContext&, const protocol::FetchConfigRequest&,
             Responder<protocol::FetchConfigReply> responder) { responder.complete(reply_); });
  start();
  told_.auth_type = "auth/munge";
  told_.slurm_user = ::geteuid();
  std::filesystem::remove(folder_ / "slurm.key");
  ConfigServer asked{.addresses = {address()},
                     .config_path = (folder_ / "slurm.conf").string(),
                     .holds_key = true,
                     .slurm_user = ::geteuid() + 7,
                     .timeout = kPatience};
  const auto lied = fetch_config(asked);
  ASSERT_FALSE(lied);
  EXPECT_NE(lied.error().text.find("this host takes it for uid"), std::string::npos)
      << lied.error().text;
  asked.slurm_user = ::geteuid();
  const auto real = fetch_config(asked);
  EXPECT_TRUE(real) << real.error().text;
}

// He names munged's socket, too: one in whose place somebody of this host can put his own is not
// asked, whosever it is now.
TEST_F(ConfigFetch, ASocketThatMayBeReplacedIsNotAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives folders away";
  constexpr uid_t kOther = 54321;
  std::filesystem::remove(folder_ / "slurm.key");
  told_.auth_type = "auth/munge";
  const auto his = folder_ / "his";
  std::filesystem::create_directory(his);
  std::ofstream(his / "socket") << "";
  told_.auth_socket = (his / "socket").string();
  EXPECT_EQ(refusal().find("another user's"), std::string::npos) << refusal();
  ASSERT_EQ(::chown(his.c_str(), kOther, kOther), 0);
  EXPECT_NE(refusal().find("is another user's, or could be: it is not asked"), std::string::npos)
      << refusal();
  ASSERT_EQ(::chown(his.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(his.c_str(), 01777), 0);
  EXPECT_EQ(refusal().find("another user's"), std::string::npos) << "nobody else may rename it";
  told_.auth_socket = (his / "other").string();
  EXPECT_NE(refusal().find("or could be"), std::string::npos) << "anybody may make it";
}

// A command has no key: the agent of its host has the answer signed for it, and a configuration
// with anybody's SrunProlog is not taken.
TEST_F(ConfigFetch, CommandsTakeNothingUnsigned) {
  ::setenv("SLURM_SACK_KEY", (folder_ / "not-here").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  told_.auth_socket = (folder_ / "sack.socket").string();
  auto maker =
      std::make_shared<const TokenMaker>(ClusterKey::from_bytes(kKeyBytes), "test", "here");
  auto agent = TokenServer::start(told_.auth_socket, maker, ::geteuid());
  ASSERT_TRUE(agent) << agent.error().text;
  const ConfigServer asked{.addresses = {address()},
                           .config_path = (folder_ / "slurm.conf").string(),
                           .timeout = kPatience};
  auto reply = fetch_config(asked);
  EXPECT_TRUE(reply) << reply.error().text;
  server = nullptr;
  serve();  // has no key
  server->handle<protocol::PingRequest, protocol::PingReply>(
      [this](const CallContext&, const protocol::PingRequest&,
             Responder<protocol::PingReply> responder) { responder.reply(told_); });
  server->handle<protocol::FetchConfigRequest, protocol::FetchConfigReply>(
      [this](const CallContext&, const protocol::FetchConfigRequest&,
             Responder<protocol::FetchConfigReply> responder) { responder.complete(reply_); });
  start();
  ConfigServer liar = asked;
  liar.addresses = {address()};
  reply = fetch_config(liar);
  ::unsetenv("SLURM_SACK_KEY");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().text.find("the answer is not signed"), std::string::npos)
      << reply.error().text;
}

TEST_F(ConfigFetch, TheKeyMayBeNamed) {
  std::filesystem::rename(folder_ / "slurm.key", folder_ / "other.key");
  ::setenv("SLURM_SACK_KEY", (folder_ / "other.key").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto reply = fetch();
  ::unsetenv("SLURM_SACK_KEY");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_TRUE(reply) << reply.error().text;
}

TEST_F(ConfigFetch, SaysWhoRefusedAndWhy) {
  reply_ = failure(ErrorCode::kDisabled, "not here");
  const auto reply = fetch();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kDisabled);
  EXPECT_EQ(reply.error().text, "no configuration from " + address() + ": not here");
}

TEST_F(ConfigFetch, TakesNothingThatMustNotBeWritten) {
  send({{"slurm.conf", ""}, {"../../etc/cron.d/x.conf", "bad"}});
  EXPECT_NE(refusal().find("\"../../etc/cron.d/x.conf\" is no name for a configuration file"),
            std::string::npos);
  send({{"slurm.conf", ""}, {"gres.conf", std::string(kMostConfigFileBytes + 1, '#')}});
  EXPECT_NE(refusal().find("gres.conf has 16777217 bytes"), std::string::npos);
  send({{"gres.conf", ""}});
  EXPECT_NE(refusal().find("no slurm.conf"), std::string::npos);
}

TEST_F(ConfigFetch, NoticesWhatWasLostOnTheWay) {
  reply_->files[0].text.pop_back();
  const auto reply = fetch();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kBadRequest);
}

TEST(ConfigFetchFromNobody, NamesTheServer) {
  const std::string nobody = dead_address();
  const auto reply = fetch_config({.addresses = {nobody}, .config_path = "/nowhere/slurm.conf"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(reply.error().text.find("no configuration from " + nobody), std::string::npos)
      << reply.error().text;
}

}  // namespace
}  // namespace sluice::net
