// A munged that hangs, or is not there: who proves himself otherwise is served meanwhile, and what is sent needs no thread of gRPC's.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/net/auth_munge.hpp"
#include "unit/rpc/rpc_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

// The socket of a munged that takes connections and never answers.
class HangingMunged {
 public:
  HangingMunged() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd_, 1000) != 0) std::abort();
  }
  HangingMunged(const HangingMunged&) = delete;
  HangingMunged& operator=(const HangingMunged&) = delete;
  ~HangingMunged() { ::close(fd_); }
  [[nodiscard]] std::string socket() const { return (folder_.path() / "munge").string(); }

 private:
  test::TempFolder folder_;
  int fd_;
};

// Of a site with munge where some have another proof, which takes no daemon to look at: "4711" is that user's.
class MungeAndNumbers final : public AuthProvider {
 public:
  MungeAndNumbers(std::string socket, std::string token) : munge_(make_munge_auth(std::move(socket), "c1")), token_(std::move(token)) {}
  [[nodiscard]] std::string_view name() const override { return "both"; }
  Result<std::string> create_token(const RequestDigest&) override { return token_; }
  Result<Proof> open(std::string_view token) override {
    if (token.starts_with("MUNGE:")) return munge_->open(token);
    return Proof{{.authenticated = true, .uid = 4711, .gid = 4711, .host = {}}, std::nullopt};
  }
  [[nodiscard]] WaitsFor open_waits_for(std::string_view token) const override {
    return token.starts_with("MUNGE:") ? munge_->open_waits_for(token) : WaitsFor::kNothing;
  }
  void on_outage(OutageListener listener) override { munge_->on_outage(std::move(listener)); }

 private:
  std::shared_ptr<AuthProvider> munge_;
  std::string token_;
};

using Credentials = RpcFixture;

TEST_F(Credentials, AMungedThatHangsStallsNobodyElse) {
  const HangingMunged munged;
  serve({.auth = std::make_shared<MungeAndNumbers>(munged.socket(), "")});
  start();
  AsyncClient stalled(to_server(std::make_shared<MungeAndNumbers>(munged.socket(), "MUNGE:AwQDAA:")));
  constexpr int kMany = 64;  // more than a server has threads
  std::atomic<int> answered = 0;
  std::vector<std::future<ErrorCode>> refusals;
  for (int i = 0; i < kMany; ++i) {
    auto done = std::make_shared<std::promise<ErrorCode>>();
    refusals.push_back(done->get_future());
    stalled.call<EchoReply>(EchoRequest{}, std::chrono::minutes(5), [done, &answered](const Result<EchoReply>& reply) {
      ++answered;
      done->set_value(reply ? ErrorCode::kOk : reply.error().code);
    });
  }
  RpcClient quick(to_server(std::make_shared<MungeAndNumbers>(munged.socket(), "4711")));
  for (int i = 0; i < kMany; ++i) {
    const auto reply = quick.call<EchoReply>(EchoRequest{.text = "now"}, kPatience);
    ASSERT_TRUE(reply) << reply.error().text;
    EXPECT_EQ(reply->uid, 4711U);
  }
  EXPECT_EQ(answered, 0) << "munged gave an answer, or its patience is shorter than a few calls";
  // all of them are told in time, and to ask again: the fault is not theirs
  for (auto& one : refusals) EXPECT_EQ(one.get(), ErrorCode::kRetry);
}

TEST_F(Credentials, WhoSendsDoesNotWaitForMunged) {
  const HangingMunged munged;
  AsyncClient client({.addresses = {dead_address()}, .auth = make_munge_auth(munged.socket(), "c1")});
  std::promise<ErrorCode> answer;
  std::atomic<bool> answered = false;
  client.call<EchoReply>(EchoRequest{}, std::chrono::minutes(5), [&](const Result<EchoReply>& reply) {
    answered = true;
    answer.set_value(reply ? ErrorCode::kOk : reply.error().code);
  });
  EXPECT_FALSE(answered) << "the call waited for its token";
  EXPECT_EQ(answer.get_future().get(), ErrorCode::kRetry);
}

TEST_F(Credentials, AnOutageIsToldOnce) {
  const test::TempFolder folder;
  const auto auth = make_munge_auth((folder.path() / "none").string(), "c1");
  std::vector<std::string> told;
  auth->on_outage([&](bool away, const std::string& text) { told.push_back((away ? "away: " : "back: ") + text); });
  for (int i = 0; i < 3; ++i) {
    const auto proof = auth->open("MUNGE:AwQDAA:");
    ASSERT_FALSE(proof);
    EXPECT_EQ(proof.error().code, ErrorCode::kRetry);
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].starts_with("away: auth/munge: munged cannot be reached")) << told[0];
}

}  // namespace
}  // namespace sluice::net
