// See rpc_client.hpp. Calls share a connection, which the threads that wait for them drive.
#include "common/net/rpc_client.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "common/os/back_off.hpp"
#include "common/net/call_status.hpp"
#include "common/os/clock.hpp"
#include "common/auth/crypto.hpp"
#include "common/net/http2_connection.hpp"

namespace sluice::net {
namespace {

constexpr int kMostTries = 600;  // of who is told to back off
// of whose token is older than the daemon: it was made before a restart, or the clock here is
// behind
constexpr int kMostEarlyTries = 10;
constexpr int kMostCrowdedTries = 10;  // of whom a flood kept out

// A second, as Slurm's commands wait, and not the same for all who were told so.
void wait_to_ask_again() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1000 + random_number() % 250));
}

// The request has not been looked at, and may be welcome with a new token.
bool may_ask_again(const Error& error, int tries) {
  return (is_back_off(error) && tries < kMostTries) ||
         (is_older_than_daemon(error) && tries < kMostEarlyTries) ||
         (is_crowded(error) && tries < kMostCrowdedTries);
}

using StartCall = std::function<Result<std::unique_ptr<Http2Call>>()>;

class BlockingStream final : public RawStream {
 public:
  // `again` begins the same call once more.
  BlockingStream(std::unique_ptr<Http2Call> call, StartCall again)
      : call_(std::move(call)), again_(std::move(again)) {}

  ReadState read(std::string& chunk, Duration wait) override {
    for (int tries = 1;; ++tries) {
      const ReadState state =
          call_->read(chunk, wait < Duration(0) ? kNoDeadline : steady_now() + wait);
      const bool refused =
          state == ReadState::kFailed && !begun_ && may_ask_again(call_->error(), tries);
      begun_ = begun_ || state == ReadState::kChunk;
      if (!refused) return state;
      wait_to_ask_again();
      auto fresh = again_();
      const std::lock_guard lock(mutex_);
      if (!fresh || cancelled_) return state;
      call_.swap(*fresh);
    }
  }
  [[nodiscard]] const Error& error() const override { return call_->error(); }
  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    call_->cancel();
  }

 private:
  std::mutex mutex_;  // guards these two from cancel(), which another thread may call
  std::unique_ptr<Http2Call> call_;  // whose end tells the server that nobody reads any more
  bool cancelled_ = false;
  bool begun_ = false;
  StartCall again_;
};

}  // namespace

struct RpcClient::Impl {
  explicit Impl(ClientOptions options) : endpoints(std::move(options)) {}
  ClientEndpoints endpoints;

  struct Started {
    std::unique_ptr<Http2Call> call;
    std::string answer_key;
  };
  // Starts the call on a connection to the address of this index. Errors: kUnreachable,
  // kAuthentication.
  [[nodiscard]] Result<Started> start(size_t index, std::string_view method,
                                      const std::string& request, SteadyTime deadline);

 private:
  // The one that there is, while it takes calls, or a new one.
  [[nodiscard]] Result<std::shared_ptr<Http2Connection>> connect(size_t index, SteadyTime deadline);

  std::mutex mutex_;
  // guarded by mutex_, as is the index of its address; null: there is none
  std::shared_ptr<Http2Connection> connection_;
  size_t connected_ = 0;
};

RpcClient::RpcClient(ClientOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}

RpcClient::~RpcClient() = default;

Result<std::shared_ptr<Http2Connection>> RpcClient::Impl::connect(size_t index,
                                                                  SteadyTime deadline) {
  std::shared_ptr<Http2Connection> known;
  {
    const std::lock_guard lock(mutex_);
    if (connected_ == index) known = connection_;
  }
  if (known != nullptr && known->takes_calls()) return known;
  const ClientOptions& options = endpoints.options();
  // no other to ask, or a query: start() waits for its greeting
  const bool at_once = endpoints.count() == 1 || deadline >= kNoDeadline;
  const auto greeting =
      at_once ? Http2Connection::Greeting::kWithCall : Http2Connection::Greeting::kFirst;
  auto fresh = Http2Connection::open(options.addresses[index], options, greeting, deadline);
  if (!fresh) return fresh;
  if (options.exposes_token && (*fresh)->is_overheard())
    options.exposes_token(options.addresses[index]);
  const std::lock_guard lock(mutex_);
  // calls that are open on it keep it; else it dies outside the lock
  known = std::exchange(connection_, *fresh);
  connected_ = index;
  return fresh;
}

