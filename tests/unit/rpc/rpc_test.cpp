// Unary calls: replies, errors, authentication, dead servers, nonsense on the wire.
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

// A clock of the host that is set ended calls at once, or left them without an end.
static_assert(std::is_same_v<decltype(deadline_after(Duration())), SteadyTime>);

class Rpc : public RpcFixture {};

TEST_F(Rpc, AServerThatCannotProveWhoAsksServesOnlyWhatIsOpenToAnyone) {
  server = std::make_unique<RpcServer>(ServerOptions{.addresses = {"127.0.0.1:0"}});
  const auto answer = [](const CallContext& context, EchoRequest request,
                         Responder<EchoReply> responder) {
    responder.reply({std::move(request.text), context.identity.uid});
  };
  server->handle<EchoRequest, EchoReply>("closed", answer);
  server->handle<EchoRequest, EchoReply>("open", answer, {.access = Access::kAnyone});
  start();
  RpcClient client(to_server());
  const auto refused = client.call<EchoReply>("closed", EchoRequest{}, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAuthentication);
  EXPECT_TRUE(client.call<EchoReply>("open", EchoRequest{}, kPatience));
}

TEST_F(Rpc, RepliesToABlockingCall) {
  serve();
  start();
  RpcClient client(to_server());
  const auto reply = client.call<EchoReply>(EchoRequest{.text = "hello"}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->text, "hello");
}

TEST_F(Rpc, RepliesToCallbacksManyAtOnce) {
  serve();
  start();
  AsyncClient client(to_server());
  constexpr int kCalls = 200;
  std::atomic<int> good{0};
  std::atomic<int> left{kCalls};
  std::promise<void> all;
  for (int i = 0; i < kCalls; ++i) {
    client.call<EchoReply>(EchoRequest{.text = std::to_string(i)}, kPatience,
                           [&, i](Result<EchoReply> reply) {
                             if (reply && reply->text == std::to_string(i)) ++good;
                             if (--left == 0) all.set_value();
                           });
  }
  all.get_future().wait();
  EXPECT_EQ(good, kCalls);
}

TEST_F(Rpc, CarriesLargeMessagesBothWays) {
  serve();
  start();
  RpcClient client(to_server());
  const std::string large(20 << 20, 'y');
  const auto reply = client.call<EchoReply>(EchoRequest{.text = large}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->text, large);
}

TEST_F(Rpc, RefusesAMessageOverTheLimit) {
  serve({.max_message = 1 << 20});
  start();
  RpcClient client(to_server());
  const auto reply =
      client.call<EchoReply>(EchoRequest{.text = std::string(2 << 20, 'y')}, kPatience);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kBadRequest) << reply.error().text;
}

TEST_F(Rpc, HandsOnErrorsWithCodeAndText) {
  RpcServer& s = serve();
  s.handle<CountRequest, EchoReply>(
      "Fail", [](const CallContext&, CountRequest, Responder<EchoReply> responder) {
        responder.fail(ErrorCode::kInvalidPartition, "invalid partition specified: größer");
      });
  s.handle<CountRequest, EchoReply>("Drop",
                                    [](const CallContext&, CountRequest, Responder<EchoReply>) {});
  start();
  RpcClient client(to_server());
  const auto failed = client.call<EchoReply>("Fail", CountRequest{}, kPatience);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidPartition);
  EXPECT_EQ(failed.error().text, "invalid partition specified: größer");
  const auto dropped = client.call<EchoReply>("Drop", CountRequest{}, kPatience);
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code, ErrorCode::kError);
  const auto unknown = client.call<EchoReply>("Unheard", CountRequest{}, kPatience);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotSupported);
}

