// A munged that hangs, or is not there: who proves himself otherwise is served meanwhile, and what
// is sent needs no thread of gRPC's.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/auth/auth_munge.hpp"
#include "common/rpc/inline_turn.hpp"
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
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_, 1000) != 0)
      std::abort();
  }
  HangingMunged(const HangingMunged&) = delete;
  HangingMunged& operator=(const HangingMunged&) = delete;
  ~HangingMunged() { ::close(fd_); }
  [[nodiscard]] std::string socket() const { return (folder_.path() / "munge").string(); }

 private:
  test::TempFolder folder_;
  int fd_;
};

// Of a site with munge where some have another proof, which takes no daemon to look at: "4711" is
// that user's.
class MungeAndNumbers final : public AuthProvider {
 public:
  MungeAndNumbers(std::string socket, std::string token)
      : munge_(make_munge_auth(std::move(socket), "c1")), token_(std::move(token)) {}
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
  AsyncClient stalled(
      to_server(std::make_shared<MungeAndNumbers>(munged.socket(), "MUNGE:AwQDAA:")));
  constexpr int kMany = 64;  // more than a server has threads
  std::atomic<int> answered = 0;
  std::vector<std::future<ErrorCode>> refusals;
  for (int i = 0; i < kMany; ++i) {
    auto done = std::make_shared<std::promise<ErrorCode>>();
    refusals.push_back(done->get_future());
    stalled.call<EchoReply>(EchoRequest{}, std::chrono::minutes(5),
                            [done, &answered](const Result<EchoReply>& reply) {
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

// Of a site whose daemon answers at once until it hangs: what waits for it is "slow", all else
// takes no daemon.
class DaemonThatHangsLater final : public AuthProvider {
 public:
  explicit DaemonThatHangsLater(std::string token = {}) : token_(std::move(token)) {}
  [[nodiscard]] std::string_view name() const override { return "later"; }
  Result<std::string> create_token(const RequestDigest&) override { return token_; }
  Result<Proof> open(std::string_view token) override {
    if (token == "slow") {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !hangs_; });
    }
    return Proof{{.authenticated = true, .uid = 4711, .gid = 4711, .host = {}}, std::nullopt};
  }
  [[nodiscard]] WaitsFor open_waits_for(std::string_view token) const override {
    return token == "slow" ? WaitsFor::kDaemon : WaitsFor::kNothing;
  }
  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }

 private:
  const std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

TEST_F(Credentials, ADaemonThatBeginsToHangStallsNobodyElse) {
  const auto daemon = std::make_shared<DaemonThatHangsLater>();
  serve({.auth = daemon});
  start();
  RpcClient fast(to_server(std::make_shared<DaemonThatHangsLater>("slow")));
  for (int i = 0; i < 2 * InlineTurn::kFastOnes; ++i)
    ASSERT_TRUE(fast.call<EchoReply>(EchoRequest{}, kPatience));
  daemon->hang(true);
  AsyncClient stalled(to_server(std::make_shared<DaemonThatHangsLater>("slow")));
  constexpr int kMany = 64;
  std::vector<std::future<bool>> answers;
  for (int i = 0; i < kMany; ++i) {
    auto done = std::make_shared<std::promise<bool>>();
    answers.push_back(done->get_future());
    stalled.call<EchoReply>(
        EchoRequest{}, std::chrono::minutes(5),
        [done](const Result<EchoReply>& reply) { done->set_value(reply.has_value()); });
  }
  RpcClient quick(to_server(std::make_shared<DaemonThatHangsLater>("at once")));
  for (int i = 0; i < kMany; ++i) {
    const auto reply = quick.call<EchoReply>(EchoRequest{.text = "now"}, kPatience);
    ASSERT_TRUE(reply) << reply.error().text;
  }
  daemon->hang(false);
  for (auto& one : answers) EXPECT_TRUE(one.get());
}

// Of a site with JWT whose key lies on a file server: tokens wait for files, and of those that are
// "slow" for good.
class FilesThatHang final : public AuthProvider {
 public:
  explicit FilesThatHang(std::string token = {}) : token_(std::move(token)) {}
  [[nodiscard]] std::string_view name() const override { return "files"; }
  Result<std::string> create_token(const RequestDigest&) override { return token_; }
  Result<Proof> open(std::string_view token) override {
    if (token == "slow") {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return free_; });
    }
    return Proof{{.authenticated = true, .uid = 4711, .gid = 4711, .host = {}}, std::nullopt};
  }
  [[nodiscard]] WaitsFor open_waits_for(std::string_view) const override {
    return WaitsFor::kFiles;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }

 private:
  const std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
};

// The bug: all that had proved nothing yet waited as one user, so that one host's flood kept all
// others waiting.
TEST_F(Credentials, HostsTakeTurnsAtTokensThatWaitForFiles) {
  const test::TempFolder folder;
  const std::string path = "unix:" + (folder / "socket").string();
  const auto files = std::make_shared<FilesThatHang>();
  RpcServer both({.addresses = {"127.0.0.1:0", path}, .auth = files});
  both.handle<EchoRequest, EchoReply>(
      [](const CallContext& context, EchoRequest request, Responder<EchoReply> responder) {
        responder.reply({std::move(request.text), context.identity.uid});
      });
  ASSERT_TRUE(both.start());
  AsyncClient flood({.addresses = {"127.0.0.1:" + std::to_string(both.port())},
                     .auth = std::make_shared<FilesThatHang>("slow")});
  std::vector<std::future<bool>> answers;
  for (int i = 0; i < 64; ++i) {
    auto done = std::make_shared<std::promise<bool>>();
    answers.push_back(done->get_future());
    flood.call<EchoReply>(
        EchoRequest{}, std::chrono::minutes(5),
        [done](const Result<EchoReply>& reply) { done->set_value(reply.has_value()); });
  }
  RpcClient other({.addresses = {path}, .auth = std::make_shared<FilesThatHang>("quick")});
  for (int i = 0; i < 8; ++i) {
    const auto reply = other.call<EchoReply>(EchoRequest{.text = "now"}, std::chrono::seconds(5));
    EXPECT_TRUE(reply) << reply.error().text;
    if (!reply) break;
  }
  files->go_on();
  for (auto& one : answers) one.get();
}

TEST(InlineTurns, AreForOneAtATimeWhileTheWorkIsFast) {
  using std::chrono::milliseconds;
  InlineTurn turn;
  EXPECT_FALSE(turn.take()) << "nothing is known yet";
  for (int i = 0; i < InlineTurn::kFastOnes; ++i) turn.note(milliseconds(1));
  ASSERT_TRUE(turn.take());
  EXPECT_FALSE(turn.take()) << "one has it";
  turn.give_back();
  turn.note(milliseconds(6));
  EXPECT_FALSE(turn.take()) << "the last one was slow";
  for (int i = 0; i < InlineTurn::kFastOnes; ++i) turn.note(milliseconds(5));
  EXPECT_TRUE(turn.take());
}

TEST_F(Credentials, WhoSendsDoesNotWaitForMunged) {
  const HangingMunged munged;
  AsyncClient client(
      {.addresses = {dead_address()}, .auth = make_munge_auth(munged.socket(), "c1")});
  std::promise<ErrorCode> answer;
  std::atomic<bool> answered = false;
  client.call<EchoReply>(EchoRequest{}, std::chrono::minutes(5),
                         [&](const Result<EchoReply>& reply) {
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
  auth->on_outage([&](bool away, const std::string& text) {
    told.push_back((away ? "away: " : "back: ") + text);
  });
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
