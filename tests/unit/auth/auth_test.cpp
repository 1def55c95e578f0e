// Tokens, keys, the token socket, munge's errors, and signatures.
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <munge.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/back_off.hpp"
#include "common/auth/auth_config.hpp"
#include "common/auth/auth_munge.hpp"
#include "common/auth/auth_slurm.hpp"
#include "common/os/clock.hpp"
#include "common/os/local_address.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/signer.hpp"
#include "common/rpc/token_server.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

using std::chrono::seconds;

const Time kNow = from_seconds(1'800'000'000);
const std::string kDigest(32, 'd');

ClusterKey key(char c) { return ClusterKey::from_bytes(std::string(32, c)); }

class Tokens : public ::testing::Test {
 protected:
  // The text of the refusal, or "" when the token is accepted.
  std::string verify(const std::string& token, Time now = kNow,
                     const std::string& digest = kDigest) {
    const Result<Identity> identity = verifier.verify(token, digest, now);
    if (identity) return "";
    EXPECT_EQ(identity.error().code, ErrorCode::kAuthentication);
    return identity.error().text;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  TokenMaker maker{key('k'), "c1", "n7"};
  TokenVerifier verifier{key('k'), "c1"};
};

TEST_F(Tokens, GoodOneIsAcceptedOnce) {
  const std::string token = maker.make(1000, 100, kDigest, kNow);
  const Result<Identity> identity = verifier.verify(token, kDigest, kNow);
  ASSERT_TRUE(identity) << identity.error().text;
  EXPECT_TRUE(identity->authenticated);
  EXPECT_EQ(identity->uid, 1000u);
  EXPECT_EQ(identity->gid, 100u);
  EXPECT_EQ(identity->host, "n7");
  EXPECT_TRUE(has(verify(token), "replayed"));
  EXPECT_TRUE(has(verify(token, kNow + seconds(80)), "replayed"));
}

TEST_F(Tokens, OlderThanTheVerifierIsToBeMadeAnew) {
  TokenVerifier restarted(key('k'), "c1", kNow);
  const auto old = restarted.verify(maker.make(1000, 100, kDigest, kNow - seconds(1)), kDigest,
                                    kNow + seconds(1));
  ASSERT_FALSE(old);  // it may have been used before the restart
  EXPECT_EQ(old.error().code, ErrorCode::kRetry);
  EXPECT_TRUE(is_older_than_daemon(old.error())) << old.error().text;
  EXPECT_NE(old.error().text.find(
                "issued 2.0 s ago by this host's clock; if it is new, the clock of n7 is behind"),
            std::string::npos)
      << old.error().text;
  EXPECT_TRUE(restarted.verify(maker.make(1000, 100, kDigest, kNow), kDigest, kNow + seconds(1)));
}

// A daemon of a host whose clock was ahead refused all of them until the clock had caught up with
// its start.
TEST_F(Tokens, AClockThatIsSetBackStartsTheVerifierAnew) {
  TokenVerifier early(key('k'), "c1", kNow + seconds(7200));
  const auto before =
      early.verify(maker.make(1000, 100, kDigest, kNow - seconds(1)), kDigest, kNow);
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code, ErrorCode::kRetry);
  EXPECT_TRUE(
      early.verify(maker.make(1000, 100, kDigest, kNow + seconds(1)), kDigest, kNow + seconds(1)));
}

TEST_F(Tokens, RefusalsSayWhichItWas) {
  const std::string token = maker.make(1000, 100, kDigest, kNow);
  const std::string late = verify(token, kNow + seconds(500));
  EXPECT_TRUE(has(late, "expired") && has(late, "500 s") && has(late, "n7")) << late;
  const std::string early = verify(token, kNow - seconds(300));
  EXPECT_TRUE(has(early, "not valid yet") && has(early, "clock difference 300 s")) << early;
  EXPECT_TRUE(has(verify(token, kNow, std::string(32, 'e')), "another request"));
  const TokenMaker other_key(key('x'), "c1", "n7");
  EXPECT_TRUE(has(verify(other_key.make(0, 0, kDigest, kNow)), "another key"));
  const TokenMaker other_cluster(key('k'), "c2", "n7");
  EXPECT_TRUE(has(verify(other_cluster.make(0, 0, kDigest, kNow)),
                  "cluster 'c2', not for 'c1': where ClusterName was "
                  "changed in slurm.conf, put the old name back"));
  const std::string eternal = maker.sign({.uid = 0,
                                          .gid = 0,
                                          .issued = kNow,
                                          .expires = kNow + seconds(100'000),
                                          .nonce = 5,
                                          .host = "n7",
                                          .cluster = "c1",
                                          .digest = kDigest});
  EXPECT_TRUE(has(verify(eternal, kNow + seconds(91)), "expired"))
      << "no token lives longer than the verifier remembers";
  for (const std::string& junk :
       {std::string(), std::string("x"), std::string(40, '\1'), std::string(5000, '\1')}) {
    EXPECT_FALSE(verify(junk).empty());
  }
  EXPECT_EQ(verify(token, kNow + seconds(85)), "") << "within the tolerance of clocks";
}

TEST_F(Tokens, LiveAsLongAsTtlSays) {
  ClusterConfig config;
  const auto lifetime = [&](const std::string& info) {
    config.auth_info = info;
    return auth_options(config).lifetime;
  };
  EXPECT_EQ(lifetime("socket=/x,ttl=300"), seconds(300));
  EXPECT_EQ(lifetime("ttl=99999999999"), seconds(3600));
  for (const char* usual : {"socket=/x", "ttl=", "ttl=0", "ttl=-5", "ttl=x"})
    EXPECT_EQ(lifetime(usual), Duration::zero()) << usual;
  const TokenMaker lasting(key('k'), "c1", "n7", seconds(300)),
      passing(key('k'), "c1", "n7", seconds(5));
  TokenVerifier patient(key('k'), "c1", kNoTime, seconds(300));
  const auto accepts = [&](const TokenMaker& from, int64_t age) {
    return patient.verify(from.make(1, 1, kDigest, kNow), kDigest, kNow + seconds(age)).has_value();
  };
  EXPECT_TRUE(accepts(lasting, 329) && accepts(maker, 89) && accepts(passing, 34));
  EXPECT_FALSE(accepts(lasting, 331) || accepts(maker, 91) || accepts(passing, 36));
  const std::string token = lasting.make(1, 1, kDigest, kNow);
  ASSERT_TRUE(patient.verify(token, kDigest, kNow));
  EXPECT_TRUE(has(patient.verify(token, kDigest, kNow + seconds(320)).error().text, "replayed"));
}

TEST_F(Tokens, NoAlteredByteIsAccepted) {
  const std::string token = maker.make(1000, 100, kDigest, kNow);
  for (size_t i = 0; i < token.size(); ++i) {
    std::string forged = token;
    forged[i] = static_cast<char>(forged[i] ^ 1);
    EXPECT_FALSE(verify(forged).empty()) << "byte " << i;
    EXPECT_FALSE(verify(token.substr(0, i)).empty());
  }
}

TEST(Crypto, HmacIsTheOneOfRfc4231) {
  const auto hex = [](const std::string& bytes) {
    std::string text;
    for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text;
  };
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Replays, MemoryIsBoundedAndPeriodsEnd) {
  ReplayCache cache(seconds(10), 1600);
  int full = 0;
  for (uint64_t i = 0; i < 3200; ++i) {
    const uint64_t spread = i * 0x9e3779b97f4a7c15ull;
    if (cache.insert(spread, kNow) == ReplayCache::Verdict::kFull) ++full;
  }
  EXPECT_GE(full, 1500);
  EXPECT_EQ(cache.insert(0, kNow), ReplayCache::Verdict::kReplayed);
  EXPECT_EQ(cache.insert(0, kNow + seconds(15)), ReplayCache::Verdict::kReplayed);
  EXPECT_EQ(cache.insert(0, kNow + seconds(40)), ReplayCache::Verdict::kFresh);
}

// The period went on until the clock had caught up, so that there was no room for more in the end.
TEST(Replays, AClockThatIsSetBackEndsThePeriod) {
  ReplayCache cache(seconds(10), 1600);
  for (uint64_t i = 0; i < 3200; ++i)
    (void)cache.insert(i * 0x9e3779b97f4a7c15ull, kNow + seconds(7200));
  EXPECT_EQ(cache.insert(4711, kNow + seconds(7200)), ReplayCache::Verdict::kFull);
  EXPECT_EQ(cache.insert(4711, kNow), ReplayCache::Verdict::kFresh);
  EXPECT_EQ(cache.insert(0, kNow), ReplayCache::Verdict::kReplayed)
      << "what came before is known still";
}

class KeyFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder =
        std::filesystem::path(::testing::TempDir()) / ("net-keys-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name, const std::string& bytes, mode_t mode) const {
    const std::string path = folder / name;
    std::ofstream(path) << bytes;
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::filesystem::path folder;
};

TEST_F(KeyFiles, OnlyPrivateAndLongOnesAreTaken) {
  const std::string good(32, 'k');
  EXPECT_TRUE(ClusterKey::load(file("a", good, 0600)));
  EXPECT_TRUE(ClusterKey::load(file("b", good, 0400)));
  for (const mode_t mode : {0640, 0604, 0644, 0660, 0700}) {
    const auto loaded = ClusterKey::load(file("c" + std::to_string(mode), good, mode));
    ASSERT_FALSE(loaded) << mode;
    EXPECT_NE(loaded.error().text.find("mode"), std::string::npos);
  }
  EXPECT_FALSE(ClusterKey::load(file("d", good.substr(1), 0600)));
  EXPECT_FALSE(ClusterKey::load(folder));
  EXPECT_EQ(ClusterKey::load(folder / "none").error().code, ErrorCode::kPathMissing);
}

TEST_F(KeyFiles, MakeAuthChoosesByTypeAndReadability) {
  const std::string path = file("a", std::string(32, 'k'), 0600);
  EXPECT_TRUE(make_auth({.type = "auth/slurm", .cluster = "c", .key_file = path}));
  EXPECT_TRUE(make_auth({.type = "auth/munge", .cluster = "c"}));
  EXPECT_FALSE(make_auth({.type = "auth/none", .cluster = "c"}));
  AuthOptions missing{.type = "auth/slurm", .cluster = "c", .key_file = folder / "none"};
  EXPECT_FALSE(make_auth(missing));
  missing.token_socket = folder / "socket";
  EXPECT_TRUE(make_auth(missing));
}

// Root made the file where somebody's link led to, and gave it to the daemon's user.
TEST_F(KeyFiles, TheLockOfATokenSocketFollowsNoLink) {
  const std::string path = folder / "sack.socket";
  std::filesystem::create_symlink(folder / "elsewhere", path + ".lock");
  EXPECT_FALSE(
      TokenServer::start(path, std::make_shared<const TokenMaker>(key('k'), "c1", "here")));
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_F(KeyFiles, TokenSocketVouchesForThePeer) {
  const std::string path = folder / "sack.socket";
  const auto maker = std::make_shared<const TokenMaker>(key('k'), "c1", "here");
  auto server = TokenServer::start(path, maker);
  ASSERT_TRUE(server) << server.error().text;
  EXPECT_EQ(TokenServer::start(path, maker).error().code, ErrorCode::kDuplicateName);

  const auto auth = make_socket_auth(path);
  const RequestDigest digest = digest_request("n1", "Echo", "bytes");
  const auto token = auth->create_token(digest);
  ASSERT_TRUE(token) << token.error().text;
  TokenVerifier verifier(key('k'), "c1");
  const auto identity = verifier.verify(*token, digest.bytes, now());
  ASSERT_TRUE(identity) << identity.error().text;
  EXPECT_EQ(identity->uid, ::geteuid());
  EXPECT_EQ(identity->host, "here");
  EXPECT_FALSE(auth->verify(*token, digest));
  EXPECT_FALSE(auth->create_token({"not a digest"}));

  server->reset();  // a restarted daemon is found again, an absent one named
  EXPECT_FALSE(auth->create_token(digest));
  server = TokenServer::start(path, maker);
  ASSERT_TRUE(server);
  EXPECT_TRUE(auth->create_token(digest));
  std::vector<std::jthread> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.emplace_back([&] {
      for (int j = 0; j < 50; ++j) EXPECT_TRUE(make_socket_auth(path)->create_token(digest));
    });
  }
}

TEST_F(KeyFiles, AnotherDaemonTakesTheTokensOver) {
  const std::string key_file = file("slurm.key", std::string(32, 'k'), 0600);
  AuthOptions options{.type = "auth/slurm", .cluster = "c1"};
  options.key_file = key_file;
  options.token_socket = folder / "tokens.socket";
  options.slurm_user = ::geteuid();
  auto first = serve_tokens(options);
  auto second = serve_tokens(options);
  auto third = serve_tokens(options);
  ASSERT_TRUE(first && second && third) << (first ? "" : first.error().text);
  EXPECT_TRUE((*first)->serves());
  EXPECT_FALSE((*second)->serves() || (*third)->serves());
  first->reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!(*second)->serves() && !(*third)->serves()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_NE((*second)->serves(), (*third)->serves());
  EXPECT_TRUE(
      make_socket_auth(options.token_socket)->create_token(digest_request("n1", "Echo", "bytes")));
}

// The bug: who had served in the old folder removed the socket of the one that served in the new.
TEST_F(KeyFiles, ATokenSocketThatIsNotItsOwnStays) {
  const std::string place = folder / "run", path = place + "/sack.socket";
  const auto maker = std::make_shared<const TokenMaker>(key('k'), "c1", "here");
  std::filesystem::create_directory(place);
  auto first = TokenServer::start(path, maker);
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_TRUE((*first)->is_in_place());
  std::filesystem::remove_all(place);
  EXPECT_FALSE((*first)->is_in_place());
  std::filesystem::create_directory(place);
  auto second = TokenServer::start(path, maker);
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_FALSE((*first)->is_in_place());
  first->reset();
  EXPECT_TRUE((*second)->is_in_place());
}

// The bug: nobody made it again, and no user could ask anything.
TEST_F(KeyFiles, ATokenSocketThatIsRemovedIsMadeAgain) {
  AuthOptions options{.type = "auth/slurm", .cluster = "c1"};
  options.key_file = file("slurm.key", std::string(32, 'k'), 0600);
  options.token_socket = folder / "tokens.socket";
  options.slurm_user = ::geteuid();
  auto service = serve_tokens(options);
  ASSERT_TRUE(service) << service.error().text;
  std::filesystem::remove(options.token_socket);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(options.token_socket)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(
      make_socket_auth(options.token_socket)->create_token(digest_request("n1", "Echo", "bytes")));
}

TEST_F(KeyFiles, WhoGivesNoTokensIsNamedAndReplaced) {
  const std::string path = folder / "sack.socket";
  constexpr std::chrono::milliseconds kSoon{200};
  EXPECT_EQ(silent_server(path, kSoon), 0) << "nobody is there";
  const int silent = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto address = local_address(path);
  ASSERT_TRUE(address);
  ASSERT_EQ(::bind(silent, reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  ASSERT_EQ(::listen(silent, 5), 0);
  EXPECT_EQ(silent_server(path, kSoon), ::getpid());
  const auto maker = std::make_shared<const TokenMaker>(key('k'), "c1", "here");
  const auto server = TokenServer::replace_silent(path, maker);
  ASSERT_TRUE(server) << server.error().text;
  EXPECT_EQ(silent_server(path, kSoon), 0);
  EXPECT_TRUE(make_socket_auth(path)->create_token(digest_request("n1", "Echo", "bytes")));
  ::close(silent);
}

TEST(LastingTrouble, IsSaidOnceAMinute) {
  LastingTrouble trouble;
  const SteadyTime start = steady_now();
  EXPECT_TRUE(trouble.is_to_be_said(start));
  EXPECT_FALSE(trouble.is_to_be_said(start + std::chrono::seconds(59)));
  EXPECT_TRUE(trouble.is_to_be_said(start + std::chrono::seconds(60)));
  trouble.over();
  EXPECT_TRUE(trouble.is_to_be_said(start + std::chrono::seconds(61)));
}

TEST_F(KeyFiles, SignerKeepsItsKeyAndOnlyItsSignaturesHold) {
  const std::string path = folder / "signing.key";
  EXPECT_EQ(CredentialSigner::load(path).error().code, ErrorCode::kPathMissing);
  const auto first = CredentialSigner::create(path);
  ASSERT_TRUE(first) << first.error().text;
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  const auto again = CredentialSigner::load(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(first->public_key(), again->public_key());

  const auto verifier = CredentialVerifier::from_public_key(again->public_key());
  ASSERT_TRUE(verifier);
  const std::string signature = first->sign("launch job 7");
  EXPECT_TRUE(verifier->verify("launch job 7", signature));
  EXPECT_EQ(verifier->verify("launch job 8", signature).error().code,
            ErrorCode::kInvalidCredential);
  EXPECT_FALSE(verifier->verify("launch job 7", signature.substr(1)));
  EXPECT_FALSE(verifier->verify("launch job 7", CredentialSigner::generate().sign("launch job 7")));
  EXPECT_FALSE(CredentialVerifier::from_public_key("short"));
}

TEST(Munge, ErrorsSayWhichItWas) {
  const auto text = [](int problem) { return munge_error(problem, 1000, 1400).text; };
  EXPECT_EQ(text(EMUNGE_CRED_EXPIRED),
            "auth/munge: the credential has expired; check the clocks of both hosts "
            "(clock difference 400 s)");
  EXPECT_NE(text(EMUNGE_CRED_REWOUND).find("future"), std::string::npos);
  EXPECT_NE(text(EMUNGE_CRED_REPLAYED).find("replayed"), std::string::npos);
  EXPECT_NE(text(EMUNGE_CRED_INVALID).find("another key"), std::string::npos);
  EXPECT_NE(text(EMUNGE_BAD_CRED).find("malformed"), std::string::npos);
  const auto nobody = make_munge_auth("/nonexistent/munge.socket", "c");
  const auto token = nobody->create_token(digest_request("n1", "a", "b"));
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().text.find("munged cannot be reached"), std::string::npos);
}

}  // namespace
}  // namespace sluice::net