TEST_F(Rpc, AnswersLaterFromAnotherThread) {
  RpcServer& s = serve();
  std::promise<Responder<EchoReply>> asked;
  s.handle<CountRequest, EchoReply>(
      "Later", [&](const CallContext&, CountRequest, Responder<EchoReply> responder) {
        asked.set_value(std::move(responder));
      });
  start();
  std::jthread answerer([&] { asked.get_future().get().reply({.text = "late"}); });
  RpcClient client(to_server());
  const auto reply = client.call<EchoReply>("Later", CountRequest{}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->text, "late");
}

TEST_F(Rpc, TimesOutWhenNobodyAnswersAndAnsweringThenIsHarmless) {
  RpcServer& s = serve();
  Responder<EchoReply> kept;
  s.handle<CountRequest, EchoReply>(
      "Never", [&](const CallContext&, CountRequest, Responder<EchoReply> responder) {
        kept = std::move(responder);
      });
  start();
  RpcClient client(to_server());
  const auto reply =
      client.call<EchoReply>("Never", CountRequest{}, std::chrono::milliseconds(100));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kTimedOut) << reply.error().text;
  server->shutdown();
  kept.reply({});
}

TEST_F(Rpc, TellsAnUnreachableServerFromALostConnection) {
  RpcClient nobody({.addresses = {dead_address()}});
  for (int i = 0; i < 3; ++i) {
    const auto reply = nobody.call<EchoReply>(EchoRequest{}, kPatience);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kUnreachable) << reply.error().text;
  }
  RpcServer& s = serve();
  std::promise<Responder<EchoReply>> asked;
  s.handle<CountRequest, EchoReply>(
      "Never", [&](const CallContext&, CountRequest, Responder<EchoReply> responder) {
        asked.set_value(std::move(responder));
      });
  start();
  RpcClient client(to_server());
  std::jthread stopper([&] {
    const auto held = asked.get_future().get();
    server->shutdown();
  });
  const auto lost = client.call<EchoReply>("Never", CountRequest{}, kPatience);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kConnectionLost) << lost.error().text;
}

// Passes bytes between one client and a server until it is cut, as when a host dies.
class Wire {
 public:
  explicit Wire(int server_port) : server_port_(server_port) {
    thread_ = std::jthread([this] { run(); });
  }
  ~Wire() { cut(); }
  void cut() {
    if (std::exchange(cut_, true)) return;
    ::shutdown(listening_.fd(), SHUT_RDWR);
    ::shutdown(client_, SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] std::string address() const { return listening_.address(); }

 private:
  void run() {
    client_ = ::accept(listening_.fd(), nullptr, nullptr);
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in there = loopback(server_port_);
    (void)::connect(server, reinterpret_cast<const sockaddr*>(&there), sizeof there);
    const auto pass = [](int from, int to) {
      char bytes[4096];
      ssize_t size = 0;
      while ((size = ::recv(from, bytes, sizeof bytes, 0)) > 0) {
        (void)::send(to, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
      }
      ::shutdown(to, SHUT_RDWR);
    };
    std::jthread back([&] { pass(server, client_); });
    pass(client_, server);
    back.join();
    ::close(server);
    ::close(client_);
  }
  const Listening listening_;
  const int server_port_;
  std::atomic<int> client_{-1};
  bool cut_ = false;
  std::jthread thread_;
};

TEST_F(Rpc, NeverSendsTwiceWhenTheConnectionBreaksAfterSending) {
  RpcServer& s = serve();
  std::atomic<int> calls{0};
  std::promise<Responder<EchoReply>> asked;
  s.handle<CountRequest, EchoReply>(
      "Submit", [&](const CallContext&, CountRequest, Responder<EchoReply> responder) {
        if (++calls == 1) asked.set_value(std::move(responder));
      });
  start();
  Wire wire(server->port());
  RpcClient client({.addresses = {wire.address(), address()}});
  std::jthread cutter([&] {
    const auto held = asked.get_future().get();
    wire.cut();
  });
  const auto lost = client.call<EchoReply>("Submit", CountRequest{}, kPatience);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kConnectionLost) << lost.error().text;
  EXPECT_EQ(calls, 1);
}

TEST_F(Rpc, SaysWhenAConnectionTakesTooLong) {
  // It never accepts: the handshake of HTTP/2 does not come.
  const Listening listening;
  const std::string mute = listening.address();
  const auto short_time = std::chrono::milliseconds(200);
  RpcClient alone({.addresses = {mute}});
  const auto reply = alone.call<EchoReply>(EchoRequest{}, short_time);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kTimedOut) << reply.error().text;
  const auto stream = RpcClient({.addresses = {mute}, .connect_timeout = short_time})
                          .open<CountChunk>(CountRequest{});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::kUnreachable) << stream.error().text;
  // One of two: the other is asked, as nothing was sent.
  serve();
  start();
  RpcClient both({.addresses = {mute, address()}, .connect_timeout = short_time});
  EXPECT_TRUE(both.call<EchoReply>(EchoRequest{}, kPatience));
  // And for a query, which may be sent to both.
  RpcClient query({.addresses = {mute, address()}, .connect_timeout = short_time});
  auto other = query.open<CountChunk>(CountRequest{.count = 1});
  ASSERT_TRUE(other) << other.error().text;
  CountChunk chunk;
  EXPECT_EQ(other->read(chunk), ReadState::kChunk);
}

