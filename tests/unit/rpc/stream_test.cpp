// Streams: order, flow control, cancelling from either end.
#include <atomic>
#include <thread>
#include <vector>

#include "unit/rpc/rpc_fixture.hpp"

namespace sluice::net {
namespace {

class Stream : public RpcFixture {};

TEST_F(Stream, DeliversAllChunksInOrder) {
  serve({.stream_high_water = 64 << 10});
  start();
  RpcClient client(to_server());
  auto stream = client.open<CountChunk>(CountRequest{.count = 2000, .chunk_bytes = 5000});
  ASSERT_TRUE(stream) << stream.error().text;
  CountChunk chunk;
  uint32_t expected = 0;
  ReadState state;
  while ((state = stream->read(chunk)) == ReadState::kChunk) ASSERT_EQ(chunk.number, expected++);
  EXPECT_EQ(state, ReadState::kEnd) << stream->error().text;
  EXPECT_EQ(expected, 2000u);
  EXPECT_EQ(stream->read(chunk), ReadState::kEnd);
}

TEST_F(Stream, DeliversByCallbacks) {
  serve();
  start();
  AsyncClient client({.addresses = {dead_address(), address()}});
  uint32_t expected = 0;
  std::promise<Status> end;
  const StreamHandle handle = client.listen<CountChunk>(
      CountRequest{.count = 500, .chunk_bytes = 100},
      [&](const CountChunk& chunk) { EXPECT_EQ(chunk.number, expected++); },
      [&](Status status) { end.set_value(std::move(status)); });
  const Status status = end.get_future().get();
  EXPECT_TRUE(status);
  EXPECT_EQ(expected, 500u);
}

TEST_F(Stream, EndsWithTheHandlersError) {
  RpcServer& s = serve();
  s.handle_stream<EchoRequest, CountChunk>(
      "Fail", [](const CallContext&, EchoRequest, StreamWriter<CountChunk> writer) {
        writer.write({.number = 1});
        writer.finish(failure(ErrorCode::kInvalidJobId, "no such job"));
        EXPECT_EQ(writer.write({.number = 2}), WriteState::kClosed);
      });
  s.handle_stream<EchoRequest, CountChunk>(
      "Drop", [](const CallContext&, EchoRequest, StreamWriter<CountChunk>) {});
  start();
  RpcClient client(to_server());
  CountChunk chunk;
  auto failing = client.open<CountChunk>("Fail", EchoRequest{});
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->read(chunk), ReadState::kChunk);
  EXPECT_EQ(failing->read(chunk), ReadState::kFailed);
  EXPECT_EQ(failing->error().code, ErrorCode::kInvalidJobId);
  EXPECT_EQ(failing->error().text, "no such job");
  auto dropped = client.open<CountChunk>("Drop", EchoRequest{});
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->read(chunk), ReadState::kFailed);
}

TEST_F(Stream, UnreachableServersAreToldAtOnce) {
  RpcClient client({.addresses = {dead_address()}});
  const auto stream = client.open<CountChunk>(CountRequest{});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::kUnreachable) << stream.error().text;
  std::promise<Status> end;
  AsyncClient listener({.addresses = {dead_address()}});
  const StreamHandle handle = listener.listen<CountChunk>(
      CountRequest{}, [](const CountChunk&) {},
      [&](Status status) { end.set_value(std::move(status)); });
  const Status status = end.get_future().get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnreachable);
}

// A stream that stays open, as of an srun that waits for its job.
class OpenStream : public Stream {
 protected:
  void SetUp() override {
    serve().handle_stream<EchoRequest, CountChunk>(
        "Watch", [this](const CallContext&, EchoRequest, StreamWriter<CountChunk> writer) {
          writer.on_cancel([this] { cancelled.set_value(); });
          writer.write({.number = 1});
          opened.set_value(std::move(writer));
        });
    say_who_asks();
    start();
    client = std::make_unique<RpcClient>(to_server());
  }
  // Which of the client's connections a call comes by.
  void say_who_asks() {
    server->handle<EchoRequest, EchoReply>(
        "Peer", [](const CallContext& context, EchoRequest, Responder<EchoReply> responder) {
          responder.reply({context.peer, 0});
        });
  }
  std::string connection() {
    const auto reply = client->call<EchoReply>("Peer", EchoRequest{}, kPatience);
    return reply ? reply->text : reply.error().text;
  }
  std::unique_ptr<RpcClient> client;
  std::promise<StreamWriter<CountChunk>> opened;
  std::promise<void> cancelled;
};

