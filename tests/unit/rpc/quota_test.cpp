// What a server lets a sender have: who is proved by the headers, how long requests may be, how
// many there may be, and that slow ones do not hold up the others.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <mutex>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/os/back_off.hpp"
#include "common/os/clock.hpp"
#include "common/auth/jwt.hpp"
#include "common/rpc/admission.hpp"
#include "common/rpc/grpc_support.hpp"
#include "common/rpc/slow_work.hpp"
#include "unit/rpc/rpc_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

// Tokens of a user who is neither root nor SlurmUser, whoever runs the test.
class AsUser final : public AuthProvider {
 public:
  [[nodiscard]] std::string_view name() const override { return "auth/slurm"; }
  Result<std::string> create_token(const RequestDigest& digest) override {
    return maker_.make(4711, 4711, digest.bytes, now());
  }
  Result<Proof> open(std::string_view) override { return failure(ErrorCode::kAuthentication); }

 private:
  TokenMaker maker_{ClusterKey::from_bytes(kKeyBytes), "test", "host"};
};

class Quota : public RpcFixture {
 protected:
  // As any gRPC client would: the status of /sluice/Echo with these headers.
  Result<std::string> plain_call(const std::vector<std::pair<std::string, std::string>>& headers,
                                 const std::string& request,
                                 grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    set_up_grpc();
    grpc::GenericStub stub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    context.set_compression_algorithm(compression);
    for (const auto& [key, value] : headers) context.AddMetadata(key, value);
    const grpc::ByteBuffer sent = to_buffer(request);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/sluice.v1.Test/Echo", {}, &sent, &reply,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    if (!status.ok()) return tl::unexpected(to_error(from_grpc(status), true, address()));
    return std::string(ContiguousBytes(reply).view());
  }
};

TEST_F(Quota, ABearerTokenProvesItsUser) {
  const test::TempFolder folder;
  const std::filesystem::path file = folder.path() / "jwt.key";
  const std::string key = "a key of more than sixteen bytes";
  std::ofstream(file) << key;
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  serve({.auth = accept_jwt(test_auth(), [file] {
           return JwtSettings{file.string(), static_cast<uint32_t>(geteuid())};
         })});
  start();
  const std::string request = wire::encode(EchoRequest{"hello", 1});
  const std::string token = make_jwt(key, "root", now(), now() + std::chrono::minutes(1));
  const auto reply = plain_call({{"authorization", "Bearer " + token}}, request);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(wire::decode<EchoReply>(*reply)->uid, 0U);
  EXPECT_EQ(wire::decode<EchoReply>(*reply)->text, "hello");
  const auto forged =
      plain_call({{"authorization", "Bearer " + make_jwt("another key of many bytes", "root", now(),
                                                         now() + std::chrono::minutes(1))}},
                 request);
  ASSERT_FALSE(forged);
  EXPECT_EQ(forged.error().code, ErrorCode::kAuthentication);
  EXPECT_EQ(plain_call({{"authorization", "Basic cm9vdDpyb290"}}, request).error().text,
            "the request carries no token");
}

// A kilobyte that becomes a gigabyte was decompressed before anybody was asked for a token.
TEST_F(Quota, NothingIsDecompressed) {
  serve();
  start();
  const std::string request = wire::encode(EchoRequest{std::string(size_t{1} << 20, 'x'), 1});
  EXPECT_TRUE(plain_call({}, request));
  EXPECT_FALSE(plain_call({}, request, GRPC_COMPRESS_GZIP));
}

TEST_F(Quota, LongRequestsAreTakenWhereTheyMakeSense) {
  RpcServer& s = serve({.auth = test_auth(), .slurm_user = 4712});
  const auto handler = [](const CallContext&, EchoRequest request, Responder<EchoReply> responder) {
    responder.reply({std::to_string(request.text.size()), 0});
  };
  s.handle<EchoRequest, EchoReply>("Long", handler, kLong);
  start();
  const EchoRequest request{.text = std::string(size_t{3} << 20, 'x')};
  RpcClient user(to_server(std::make_shared<AsUser>()));
  EXPECT_EQ(user.call<EchoReply>("Long", request, kPatience)->text,
            std::to_string(request.text.size()));
  const auto refused = user.call<EchoReply>(request, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadRequest);
  EXPECT_NE(refused.error().text.find("Echo takes at most 1048576"), std::string::npos)
      << refused.error().text;
}