// A query that waits for the server's greeting first costs each squeue a turn.
TEST_F(Rpc, AQueryGoesWithTheGreetingOfItsConnection) {
  const Listening listening;
  std::jthread asker([&] {
    RpcClient client({.addresses = {listening.address()}});
    EXPECT_FALSE(client.open<CountChunk>(CountRequest{.count = 77}));
  });
  const int peer = ::accept(listening.fd(), nullptr, nullptr);
  std::string bytes(4096, '\0');
  const ssize_t got = ::recv(peer, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  constexpr size_t kPreface = 24, kHead = 9;
  std::vector<int> frames;  // their types
  for (size_t at = kPreface; at + kHead <= bytes.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    frames.push_back(byte(3));
    at += kHead + (size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2));
  }
  constexpr int kData = 0, kHeaders = 1, kSettings = 4, kWindowUpdate = 8;
  EXPECT_EQ(frames, (std::vector{kSettings, kWindowUpdate, kHeaders, kData}));
  ::close(peer);
}

// Asks once and waits, whichever way the client answers.
Result<EchoReply> ask(RpcClient& client) {
  return client.call<EchoReply>(EchoRequest{}, kPatience);
}
Result<EchoReply> ask(AsyncClient& client) {
  std::promise<Result<EchoReply>> reply;
  client.call<EchoReply>(EchoRequest{}, kPatience,
                         [&](Result<EchoReply> got) { reply.set_value(std::move(got)); });
  return reply.get_future().get();
}

template <class Client>
class EitherClient : public Rpc {};
using Clients = ::testing::Types<RpcClient, AsyncClient>;
TYPED_TEST_SUITE(EitherClient, Clients);

TYPED_TEST(EitherClient, PassesOverDeadAddressesAndFindsARestartedServer) {
  this->serve();
  this->start();
  const int port = this->server->port();
  TypeParam client({.addresses = {dead_address(), "no-such-host.invalid:1", this->address()}});
  ASSERT_TRUE(ask(client));
  EXPECT_TRUE(ask(client));

  this->server->shutdown();
  auto down = ask(client);
  // a call that meets the end of its connection counts as sent, which is the safe side; the next
  // one finds nobody
  if (!down && down.error().code == ErrorCode::kConnectionLost) down = ask(client);
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code, ErrorCode::kUnreachable) << down.error().text;
  RpcServer again({.addresses = {"127.0.0.1:" + std::to_string(port)}, .knows_nobody = true});
  again.handle<EchoRequest, EchoReply>(
      [](const CallContext&, EchoRequest, auto responder) { responder.reply({.text = "again"}); });
  ASSERT_TRUE(again.start());
  const auto up = ask(client);
  ASSERT_TRUE(up) << up.error().text;
  EXPECT_EQ(up->text, "again");
}

