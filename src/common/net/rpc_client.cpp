// Unary calls: blocking ones have a connection that their own thread drives; asynchronous ones use
// gRPC's channels and callback threads.
#include "common/net/rpc_client.hpp"

#include "common/net/client_channels.hpp"
#include "common/net/client_impl.hpp"

namespace sluice::net {
namespace {

Error no_address() {
  return {ErrorCode::kUnreachable, "no address to connect to"};
}

// One call, with the addresses that are still to be tried.
struct AsyncCall : std::enable_shared_from_this<AsyncCall> {
  std::shared_ptr<ClientChannels> channels;
  std::string method;
  std::string request;
  Time deadline;
  std::function<void(Result<std::string>)> done;
  size_t tried = 0;
  size_t first = 0;
  Error error = no_address();

  struct Attempt {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
    Connection connection;
  };

  void try_next() {
    while (tried < channels->count()) {
      const size_t index = (first + tried++) % channels->count();
      Result<Connection> connection = channels->get(index);
      if (!connection) {
        error = std::move(connection.error());
        continue;
      }
      auto attempt = std::make_shared<Attempt>();
      attempt->connection = std::move(*connection);
      const Status ready = channels->prepare(attempt->context, method, request, deadline);
      if (!ready) return done(tl::unexpected<Error>(ready.error()));
      attempt->request = to_buffer(tried == channels->count() ? std::move(request) : request);
      grpc::GenericStub stub(attempt->connection.channel);
      stub.UnaryCall(&attempt->context, method_path(method), grpc::StubOptions(), &attempt->request,
                     &attempt->reply,
                     [self = shared_from_this(), attempt, index](const grpc::Status& status) {
                       self->finished(*attempt, index, status);
                     });
      return;
    }
    done(tl::unexpected<Error>(std::move(error)));
  }

  void finished(Attempt& attempt, size_t index, const grpc::Status& status) {
    if (status.ok()) {
      channels->prefer(index);
      return done(std::string(ContiguousBytes(attempt.reply).view()));
    }
    error = attempt.connection.explain(status);
    if (error.code == ErrorCode::kUnreachable && tried < channels->count()) return try_next();
    done(tl::unexpected<Error>(std::move(error)));
  }
};

}  // namespace

RpcClient::RpcClient(ClientOptions options)
    : impl_(std::make_shared<Impl>(std::make_shared<ClientChannels>(std::move(options)))) {}

RpcClient::~RpcClient() = default;

Result<RpcClient::Impl::Started> RpcClient::Impl::start(size_t index, std::string_view method,
                                                        const std::string& request, Time deadline) {
  Result<std::string> token = channels->token_for(method, request);
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  Started started;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.index == index) started.connection = std::move(idle_.connection);
  }
  started.index = index;
  if (started.connection == nullptr || !started.connection->reusable()) {
    auto fresh = Http2Connection::open(channels->options().addresses[index], channels->options(), deadline);
    if (!fresh) return tl::unexpected<Error>(std::move(fresh.error()));
    started.connection = std::move(*fresh);
  }
  started.connection->start({method_path(method), std::move(*token), request, deadline});
  channels->prefer(index);
  return started;
}

void RpcClient::Impl::give_back(Started started) {
  const std::lock_guard lock(mutex_);
  std::swap(idle_, started);  // the one that was there dies outside the lock
}

Result<std::string> RpcClient::call_raw(std::string_view method,
                                        const std::string& request,
                                        Duration timeout) {
  const ClientChannels& channels = *impl_->channels;
  const Time deadline = deadline_after(timeout);
  const size_t first = channels.preferred();
  Error error = no_address();
  for (size_t i = 0; i < channels.count(); ++i) {
    auto started = impl_->start((first + i) % channels.count(), method, request, deadline);
    if (started) {
      std::string reply;
      std::string more;
      ReadState state = started->connection->read(reply, kNever);
      if (state == ReadState::kChunk) state = started->connection->read(more, kNever);
      if (state == ReadState::kEnd) {
        impl_->give_back(std::move(*started));
        return reply;
      }
      error = started->connection->error();
      if (error.code != ErrorCode::kUnreachable) impl_->give_back(std::move(*started));
    } else {
      error = std::move(started.error());
    }
    if (error.code != ErrorCode::kUnreachable) break;
  }
  return tl::unexpected<Error>(std::move(error));
}

void RpcClient::call_raw_async(std::string_view method,
                               std::string request,
                               Duration timeout,
                               std::function<void(Result<std::string>)> done) {
  auto call = std::make_shared<AsyncCall>();
  call->channels = impl_->channels;
  call->method = method;
  call->request = std::move(request);
  call->deadline = deadline_after(timeout);
  call->done = std::move(done);
  call->first = impl_->channels->preferred();
  call->try_next();
}

}  // namespace sluice::net