TEST_F(Quota, WhoIsToldToBackOffAsksAgain) {
  std::atomic<int> asked = 0;
  serve({.auth = test_auth(),
         .slurm_user = 4712,
         .admit = [&](std::string_view method, uint32_t uid) -> Status {
           EXPECT_EQ(method, "Echo");
           EXPECT_EQ(uid, 4711U);
           return ++asked == 1 ? Status(tl::unexpected(back_off())) : Status{};
         }});
  start();
  RpcClient user(to_server(std::make_shared<AsUser>()));
  const auto reply = user.call<EchoReply>(EchoRequest{.text = "again"}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(asked, 2);
}

// As after a restart of the controller, and where the clock of a command's host is behind.
class MakesAnOldOneFirst final : public AuthProvider {
 public:
  explicit MakesAnOldOneFirst(int old) : old_(old) {}
  [[nodiscard]] std::string_view name() const override { return "test"; }
  Result<std::string> create_token(const RequestDigest& digest) override {
    return maker_.make(4711, 100, digest.bytes,
                       ++made_ <= old_ ? now() - std::chrono::seconds(30) : now());
  }
  Result<Proof> open(std::string_view /*token*/) override {
    return failure(ErrorCode::kAuthentication, "takes none");
  }
  [[nodiscard]] int made() const { return made_; }

 private:
  const TokenMaker maker_{ClusterKey::from_bytes(kKeyBytes), "test", "n7"};
  const int old_;
  std::atomic<int> made_ = 0;
};

TEST_F(Quota, ATokenFromBeforeTheServerBeganIsMadeAnew) {
  serve({.auth = test_auth(), .slurm_user = 4712});
  start();
  const auto old = std::make_shared<MakesAnOldOneFirst>(1);
  RpcClient user(to_server(old));
  const auto reply = user.call<EchoReply>(EchoRequest{.text = "again"}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(old->made(), 2);
  const auto again = std::make_shared<MakesAnOldOneFirst>(1);
  RpcClient reader(to_server(again));
  auto stream = reader.open<CountChunk>(CountRequest{3, 10});
  ASSERT_TRUE(stream) << stream.error().text;
  CountChunk chunk;
  EXPECT_EQ(stream->read(chunk, kPatience), ReadState::kChunk) << stream->error().text;
  EXPECT_EQ(again->made(), 2);
}

TEST_F(Quota, AClockThatIsBehindIsNamedInTheEnd) {
  serve({.auth = test_auth(), .slurm_user = 4712});
  start();
  RpcClient user(to_server(std::make_shared<MakesAnOldOneFirst>(1000)));
  const auto reply = user.call<EchoReply>(EchoRequest{.text = "never"}, kPatience);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().text.find("the clock of n7 is behind by that much"), std::string::npos)
      << reply.error().text;
}

TEST_F(Quota, SlowOnesDoNotHoldUpTheOthers) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  RpcServer& s = serve();
  s.handle<EchoRequest, EchoReply>(
      "Slow",
      [gone](const CallContext&, EchoRequest, Responder<EchoReply> responder) {
        gone.wait();
        responder.reply({"late", 0});
      },
      kSlow);
  start();
  AsyncClient client(to_server());
  std::vector<std::future<Result<EchoReply>>> slow;
  constexpr int kMany = 64;
  for (int i = 0; i < kMany; ++i) {
    auto done = std::make_shared<std::promise<Result<EchoReply>>>();
    slow.push_back(done->get_future());
    client.call<EchoReply>("Slow", EchoRequest{}, kPatience,
                           [done](Result<EchoReply> reply) { done->set_value(std::move(reply)); });
  }
  RpcClient quick(to_server());
  EXPECT_EQ(quick.call<EchoReply>(EchoRequest{.text = "now"}, kPatience)->text, "now");
  go.set_value();
  for (auto& one : slow) EXPECT_EQ(one.get()->text, "late");
}