// The bug: agents asked the hosts of their own start for ever.
TEST_F(Rpc, AsksOtherAddressesWhenItIsTold) {
  serve();
  start();
  const std::string dead = dead_address();
  AsyncClient client({.addresses = {dead}});
  EXPECT_FALSE(ask(client));
  EXPECT_FALSE(client.use_addresses({dead}));
  EXPECT_TRUE(client.use_addresses({dead, address()}));
  EXPECT_FALSE(client.use_addresses({dead, address()}));
  const auto reply = ask(client);
  EXPECT_TRUE(reply) << reply.error().text;
}

TEST_F(Rpc, AddressInUseIsAnError) {
  serve();
  start();
  RpcServer other({.addresses = {address()}});
  const Status started = other.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text.find(address()), std::string::npos);
}

TEST_F(Rpc, ServesAUnixSocket) {
  const std::string path = ::testing::TempDir() + "rpc-" + std::to_string(::getpid());
  RpcServer local({.addresses = {"unix:" + path}, .knows_nobody = true});
  local.handle<EchoRequest, EchoReply>([](const CallContext&, EchoRequest request, auto responder) {
    responder.reply({.text = request.text});
  });
  ASSERT_TRUE(local.start());
  RpcClient client({.addresses = {"unix:" + path}});
  const auto reply = client.call<EchoReply>(EchoRequest{.text = "near"}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  RpcClient nobody({.addresses = {"unix:" + path + ".none"}});
  EXPECT_EQ(nobody.call<EchoReply>(EchoRequest{}, kPatience).error().code, ErrorCode::kUnreachable);
}

TEST_F(Rpc, KnowsTheCallerByItsToken) {
  RpcServer& s = serve({.auth = test_auth(), .slurm_user = ::geteuid()});
  s.handle<CountRequest, EchoReply>(
      "Open",
      [](const CallContext& context, CountRequest, Responder<EchoReply> responder) {
        responder.reply({.text = context.identity.authenticated ? "known" : "unknown"});
      },
      kForAnyone);
  s.handle<CountRequest, EchoReply>(
      "Super", [](const CallContext& context, CountRequest, Responder<EchoReply> responder) {
        responder.reply({.text = context.is_super_user() ? "yes" : "no"});
      });
  start();
  RpcClient known(to_server(test_auth()));
  const auto reply = known.call<EchoReply>(EchoRequest{}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->uid, ::geteuid());
  EXPECT_EQ(known.call<EchoReply>("Super", CountRequest{}, kPatience)->text, "yes");
  EXPECT_EQ(known.call<EchoReply>("Open", CountRequest{}, kPatience)->text, "known");

  RpcClient unknown(to_server());
  EXPECT_EQ(unknown.call<EchoReply>(EchoRequest{}, kPatience).error().code,
            ErrorCode::kAuthentication);
  EXPECT_EQ(unknown.call<EchoReply>("Open", CountRequest{}, kPatience)->text, "unknown");

  RpcClient forger(to_server(test_auth("another key, as long as the first one.")));
  const auto forged = forger.call<EchoReply>(EchoRequest{}, kPatience);
  ASSERT_FALSE(forged);
  EXPECT_EQ(forged.error().code, ErrorCode::kAuthentication);
  EXPECT_NE(forged.error().text.find("another key"), std::string::npos) << forged.error().text;
}

TEST_F(Rpc, AnswersAreSignedForWhoAsksForIt) {
  serve({.auth = test_auth()});
  start();
  ClientOptions options = to_server(test_auth());
  options.signed_answers = true;
  RpcClient client(options);
  AsyncClient async(options);
  for (const size_t size : {size_t{0}, size_t{1} << 20}) {
    const EchoRequest request{.text = std::string(size, 'x')};
    const auto reply = client.call<EchoReply>(request, kPatience);
    ASSERT_TRUE(reply) << reply.error().text;
    EXPECT_EQ(reply->text.size(), size);
    std::promise<Result<EchoReply>> answer;
    async.call<EchoReply>(request, kPatience,
                          [&](Result<EchoReply> got) { answer.set_value(std::move(got)); });
    const auto got = answer.get_future().get();
    ASSERT_TRUE(got) << got.error().text;
    EXPECT_EQ(got->text.size(), size);
  }
}

TEST_F(Rpc, AnswersOfALiarAreRefused) {
  serve();  // has no key
  start();
  ClientOptions options = to_server(test_auth());
  options.signed_answers = true;
  RpcClient client(options);
  AsyncClient async(options);
  const std::string why = address() + ": the answer is not signed: ";
  const auto reply = client.call<EchoReply>(EchoRequest{}, kPatience);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kAuthentication);
  EXPECT_TRUE(reply.error().text.starts_with(why)) << reply.error().text;
  std::promise<Result<EchoReply>> answer;
  async.call<EchoReply>(EchoRequest{}, kPatience,
                        [&](Result<EchoReply> got) { answer.set_value(std::move(got)); });
  const auto got = answer.get_future().get();
  ASSERT_FALSE(got);
  EXPECT_TRUE(got.error().text.starts_with(why)) << got.error().text;

  options.signed_answers = false;
  EXPECT_TRUE(RpcClient(options).call<EchoReply>(EchoRequest{}, kPatience));
}

