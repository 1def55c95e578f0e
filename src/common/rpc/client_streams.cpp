// Streams from a server, read by callbacks.
#include <mutex>

#include "common/rpc/async_client.hpp"
#include "common/rpc/client_channels.hpp"
#include "common/rpc/guard/served_calls.hpp"
#include "common/rpc/idle.hpp"

namespace sluice::net {
// The callbacks' side of a stream. One attempt (a reactor) at a time; the next address is tried
// when an attempt was never sent. Callbacks run under `mutex_`, which makes cancel() wait for them;
// it is recursive so that they may cancel themselves.
class StreamHandle::Call : public std::enable_shared_from_this<StreamHandle::Call> {
 public:
  UnderWay under_way;
  std::shared_ptr<ClientChannels> channels;
  std::string method;
  std::string request;
  std::function<Status(std::string_view)> on_chunk;
  std::function<void(Status)> on_end;
  size_t first = 0;

  void start() {
    const std::lock_guard lock(mutex_);
    try_next(no_address());
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (attempt_ != nullptr) attempt_->context.TryCancel();
  }

 private:
  struct Attempt final : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
    std::shared_ptr<Call> owner;
    Connection connection;
    size_t index = 0;
    OwnCall own;  // as long as gRPC has the call, which is the context's
    grpc::ClientContext context;
    grpc::ByteBuffer out;
    grpc::ByteBuffer in;
    std::optional<Error> own_error;

    void OnReadDone(bool ok) override {
      if (!ok) return;  // OnDone tells why
      if (const Status taken = owner->take(*this); !taken) {
        own_error = taken.error();
        context.TryCancel();
        return;
      }
      StartRead(&in);
    }
    void OnDone(const grpc::Status& status) override {
      const std::unique_ptr<Attempt> self(this);
      owner->ended(*this, status);
    }
  };

  Status take(Attempt& attempt) {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    channels->endpoints().prefer(attempt.index);
    return on_chunk(ContiguousBytes(attempt.in).view());
  }

  void ended(Attempt& attempt, const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    attempt_ = nullptr;
    if (closed_) return;
    if (attempt.own_error) return end(tl::unexpected<Error>(*attempt.own_error));
    if (status.ok()) return end({});
    Error error = attempt.connection.explain(status, attempt.context);
    if (error.code == ErrorCode::kUnreachable) return try_next(std::move(error));
    end(tl::unexpected<Error>(std::move(error)));
  }

  void try_next(Error error) {
    while (!closed_ && tried_ < channels->endpoints().count()) {
      auto attempt = std::make_unique<Attempt>();
      attempt->index = (first + tried_++) % channels->endpoints().count();
      Result<Connection> connection = channels->get(attempt->index);
      if (!connection) {
        error = std::move(connection.error());
        continue;
      }
      attempt->connection = std::move(*connection);
      const auto ready = channels->prepare(attempt->context, method, request, kNoDeadline);
      if (!ready) return end(tl::unexpected<Error>(ready.error()));
      attempt->owner = shared_from_this();
      attempt->out = to_buffer(request);
      attempt_ = attempt.release();  // frees itself in OnDone
      grpc::GenericStub stub(attempt_->connection.channel);
      stub.PrepareBidiStreamingCall(&attempt_->context, method_path(method), grpc::StubOptions(),
                                    attempt_);
      attempt_->StartWriteLast(&attempt_->out, grpc::WriteOptions());
      attempt_->StartRead(&attempt_->in);
      attempt_->StartCall();
      return;
    }
    end(tl::unexpected<Error>(std::move(error)));
  }

  void end(const Status& status) {
    if (closed_) return;
    closed_ = true;
    on_end(status);
  }

  std::recursive_mutex mutex_;
  Attempt* attempt_ = nullptr;
  bool closed_ = false;
  size_t tried_ = 0;
};

StreamHandle& StreamHandle::operator=(StreamHandle&& other) noexcept {
  cancel();
  call_ = std::move(other.call_);
  return *this;
}

StreamHandle::~StreamHandle() { cancel(); }

void StreamHandle::cancel() {
  if (const auto call = std::exchange(call_, nullptr)) call->cancel();
}

StreamHandle AsyncClient::listen_raw(std::string_view method, std::string request,
                                     std::function<Status(std::string_view)> on_chunk,
                                     std::function<void(Status)> on_end) {
  auto call = std::make_shared<StreamHandle::Call>();
  call->channels = channels();
  call->method = method;
  call->request = std::move(request);
  call->on_chunk = std::move(on_chunk);
  call->on_end = std::move(on_end);
  call->first = call->channels->endpoints().preferred();
  call->start();
  return StreamHandle(std::move(call));
}

}  // namespace sluice::net
