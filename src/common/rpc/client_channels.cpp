#include "common/rpc/client_channels.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/tls_credentials.hpp"

namespace sluice::net {
namespace {

constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kFirstBackoffMs = 100;
constexpr int kMostBackoffMs = 2'000;

int milliseconds(Duration d) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
}

std::string target_uri(const NumericAddress& address) {
  switch (address.kind) {
    case NumericAddress::Kind::kUnix:
      return (address.text.starts_with('/') ? "unix://" : "unix:") + address.text;
    case NumericAddress::Kind::kIpv4: return "ipv4:///" + address.text;
    case NumericAddress::Kind::kIpv6: return "ipv6:///" + address.text;
  }
  return {};
}

}  // namespace

ClientChannels::ClientChannels(ClientOptions options)
    : endpoints_(std::move(options)), connections_(endpoints_.count()) {}

Result<std::shared_ptr<grpc::Channel>> ClientChannels::connect(const Connection& to) const {
  set_up_grpc();
  const ClientOptions& options = endpoints_.options();
  Result<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      grpc::InsecureChannelCredentials();
  if (options.tls != nullptr && !to.target.starts_with("unix:")) {
    credentials = channel_credentials(options.tls, certified_names(options.receiver, to.address));
    if (!credentials) return tl::unexpected<Error>(std::move(credentials.error()));
  }
  grpc::ChannelArguments arguments;
  // Nothing is looked up on the way: names are numbers here, and a command has 4 ms in all.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   milliseconds(endpoints_.options().connect_timeout));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMostBackoffMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(endpoints_.options().keepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
                   static_cast<int>(endpoints_.options().max_message));
  arguments.SetInt(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH,
                   static_cast<int>(endpoints_.options().max_message));
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "sluice");
  auto channel = grpc::CreateCustomChannel(to.target, *credentials, arguments);
  // The first one stays for good. gRPC ends the threads of its callbacks with the last channel, and
  // aborts where that channel's end is one of those callbacks. (Volatile, or the compiler drops
  // what nobody reads, and the channel is a leak.)
  static const auto* const volatile keeper = new std::shared_ptr<grpc::Channel>(channel);
  (void)keeper;
  return channel;
}

Result<Connection> ClientChannels::get(size_t index) {
  {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[index];
    if (connection.channel) {
      const auto state = connection.channel->GetState(false);
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
        auto channel = connect(connection);
        if (!channel) return tl::unexpected<Error>(std::move(channel.error()));
        connection.channel = std::move(*channel);
      }
      return connection;
    }
  }
  // Not under the mutex: it may take as long as the resolver likes.
  const Result<NumericAddress> numeric = resolve(endpoints_.options().addresses[index]);
  if (!numeric) return tl::unexpected<Error>(numeric.error());
  const std::lock_guard lock(mutex_);
  Connection& connection = connections_[index];
  if (!connection.channel) {
    connection.address = endpoints_.options().addresses[index];
    connection.target = target_uri(*numeric);
    auto channel = connect(connection);
    if (!channel) return tl::unexpected<Error>(std::move(channel.error()));
    connection.channel = std::move(*channel);
  }
  return connection;
}

Result<std::string> ClientChannels::prepare(grpc::ClientContext& context, std::string_view method,
                                            std::string_view request, SteadyTime deadline) const {
  // gRPC counts from here on by a clock of its own
  if (deadline < kNoDeadline)
    context.set_deadline(std::chrono::system_clock::now() + (deadline - steady_now()));
  Result<KeyedToken> token = endpoints_.token_for(method, request);
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  if (!token->token.empty()) context.AddMetadata(kTokenKey, token->token);
  return std::move(token->answer_key);
}

}  // namespace sluice::net