Result<RpcClient::Impl::Started> RpcClient::Impl::start(size_t index, std::string_view method,
                                                        const std::string& request,
                                                        SteadyTime deadline) {
  Result<KeyedToken> token = endpoints.token_for(method, request);
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  const SteadyTime limit = steady_now() + endpoints.options().connect_timeout;
  const auto connection = connect(index, deadline);
  if (!connection) return tl::unexpected<Error>(connection.error());
  Started started{
      (*connection)->start({method_path(method), std::move(token->token), request, deadline}),
      std::move(token->answer_key)};
  // Streams are queries, and have no deadline: a host that does not greet is given up, and another
  // may be sent the same, as it changes nothing.
  if (deadline >= kNoDeadline) {
    if (const Status ok = (*connection)->greet(limit); !ok)
      return tl::unexpected<Error>(ok.error());
  }
  endpoints.prefer(index);
  return started;
}

Result<std::string> RpcClient::call_raw(std::string_view method, const std::string& request,
                                        Duration timeout) {
  for (int tries = 1;; ++tries) {
    Result<std::string> reply = call_once(method, request, timeout);
    if (reply || !may_ask_again(reply.error(), tries)) return reply;
    wait_to_ask_again();
  }
}

Result<std::string> RpcClient::call_once(std::string_view method, const std::string& request,
                                         Duration timeout) {
  const ClientEndpoints& endpoints = impl_->endpoints;
  const SteadyTime deadline = deadline_after(timeout);
  const size_t first = endpoints.preferred();
  Error error = no_address();
  for (size_t i = 0; i < endpoints.count(); ++i) {
    const size_t index = (first + i) % endpoints.count();
    auto started = impl_->start(index, method, request, deadline);
    if (started) {
      Http2Call& call = *started->call;
      std::string reply;
      std::string more;
      ReadState state = call.read(reply, kNoDeadline);
      if (state == ReadState::kChunk) state = call.read(more, kNoDeadline);
      if (state == ReadState::kEnd) {
        const Status own = check_answer(started->answer_key, reply, call.signature(),
                                        endpoints.options().addresses[index]);
        if (!own) return tl::unexpected<Error>(own.error());
        return reply;
      }
      error = call.error();
    } else {
      error = std::move(started.error());
    }
    if (error.code != ErrorCode::kUnreachable) break;
  }
  return tl::unexpected<Error>(std::move(error));
}

Result<std::unique_ptr<RawStream>> RpcClient::open_raw(std::string_view method,
                                                       const std::string& request) {
  for (int tries = 1;; ++tries) {
    auto stream = open_once(method, request);
    if (stream || !may_ask_again(stream.error(), tries)) return stream;
    wait_to_ask_again();
  }
}

Result<std::unique_ptr<RawStream>> RpcClient::open_once(std::string_view method,
                                                        const std::string& request) {
  const ClientEndpoints& endpoints = impl_->endpoints;
  const size_t first = endpoints.preferred();
  Error error = no_address();
  for (size_t i = 0; i < endpoints.count(); ++i) {
    const size_t index = (first + i) % endpoints.count();
    auto started = impl_->start(index, method, request, kNoDeadline);
    const auto again = [impl = impl_, index, method = std::string(method),
                        request]() -> Result<std::unique_ptr<Http2Call>> {
      auto fresh = impl->start(index, method, request, kNoDeadline);
      if (!fresh) return tl::unexpected<Error>(std::move(fresh.error()));
      return std::move(fresh->call);
    };
    if (started) return std::make_unique<BlockingStream>(std::move(started->call), again);
    error = std::move(started.error());
    if (error.code != ErrorCode::kUnreachable) break;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace sluice::net
