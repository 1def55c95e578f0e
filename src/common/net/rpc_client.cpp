// See rpc_client.hpp. Every call has a connection that its own thread drives.
#include "common/net/rpc_client.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "common/net/back_off.hpp"
#include "common/net/call_status.hpp"
#include "common/net/clock.hpp"
#include "common/net/crypto.hpp"
#include "common/net/http2_connection.hpp"

namespace sluice::net {
namespace {

constexpr int kMostTries = 600;  // of who is told to back off
constexpr int kMostEarlyTries = 10;  // of whose token is older than the daemon: it was made before a restart, or the clock here is behind

// A second, as Slurm's commands wait, and not the same for all who were told so.
void wait_to_ask_again() { std::this_thread::sleep_for(std::chrono::milliseconds(1000 + random_number() % 250)); }

// The request has not been looked at, and may be welcome with a new token.
bool may_ask_again(const Error& error, int tries) {
  return (is_back_off(error) && tries < kMostTries) || (is_older_than_daemon(error) && tries < kMostEarlyTries);
}

using Connect = std::function<Result<std::unique_ptr<Http2Connection>>()>;

class BlockingStream final : public RawStream {
 public:
  // `again` begins the same call once more.
  BlockingStream(std::unique_ptr<Http2Connection> connection, Connect again)
      : connection_(std::move(connection)), again_(std::move(again)) {}

  ReadState read(std::string& chunk, Duration wait) override {
    for (int tries = 1;; ++tries) {
      const ReadState state = connection_->read(chunk, wait < Duration(0) ? kNoDeadline : steady_now() + wait);
      const bool refused = state == ReadState::kFailed && !begun_ && may_ask_again(connection_->error(), tries);
      begun_ = begun_ || state == ReadState::kChunk;
      if (!refused) return state;
      wait_to_ask_again();
      auto fresh = again_();
      const std::lock_guard lock(mutex_);
      if (!fresh || cancelled_) return state;
      connection_.swap(*fresh);
    }
  }
  [[nodiscard]] const Error& error() const override { return connection_->error(); }
  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    connection_->interrupt();
  }

 private:
  std::mutex mutex_;  // guards these two from cancel(), which another thread may call
  std::unique_ptr<Http2Connection> connection_;  // whose end tells the server that nobody reads any more
  bool cancelled_ = false;
  bool begun_ = false;
  Connect again_;
};

}  // namespace

struct RpcClient::Impl {
  explicit Impl(ClientOptions options) : endpoints(std::move(options)) {}
  ClientEndpoints endpoints;

  // A connection to the first address that answers, on which the call has been started.
  // Errors: kUnreachable, kAuthentication.
  struct Started {
    std::unique_ptr<Http2Connection> connection;
    size_t index = 0;  // of the address
    std::string answer_key = {};
  };
  [[nodiscard]] Result<Started> start(size_t index, std::string_view method, const std::string& request,
                                      SteadyTime deadline);
  // For the next call, which looks whether it is still good.
  void give_back(Started started);

 private:
  std::mutex mutex_;
  Started idle_;  // guarded by mutex_
};

RpcClient::RpcClient(ClientOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}

RpcClient::~RpcClient() = default;

Result<RpcClient::Impl::Started> RpcClient::Impl::start(size_t index, std::string_view method,
                                                        const std::string& request, SteadyTime deadline) {
  Result<KeyedToken> token = endpoints.token_for(method, request);
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  Started started;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.index == index) started.connection = std::move(idle_.connection);
  }
  started.index = index;
  started.answer_key = std::move(token->answer_key);
  if (started.connection == nullptr || !started.connection->reusable()) {
    const bool alone = endpoints.count() == 1 && deadline < kNoDeadline;  // no other to ask, and an end to the waiting
    const auto greeting = alone ? Http2Connection::Greeting::kWithCall : Http2Connection::Greeting::kFirst;
    auto fresh = Http2Connection::open(endpoints.options().addresses[index], endpoints.options(), greeting, deadline);
    if (!fresh) return tl::unexpected<Error>(std::move(fresh.error()));
    started.connection = std::move(*fresh);
    const ClientOptions& options = endpoints.options();
    if (options.exposes_token && started.connection->is_overheard()) options.exposes_token(options.addresses[index]);
  }
  started.connection->start({method_path(method), std::move(token->token), request, deadline});
  endpoints.prefer(index);
  return started;
}

void RpcClient::Impl::give_back(Started started) {
  const std::lock_guard lock(mutex_);
  std::swap(idle_, started);  // the one that was there dies outside the lock
}

Result<std::string> RpcClient::call_raw(std::string_view method,
                                        const std::string& request,
                                        Duration timeout) {
  for (int tries = 1;; ++tries) {
    Result<std::string> reply = call_once(method, request, timeout);
    if (reply || !may_ask_again(reply.error(), tries)) return reply;
    wait_to_ask_again();
  }
}

Result<std::string> RpcClient::call_once(std::string_view method,
                                         const std::string& request,
                                         Duration timeout) {
  const ClientEndpoints& endpoints = impl_->endpoints;
  const SteadyTime deadline = deadline_after(timeout);
  const size_t first = endpoints.preferred();
  Error error = no_address();
  for (size_t i = 0; i < endpoints.count(); ++i) {
    auto started = impl_->start((first + i) % endpoints.count(), method, request, deadline);
    if (started) {
      std::string reply;
      std::string more;
      ReadState state = started->connection->read(reply, kNoDeadline);
      if (state == ReadState::kChunk) state = started->connection->read(more, kNoDeadline);
      if (state == ReadState::kEnd) {
        const Status own = check_answer(started->answer_key, reply, started->connection->signature(),
                                        endpoints.options().addresses[started->index]);
        impl_->give_back(std::move(*started));
        if (!own) return tl::unexpected<Error>(own.error());
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

Result<std::unique_ptr<RawStream>> RpcClient::open_raw(std::string_view method,
                                                       const std::string& request) {
  const ClientEndpoints& endpoints = impl_->endpoints;
  const size_t first = endpoints.preferred();
  Error error = no_address();
  for (size_t i = 0; i < endpoints.count(); ++i) {
    const size_t index = (first + i) % endpoints.count();
    auto started = impl_->start(index, method, request, kNoDeadline);
    const auto again = [impl = impl_, index, method = std::string(method), request]() -> Result<std::unique_ptr<Http2Connection>> {
      auto fresh = impl->start(index, method, request, kNoDeadline);
      if (!fresh) return tl::unexpected<Error>(std::move(fresh.error()));
      return std::move(fresh->connection);
    };
    if (started) return std::make_unique<BlockingStream>(std::move(started->connection), again);
    error = std::move(started.error());
    if (error.code != ErrorCode::kUnreachable) break;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace sluice::net
