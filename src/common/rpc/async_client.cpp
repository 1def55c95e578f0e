// Unary calls with callbacks, and what the client is made of.
#include "common/rpc/async_client.hpp"

#include "common/net/rpc_client.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/query.hpp"
#include "common/rpc/client_channels.hpp"
#include "common/rpc/guard/served_calls.hpp"
#include "common/rpc/idle.hpp"
#include "common/rpc/slow_work.hpp"

namespace sluice::net {
namespace {

// Makes tokens that another daemon has to be asked for, so that none of gRPC's threads waits for
// it, nor who sends. Like gRPC's threads it stays to the end of the process.
SlowWork& token_work() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const volatile work = new SlowWork(
      {.threads = 4, .running_of_user = 4, .waiting_of_user = 100'000, .waiting = 100'000});
  return *work;
}

// Asks servers why they close connections.
SlowWork& question_work() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const volatile work =
      new SlowWork({.threads = 1, .running_of_user = 1, .waiting_of_user = 8, .waiting = 8});
  return *work;
}

constexpr Duration kQuestionTime = std::chrono::seconds(2);

// What a server that speaks TLS alone tells who does not, gRPC does not read: it says that the
// socket was closed, as it does of one that went away.
std::string why_closed(const std::string& address) {
  RpcClient client({.addresses = {address}, .connect_timeout = kQuestionTime});
  const auto reply = client.call<protocol::PingReply>(protocol::PingRequest{}, kQuestionTime);
  return !reply && reply.error().code == ErrorCode::kAuthentication ? reply.error().text
                                                                    : std::string();
}

// One call, with the addresses that are still to be tried.
struct AsyncCall : std::enable_shared_from_this<AsyncCall> {
  UnderWay under_way;
  std::shared_ptr<ClientChannels> channels;
  std::string method;
  std::string request;
  SteadyTime deadline;
  std::function<void(Result<std::string>)> done;
  size_t tried = 0;
  size_t first = 0;
  Error error = no_address();

  struct Attempt {
    OwnCall own;  // as long as gRPC has the call, which is the context's
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
    Connection connection;
    std::string answer_key;

    [[nodiscard]] std::string signature() const {
      const auto& trailers = context.GetServerTrailingMetadata();
      const auto found = trailers.find(kSignatureKey);
      return found == trailers.end() ? std::string()
                                     : std::string(found->second.data(), found->second.size());
    }
  };

  // Makes the token elsewhere where it may take long.
  void start() {
    const AuthProvider* auth = channels->endpoints().options().auth.get();
    if (auth == nullptr || auth->create_waits_for() == WaitsFor::kNothing) return try_next();
    const bool taken = token_work().post(0, [self = shared_from_this()] {
      if (steady_now() < self->deadline) return self->try_next();
      self->done(failure(ErrorCode::kRetry, "no token could be made in time"));
    });
    if (!taken) done(failure(ErrorCode::kRetry, "too many tokens wait to be made"));
  }

  void try_next() {
    while (tried < channels->endpoints().count()) {
      const size_t index = (first + tried++) % channels->endpoints().count();
      Result<Connection> connection = channels->get(index);
      if (!connection) {
        error = std::move(connection.error());
        continue;
      }
      auto attempt = std::make_shared<Attempt>();
      attempt->connection = std::move(*connection);
      auto ready = channels->prepare(attempt->context, method, request, deadline);
      if (!ready) {
        // nothing was sent, and the daemon that makes tokens may be there again soon
        const bool later =
            channels->endpoints().options().auth->create_waits_for() == WaitsFor::kDaemon;
        return done(failure(later ? ErrorCode::kRetry : ready.error().code, ready.error().text));
      }
      attempt->answer_key = std::move(*ready);
      attempt->request =
          to_buffer(tried == channels->endpoints().count() ? std::move(request) : request);
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
      channels->endpoints().prefer(index);
      const ContiguousBytes reply(attempt.reply);
      const Status own = check_answer(attempt.answer_key, reply.view(), attempt.signature(),
                                      attempt.connection.address);
      if (!own) return done(tl::unexpected<Error>(own.error()));
      return done(std::string(reply.view()));
    }
    error = attempt.connection.explain(status, attempt.context);
    if (error.code == ErrorCode::kUnreachable && tried < channels->endpoints().count())
      return start();
    const bool closed = channels->endpoints().options().tls == nullptr &&
                        status.error_message().find("Socket closed") != std::string::npos;
    if (closed && ask_why(attempt.connection)) return;
    done(tl::unexpected<Error>(std::move(error)));
  }
  [[nodiscard]] bool ask_why(const Connection& connection) {
    return question_work().post(0, [self = shared_from_this(), address = connection.address] {
      if (std::string why = why_closed(address); !why.empty()) self->error.text = std::move(why);
      self->done(tl::unexpected<Error>(std::move(self->error)));
    });
  }
};

}  // namespace

AsyncClient::AsyncClient(ClientOptions options)
    : channels_(std::make_shared<ClientChannels>(std::move(options))) {}

AsyncClient::~AsyncClient() = default;

std::shared_ptr<ClientChannels> AsyncClient::channels() const {
  const std::lock_guard lock(mutex_);
  return channels_;
}

bool AsyncClient::use_addresses(std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex_);
  ClientOptions options = channels_->endpoints().options();
  if (addresses == options.addresses) return false;
  options.addresses = std::move(addresses);
  channels_ = std::make_shared<ClientChannels>(std::move(options));
  return true;
}

void AsyncClient::call_raw(std::string_view method, std::string request, Duration timeout,
                           std::function<void(Result<std::string>)> done) {
  auto call = std::make_shared<AsyncCall>();
  call->channels = channels();
  call->method = method;
  call->request = std::move(request);
  call->deadline = deadline_after(timeout);
  call->done = std::move(done);
  call->first = call->channels->endpoints().preferred();
  call->start();
}

}  // namespace sluice::net
