#include "common/rpc/rpc_server.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include "common/base/check.hpp"
#include "common/log/log.hpp"
#include "common/net/address.hpp"
#include "common/rpc/listener.hpp"
#include "common/rpc/refusal_log.hpp"
#include "common/rpc/server_calls.hpp"
#include "common/rpc/tls_credentials.hpp"

namespace sluice::net {
namespace {

// Of credentials that another daemon verifies: a host never has all threads.
constexpr SlowWork::Limits kCredentialWork{
    .threads = 4, .running_of_user = 3, .waiting_of_user = 4096, .waiting = 20'000};
constexpr int kMostKeepaliveTimeoutMs = 20'000;
// on the way to us, of a request that is not read yet; of one that is, all of it
constexpr int kWindowBytes = 256 << 10;
constexpr int kIdleConnectionMs = 600'000;
constexpr int kLeastPingGapMs = 10'000;
// of TLS: who begins it and says no more is not waited for
constexpr int kHandshakeTimeoutMs = 20'000;

class UnknownMethod final : public grpc::ServerGenericBidiReactor {
 public:
  explicit UnknownMethod(const std::string& path) {
    Finish(
        to_grpc(to_status({ErrorCode::kNotSupported, fmt::format("there is no method {}", path)})));
  }
  void OnDone() override { delete this; }
};

std::string listen_name(const NumericAddress& address) {
  return (address.kind == NumericAddress::Kind::kUnix ? "unix:" : "") + address.text;
}

}  // namespace

struct RpcServer::Impl final : grpc::CallbackGenericService {
  explicit Impl(ServerOptions o) : options(std::move(o)), admission(options.admission) {
    if (options.refusals == nullptr) options.refusals = std::make_shared<RefusalLog>();
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const auto found = methods.find(context->method());
    if (found == methods.end()) return new UnknownMethod(context->method());
    const Method& method = found->second;
    if (method.stream) {
      return ServerCall::begin(std::make_shared<StreamCall>(shared, method, context));
    }
    return ServerCall::begin(std::make_shared<UnaryCall>(shared, method, context));
  }

  void add(Method method) {
    SLUICE_CHECK(server == nullptr);
    std::string path = method_path(method.name);
    SLUICE_CHECK(methods.emplace(std::move(path), std::move(method)).second);
  }

  // A port of the network; its number, or why there is none.
  Result<int> add_port(grpc::ServerBuilder& builder, const std::string& address,
                       const NumericAddress& numeric) {
    using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    const bool tls = options.tls != nullptr;
    auto listener = Listener::bind(address, numeric, tls, connections);
    if (!listener) return tl::unexpected<Error>(std::move(listener.error()));
    const int bound = (*listener)->port();
    auto credentials_of_port =
        tls ? server_credentials(options.tls) : grpc::InsecureServerCredentials();
    listeners.push_back(
        {std::move(*listener), builder.experimental().AddExternalConnectionAcceptor(
                                   External::FROM_FD, std::move(credentials_of_port))});
    return bound;
  }

