// Unary calls: blocking ones wait on a completion queue of their own, so that a command starts no
// thread for them; asynchronous ones use gRPC's callback threads.
#include "common/net/rpc_client.hpp"

#include <grpcpp/completion_queue.h>

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

Result<std::string> blocking_attempt(ClientChannels& channels,
                                     size_t index,
                                     std::string_view method,
                                     const std::string& request,
                                     Time deadline) {
  const Result<Connection> connection = channels.get(index);
  if (!connection) return tl::unexpected<Error>(connection.error());
  grpc::ClientContext context;
  if (const Status ready = channels.prepare(context, method, request, deadline); !ready) {
    return tl::unexpected<Error>(ready.error());
  }
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(connection->channel);
  const auto call =
      stub.PrepareUnaryCall(&context, method_path(method), to_buffer(request), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) {
    return tl::unexpected<Error>(connection->explain(status));
  }
  channels.prefer(index);
  return std::string(ContiguousBytes(reply).view());
}

}  // namespace

RpcClient::RpcClient(ClientOptions options)
    : impl_(std::make_shared<Impl>(std::make_shared<ClientChannels>(std::move(options)))) {}

RpcClient::~RpcClient() = default;

Result<std::string> RpcClient::call_raw(std::string_view method,
                                        std::string request,
                                        Duration timeout) {
  ClientChannels& channels = *impl_->channels;
  const Time deadline = deadline_after(timeout);
  const size_t first = channels.preferred();
  Result<std::string> result = tl::unexpected<Error>(no_address());
  for (size_t i = 0; i < channels.count(); ++i) {
    result = blocking_attempt(channels, (first + i) % channels.count(), method, request, deadline);
    if (result || result.error().code != ErrorCode::kUnreachable) break;
  }
  return result;
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