TEST_F(OpenStream, ServerLearnsThatTheReaderHasGone) {
  auto stream = client->open<CountChunk>("Watch", EchoRequest{});
  ASSERT_TRUE(stream);
  CountChunk chunk;
  ASSERT_EQ(stream->read(chunk), ReadState::kChunk);
  EXPECT_EQ(stream->read(chunk, std::chrono::milliseconds(10)), ReadState::kNotYet);
  const auto writer = opened.get_future().get();
  writer.write({.number = 2});
  ASSERT_EQ(stream->read(chunk), ReadState::kChunk);
  EXPECT_EQ(chunk.number, 2u);
  stream = tl::unexpected<Error>(Error{});
  ASSERT_EQ(cancelled.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(writer.write({.number = 3}), WriteState::kClosed);
}

// Who is told in the log where a denied reader comes from asks gRPC, whose part of the call may be
// gone by then.
TEST_F(OpenStream, ADenialThatNobodyWaitsForIsNotLogged) {
  auto stream = client->open<CountChunk>("Watch", EchoRequest{});
  ASSERT_TRUE(stream);
  CountChunk chunk;
  ASSERT_EQ(stream->read(chunk), ReadState::kChunk);
  const auto writer = opened.get_future().get();
  stream = tl::unexpected<Error>(Error{});
  ASSERT_EQ(cancelled.get_future().wait_for(kPatience), std::future_status::ready);
  ::testing::internal::CaptureStderr();
  writer.finish(failure(ErrorCode::kAccessDenied, "not yours"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(OpenStream, ListenerMayCancelFromItsCallback) {
  std::promise<void> first;
  AsyncClient listener(to_server());
  StreamHandle handle = listener.listen<CountChunk>(
      "Watch", EchoRequest{}, [&](const CountChunk&) { first.set_value(); },
      [](const Status&) { FAIL() << "no callback after cancel()"; });
  first.get_future().wait();
  handle.cancel();
  ASSERT_EQ(cancelled.get_future().wait_for(kPatience), std::future_status::ready);
}

// What srun does: one thread waits for news of the job, another asks meanwhile.
TEST_F(OpenStream, CallsGoBesideItOnTheSameConnection) {
  const std::string first = connection();
  auto stream = client->open<CountChunk>("Watch", EchoRequest{});
  ASSERT_TRUE(stream);
  std::atomic<uint32_t> newest = 0;
  std::thread reader([&] {
    CountChunk chunk;
    while (stream->read(chunk) == ReadState::kChunk) newest = chunk.number;
  });
  const auto writer = opened.get_future().get();
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (int calls = 0; calls < 50; ++calls) EXPECT_EQ(connection(), first);
    });
  }
  for (uint32_t number = 2; number <= 100; ++number) writer.write({.number = number});
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(
      client->call<EchoReply>(EchoRequest{std::string(8 << 20, 'x'), 1}, kPatience)->text.size(),
      size_t{8} << 20);
  writer.finish();
  reader.join();
  EXPECT_EQ(newest, 100U);
  EXPECT_EQ(connection(), first);
}

TEST_F(OpenStream, ItsEndLeavesTheOthersAlone) {
  const std::string first = connection();
  auto stream = client->open<CountChunk>("Watch", EchoRequest{});
  ASSERT_TRUE(stream);
  auto other = client->open<CountChunk>(CountRequest{.count = 3, .chunk_bytes = 1});
  ASSERT_TRUE(other);
  std::thread reader([&] {
    CountChunk chunk;
    while (stream->read(chunk) == ReadState::kChunk) {}
    EXPECT_EQ(stream->error().code, ErrorCode::kConnectionLost);
  });
  const auto writer = opened.get_future().get();
  stream->cancel();
  reader.join();
  ASSERT_EQ(cancelled.get_future().wait_for(kPatience), std::future_status::ready);
  CountChunk chunk;
  for (uint32_t number = 0; number < 3; ++number) {
    ASSERT_EQ(other->read(chunk), ReadState::kChunk);
    EXPECT_EQ(chunk.number, number);
  }
  EXPECT_EQ(other->read(chunk), ReadState::kEnd);
  EXPECT_EQ(connection(), first);
}

TEST_F(OpenStream, ReaderLearnsThatTheServerHasGone) {
  auto stream = client->open<CountChunk>("Watch", EchoRequest{});
  ASSERT_TRUE(stream);
  CountChunk chunk;
  ASSERT_EQ(stream->read(chunk), ReadState::kChunk);
  const auto writer = opened.get_future().get();
  server->shutdown();
  EXPECT_EQ(stream->read(chunk), ReadState::kFailed);
  EXPECT_EQ(stream->error().code, ErrorCode::kConnectionLost) << stream->error().text;
}

TEST_F(Stream, AReaderThatIsFarTooSlowLosesItsStream) {
  RpcServer& s = serve({.stream_high_water = 1 << 20, .stream_backlog = 4 << 20});
  std::promise<WriteState> last;
  s.handle_stream<EchoRequest, CountChunk>(
      "Flood", [&](const CallContext&, EchoRequest, StreamWriter<CountChunk> writer) {
        const CountChunk chunk{.number = 0, .filler = std::string(1 << 20, 'x')};
        bool full = false;
        WriteState state;
        do {
          state = writer.write(chunk);
          full = full || state == WriteState::kFull;
        } while (state != WriteState::kClosed);
        EXPECT_TRUE(full);
        last.set_value(state);
      });
  start();
  RpcClient client(to_server());
  auto stream = client.open<CountChunk>("Flood", EchoRequest{});
  ASSERT_TRUE(stream);
  EXPECT_EQ(last.get_future().get(), WriteState::kClosed);
  CountChunk chunk;
  ReadState state;
  while ((state = stream->read(chunk)) == ReadState::kChunk) {}
  EXPECT_EQ(state, ReadState::kFailed);
}

}  // namespace
}  // namespace sluice::net