  ServerOptions options;
  Admission admission;
  SlowWork slow_work;
  SlowWork credentials{kCredentialWork};
  InlineTurn credential_turn;
  const std::shared_ptr<ConnectionQuota> connections = std::make_shared<ConnectionQuota>(
      options.connections, options.connections_of_host, options.tls == nullptr);
  std::atomic<uint32_t> at_work = 0;
  const ServerShared shared{options,         admission,    slow_work, credentials,
                            credential_turn, *connections, at_work};
  struct Port {
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Listener::Acceptor> acceptor;  // until it starts
  };
  std::vector<Port> listeners;
  std::unordered_map<std::string, Method> methods;  // fixed once started
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

RpcServer::RpcServer(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  set_up_grpc();
  if (impl_->options.auth == nullptr) return;
  impl_->options.auth->on_outage([](bool away, const std::string& text) {
    if (away) log::error("{}: nobody's identity can be proved until it answers", text);
    else log::info("{}", text);
  });
}

RpcServer::~RpcServer() { shutdown(); }

void RpcServer::add_raw(std::string_view method, MethodRules rules, RawHandler handler) {
  impl_->add({.name = std::string(method),
              .rules = rules,
              .unary = std::move(handler),
              .stream = nullptr});
}

void RpcServer::add_raw_stream(std::string_view method, MethodRules rules,
                               RawStreamHandler handler) {
  impl_->add({.name = std::string(method),
              .rules = rules,
              .unary = nullptr,
              .stream = std::move(handler)});
}

Status RpcServer::start() {
  const ServerOptions& options = impl_->options;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(std::min(options.max_request, options.max_message)));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_message));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  // A few bytes that become gigabytes are no request: nothing is decompressed.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.SetResourceQuota(grpc::ResourceQuota("server").Resize(options.memory));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
  // No measuring of the bandwidth, which is a ping and its answer for each command; a fixed window
  // instead.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server must not start
  const auto keepalive = static_cast<int>(std::clamp<int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options.keepalive).count(), 0,
      INT_MAX));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive > 0 ? keepalive : INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_SENT_PING_INTERVAL_WITHOUT_DATA_MS,
                             std::max(keepalive, 1));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             std::clamp(keepalive, 1, kMostKeepaliveTimeoutMs));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kLeastPingGapMs);
  builder.RegisterCallbackGenericService(impl_.get());
  std::vector<int> ports(options.addresses.size());
  for (size_t i = 0; i < options.addresses.size(); ++i) {
    const Result<NumericAddress> address = resolve(options.addresses[i]);
    if (!address) return failure(ErrorCode::kError, address.error().text);
    if (address->kind != NumericAddress::Kind::kUnix) {
      const Result<int> port = impl_->add_port(builder, options.addresses[i], *address);
      if (!port) return failure(ErrorCode::kError, "cannot listen on " + port.error().text);
      ports[i] = *port;
    } else {
      builder.AddListeningPort(listen_name(*address), grpc::InsecureServerCredentials(), &ports[i]);
    }
  }
  impl_->server = builder.BuildAndStart();
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = options.addresses[i];
    if (impl_->server == nullptr && ports[i] > 0) continue;
    if (impl_->server == nullptr || ports[i] <= 0) {
      impl_->server = nullptr;
      const Status now = can_listen(address);
      return failure(ErrorCode::kError, now ? fmt::format("cannot listen on {}", address)
                                            : "cannot listen on " + now.error().text);
    }
    if (address.starts_with("unix:")) ::chmod(address.c_str() + 5, 0777);  // tokens guard it
    else if (impl_->port == 0) impl_->port = ports[i];
  }
  if (impl_->server == nullptr) return failure(ErrorCode::kError, "the server cannot start");
  for (Impl::Port& port : impl_->listeners) port.listener->start(std::move(port.acceptor));
  std::vector<std::string> names;
  for (const auto& [path, method] : impl_->methods) names.push_back(method.name);
  std::ranges::sort(names);
  log::debug("methods: {}", fmt::join(names, " "));
  return {};
}

int RpcServer::port() const { return impl_->port; }

uint32_t RpcServer::threads_at_work() const {
  return impl_->at_work.load(std::memory_order_relaxed);
}

void RpcServer::shutdown(Duration grace) {
  impl_->listeners.clear();
  if (impl_->server == nullptr) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() + grace);
  impl_->server->Wait();
  impl_->slow_work.stop();
  impl_->credentials.stop();
  impl_->server = nullptr;
}

void RpcServer::dispatch(const CallContext& context, std::string_view method,
                         std::string_view request, RawResponder responder) const {
  const auto found = impl_->methods.find(method_path(method));
  if (found == impl_->methods.end() || !found->second.unary) {
    return responder.fail({ErrorCode::kNotSupported, fmt::format("there is no method {}", method)});
  }
  found->second.unary(context, request, std::move(responder));
}

}  // namespace sluice::net