TEST_F(Rpc, ASignatureIsOfOneAnswerToOneRequest) {
  const auto auth = test_auth();
  const RequestDigest digest = digest_request(kController, "Echo", "bytes");
  const auto one = auth->create_keyed_token(digest);
  const auto other = auth->create_keyed_token(digest);
  ASSERT_TRUE(one && other);
  const std::string signature = sign_answer(one->answer_key, "yes");
  EXPECT_TRUE(check_answer(one->answer_key, "yes", signature, "ctl:1"));
  EXPECT_FALSE(check_answer(one->answer_key, "no", signature, "ctl:1"));
  EXPECT_FALSE(check_answer(other->answer_key, "yes", signature, "ctl:1"));
  EXPECT_TRUE(check_answer({}, "yes", {}, "ctl:1")) << "none was asked for";
  const auto identity = auth->verify(one->token, digest);
  ASSERT_TRUE(identity) << identity.error().text;
  EXPECT_EQ(identity->answer_key, one->answer_key);
  EXPECT_TRUE(auth->verify(*auth->create_token(digest), digest)->answer_key.empty());
}

TEST_F(Rpc, RandomBytesAreRefusedAndHarmNothing) {
  serve();
  start();
  RpcClient client(to_server());
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    (void)client.call_raw(i % 2 == 0 ? "Echo" : "Count", bytes, kPatience);
  }
  // and bytes that are no HTTP/2 at all
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(static_cast<uint16_t>(server->port()));
  for (int i = 0; i < 50; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
    std::string bytes = i % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    for (int j = 0; j < 300; ++j) bytes.push_back(static_cast<char>(random()));
    (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(fd);
  }
  const auto reply = client.call<EchoReply>(EchoRequest{.text = "alive"}, kPatience);
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->text, "alive");
}

TEST_F(Rpc, DispatchesWithinTheProcess) {
  serve({.auth = test_auth()});
  Result<EchoReply> got;
  CallContext context;
  context.identity.uid = 42;
  struct Keep final : ReplySink {
    Result<std::string> bytes;
    void complete(Result<std::string> b) override { bytes = std::move(b); }
  };
  auto keep = std::make_shared<Keep>();
  server->dispatch(context, "Test/Echo", wire::encode(EchoRequest{.text = "in"}),
                   RawResponder(keep));
  ASSERT_TRUE(keep->bytes);
  EXPECT_EQ(wire::decode<EchoReply>(*keep->bytes)->uid, 42u);
}

}  // namespace
}  // namespace sluice::net