TEST(SlowWorkTest, OneUserNeverHasAllThreads) {
  SlowWork work({.threads = 2, .running_of_user = 1, .waiting_of_user = 3, .waiting = 100});
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> done = 0;
  for (int i = 0; i < 3; ++i) (void)work.post(1, [&, gone] { gone.wait(), ++done; });
  std::promise<void> other;
  ASSERT_TRUE(work.post(2, [&] { other.set_value(); }));
  other.get_future().get();  // though user 1 has more to do than there are threads
  EXPECT_EQ(done, 0);
  int taken = 0;
  for (int i = 0; i < 10; ++i) taken += work.post(1, [&] { ++done; }) ? 1 : 0;
  EXPECT_LE(taken, 3) << "what waits is bounded";
  go.set_value();
  std::promise<void> last;
  while (!work.post(1, [&] { last.set_value(); })) std::this_thread::yield();
  last.get_future().get();
  EXPECT_EQ(done, 3 + taken) << "in order";
  work.stop();
  EXPECT_FALSE(work.post(1, [] {}));
}

// Each of these users may have so much waiting that another one would wait for hours.
TEST(SlowWorkTest, UsersTakeTurns) {
  SlowWork work({.threads = 1, .running_of_user = 1, .waiting_of_user = 100, .waiting = 1000});
  std::promise<void> go, end;
  std::vector<uint32_t> order;  // by the one thread alone
  (void)work.post(9, [gone = go.get_future().share()] { gone.wait(); });
  for (int i = 0; i < 3; ++i) {
    for (const uint32_t uid : {1U, 2U})
      ASSERT_TRUE(work.post(uid, [&order, uid] { order.push_back(uid); }));
  }
  ASSERT_TRUE(work.post(1, [&] { end.set_value(); }));
  ASSERT_TRUE(work.post(1, [&order] { order.push_back(1); }));
  ASSERT_TRUE(work.post(0, [&order] { order.push_back(0); }));
  go.set_value();
  end.get_future().get();
  work.stop();
  order.resize(std::min<size_t>(order.size(), 7));
  EXPECT_EQ(order, (std::vector<uint32_t>{1, 2, 0, 1, 2, 1, 2}));
}

class CountedReader final : public Admission::Reader {
 public:
  explicit CountedReader(bool over = false) : over_(over) {}
  bool start_reading() override {
    ++started;
    return !over_;
  }
  int started = 0;

 private:
  bool over_;
};

TEST(AdmissionTest, RequestsWaitForTheirTurn) {
  Admission admission({.reads_of_user = 2, .calls_of_user = 5});
  std::vector<std::shared_ptr<CountedReader>> calls;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(admission.open(7));
    // the third is cancelled while it waits
    calls.push_back(std::make_shared<CountedReader>(i == 2));
    admission.ask_to_read(7, calls.back());
  }
  EXPECT_EQ(admission.open(7).error().code, ErrorCode::kRetry);
  EXPECT_TRUE(admission.open(8)) << "another user";
  EXPECT_EQ(calls[1]->started, 1);
  EXPECT_EQ(calls[2]->started, 0);
  admission.has_read(7);
  EXPECT_EQ(calls[2]->started, 1);
  EXPECT_EQ(calls[3]->started, 1) << "its turn goes to the next one";
  EXPECT_EQ(calls[4]->started, 0);
  admission.has_read(7);
  EXPECT_EQ(calls[4]->started, 1);
}

// A user whose first requests never come whole could begin and cancel as many others as memory
// holds.
TEST(AdmissionTest, CancelledCallsThatWaitAreCounted) {
  Admission admission({.reads_of_user = 1, .calls_of_user = 3});
  ASSERT_TRUE(admission.open(7));
  admission.ask_to_read(7, std::make_shared<CountedReader>());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(admission.open(7));
    admission.ask_to_read(7, std::make_shared<CountedReader>(true));
    admission.closed(7, 0);
  }
  EXPECT_EQ(admission.open(7).error().code, ErrorCode::kRetry);
  admission.has_read(7);  // which lets go of those
  EXPECT_TRUE(admission.open(7));
}

TEST(AdmissionTest, BytesThatWaitAreCounted) {
  Admission admission({.bytes_of_user = 100, .bytes_of_all = 150});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(admission.open(1));
  ASSERT_TRUE(admission.open(2));
  EXPECT_TRUE(admission.hold(1, 90));
  EXPECT_EQ(admission.hold(1, 20).error().code, ErrorCode::kRetry);
  EXPECT_TRUE(admission.hold(2, 90)) << "somebody who has nothing yet gets something";
  admission.closed(1, 90);
  EXPECT_TRUE(admission.hold(1, 20));
  admission.add(1, 200);
  EXPECT_FALSE(admission.hold(1, 1));
}

}  // namespace
}  // namespace sluice::net
