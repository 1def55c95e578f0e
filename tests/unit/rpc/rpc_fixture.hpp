// A server and clients in one process, over loopback.
#pragma once

#include <future>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/auth/auth_slurm.hpp"
#include "common/net/rpc_client.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/rpc_server.hpp"

namespace sluice::net {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A port of loopback to which clients can connect.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here = loopback(0);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(::listen(fd_, 5), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&here), &size), 0);
    port_ = ntohs(here.sin_port);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { ::close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int fd_;
  int port_ = 0;
};

struct EchoRequest {
  static constexpr std::string_view kMethod = "Test/Echo";
  using Reply = struct EchoReply;
  std::string text;
  uint32_t count = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "text", &EchoRequest::text);
    field(2, "count", &EchoRequest::count);
  }
};
struct EchoReply {
  std::string text;
  uint32_t uid = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "text", &EchoReply::text);
    field(2, "uid", &EchoReply::uid);
  }
};
struct CountRequest {
  static constexpr std::string_view kMethod = "Test/Count";
  using Chunk = struct CountChunk;
  uint32_t count = 0;
  uint32_t chunk_bytes = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "count", &CountRequest::count);
    field(2, "chunk_bytes", &CountRequest::chunk_bytes);
  }
};
struct CountChunk {
  uint32_t number = 0;
  std::string filler;
  template <class V>
  static void describe(V&& field) {
    field(1, "number", &CountChunk::number);
    field(2, "filler", &CountChunk::filler);
  }
};

inline constexpr Duration kPatience = std::chrono::seconds(20);
inline const std::string kKeyBytes = "0123456789abcdef0123456789abcdef";

inline std::shared_ptr<AuthProvider> test_auth(const std::string& key = kKeyBytes) {
  return make_key_auth(ClusterKey::from_bytes(key), "test");
}

class RpcFixture : public ::testing::Test {
 protected:
  RpcServer& serve(ServerOptions options = {}) {
    options.addresses = {"127.0.0.1:0"};
    if (options.auth == nullptr) options.knows_nobody = true;
    server = std::make_unique<RpcServer>(std::move(options));
    server->handle<EchoRequest, EchoReply>(
        [](const CallContext& context, EchoRequest request, Responder<EchoReply> responder) {
          responder.reply({std::move(request.text), context.identity.uid});
        });
    server->handle_stream<CountRequest, CountChunk>(
        [](const CallContext&, CountRequest request, StreamWriter<CountChunk> writer) {
          writer.pull([request, next = 0u]() mutable -> Result<std::optional<CountChunk>> {
            if (next == request.count) return std::nullopt;
            return CountChunk{next++, std::string(request.chunk_bytes, 'x')};
          });
        });
    return *server;
  }
  void start() { ASSERT_TRUE(server->start()) << "cannot listen"; }
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(server->port());
  }
  [[nodiscard]] ClientOptions to_server(std::shared_ptr<AuthProvider> auth = nullptr) const {
    return {.addresses = {address()}, .auth = std::move(auth)};
  }
  std::unique_ptr<RpcServer> server;
};

// An address on which nobody listens: a port that was free a moment ago.
inline std::string dead_address() {
  RpcServer gone({.addresses = {"127.0.0.1:0"}});
  EXPECT_TRUE(gone.start());
  return "127.0.0.1:" + std::to_string(gone.port());
}

}  // namespace sluice::net
