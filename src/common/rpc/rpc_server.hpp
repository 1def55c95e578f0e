// A server of requests: methods by name, each with a described request and reply.
//
//   RpcServer server({.addresses = {"0.0.0.0:6817"}, .auth = auth});
//   server.handle<PingRequest, PingReply>([](const CallContext& context, PingRequest request,
//                                            Responder<PingReply> responder) { … });
//   server.start();
//
// Messages travel by gRPC (HTTP/2) as bytes of the wire codec under /sluice/NAME. Handlers run on
// gRPC's few threads and must not block: they post work and answer later through the Responder.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/time.hpp"
#include "common/auth/auth.hpp"
#include "common/net/method_name.hpp"
#include "common/rpc/admission.hpp"
#include "common/rpc/call_context.hpp"
#include "common/rpc/responder.hpp"
#include "common/rpc/tls_identity.hpp"

namespace sluice::net {

class RefusalLog;

struct ServerOptions {
  std::vector<std::string> addresses;  // "host:port" (port 0 picks one), "[::]:port", "unix:/path"
  // kController or the node's name: tokens made for another daemon are refused
  std::string receiver;
  std::shared_ptr<AuthProvider> auth;  // null: only methods that are open to anyone are served
  bool knows_nobody = false;           // without `auth` every method is open (tests only)
  // null: nothing is encrypted. Unix sockets are served in plain text
  std::shared_ptr<TlsIdentity> tls;
  uint32_t slurm_user = 0;
  // bytes, either way; of most methods requests are much shorter (MethodRules)
  size_t max_message = 64 << 20;
  size_t max_request = 64 << 20;  // of anybody
  int max_streams_per_connection = 1000;
  // at once, from the network; fewer where the process may have fewer descriptors
  size_t connections = 16'384;
  size_t connections_of_host = 4'096;  // of one address
  // bytes of what is on the way in and out; beyond it calls and connections are ended
  size_t memory = size_t{512} << 20;
  AdmissionLimits admission;
  // Asked for each proved request that is not root's or SlurmUser's, before it is read. May be
  // empty.
  std::function<Status(std::string_view method, uint32_t uid)> admit;
  size_t stream_high_water = 1 << 20;  // bytes kept for a slow reader before write() says kFull
  Duration keepalive = std::chrono::seconds(60);  // a silent client is probed this often; 0: never
  size_t stream_backlog = 64 << 20;               // bytes kept before the stream is ended
  // Each call when it is answered: who asked, and how long it took. On any thread.
  std::function<void(std::string_view method, uint32_t uid, Duration took)> on_answered;
  std::shared_ptr<RefusalLog> refusals;  // null: the server makes its own
};

enum class Access {
  kAuthenticated,  // a valid token is needed
  // a token is verified when there is one; without one the request is not read, and is an empty one
  kAnyone,
};

struct MethodRules {
  static constexpr size_t kUsualBytes = size_t{1} << 20;
  Access access = Access::kAuthenticated;
  size_t most_bytes = kUsualBytes;  // of a request of anybody but root and SlurmUser
  // its handler asks name services, reads files or plans: it runs among slow_work.hpp's
  bool slow = false;
};
// Of methods whose requests carry scripts, environments or blocks of files.
inline constexpr size_t kLongRequestBytes = size_t{48} << 20;
inline constexpr MethodRules kForAnyone{.access = Access::kAnyone};
inline constexpr MethodRules kLong{.most_bytes = kLongRequestBytes};
inline constexpr MethodRules kSlow{.slow = true};
inline constexpr MethodRules kLongAndSlow{.most_bytes = kLongRequestBytes, .slow = true};

// "JobId=17" where the request says which job it is about, "node n1" of a node that registers.
template <class Request>
[[nodiscard]] std::string subject_of(const Request& request) {
  if constexpr (requires { std::string_view(request.target); })
    return "JobId=" + std::string(std::string_view(request.target));
  else if constexpr (requires {
                       request.job == 0U;
                       std::to_string(request.job);
                     })
    return "JobId=" + std::to_string(request.job);
  else if constexpr (requires { std::to_string(request.id.job); })
    return "JobId=" + std::to_string(request.id.job);
  else if constexpr (requires {
                       request.hardware;
                       std::string_view(request.name);
                     })
    return "node " + request.name;
  else return {};
}

class RpcServer {
 public:
  template <class Request, class Reply>
  using Handler = std::function<void(const CallContext&, Request, Responder<Reply>)>;
  template <class Request, class Chunk>
  using StreamHandler = std::function<void(const CallContext&, Request, StreamWriter<Chunk>)>;
  using RawHandler = std::function<void(const CallContext&, std::string_view, RawResponder)>;
  using RawStreamHandler =
      std::function<void(const CallContext&, std::string_view, std::shared_ptr<StreamSink>)>;

  explicit RpcServer(ServerOptions options);
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  ~RpcServer();  // shuts down at once

  // All methods are added before start(). A name is added once.
  template <class Request, class Reply>
  void handle(std::string_view method, Handler<Request, Reply> handler, MethodRules rules = {}) {
    add_raw(method, rules,
            [handler = std::move(handler)](const CallContext& context, std::string_view bytes,
                                           RawResponder raw) {
              Result<Request> request = context.template decode<Request>(bytes);
              if (!request) return raw.fail(std::move(request.error()));
              raw.note_subject(subject_of(*request));
              Responder<Reply> responder(std::move(raw));
              handler(context, std::move(*request), std::move(responder));
            });
  }
  template <class Request, class Chunk>
  void handle_stream(std::string_view method, StreamHandler<Request, Chunk> handler,
                     MethodRules rules = {}) {
    add_raw_stream(
        method, rules,
        [handler = std::move(handler)](const CallContext& context, std::string_view bytes,
                                       std::shared_ptr<StreamSink> sink) {
          StreamSink& noted = *sink;
          StreamWriter<Chunk> writer(std::move(sink));
          Result<Request> request = context.template decode<Request>(bytes);
          if (!request) return writer.finish(tl::unexpected<Error>(request.error()));
          noted.note_subject(subject_of(*request));
          handler(context, std::move(*request), std::move(writer));
        });
  }
  // The same under the request's own name (method_name.hpp).
  template <class Request, class Reply>
  requires Answers<Reply, Request>
  void handle(std::type_identity_t<Handler<Request, Reply>> handler, MethodRules rules = {}) {
    handle<Request, Reply>(method_name<Request>(), std::move(handler), rules);
  }
  template <class Request, class Chunk>
  requires Answers<Chunk, Request>
  void handle_stream(std::type_identity_t<StreamHandler<Request, Chunk>> handler,
                     MethodRules rules = {}) {
    handle_stream<Request, Chunk>(method_name<Request>(), std::move(handler), rules);
  }
  void add_raw(std::string_view method, MethodRules rules, RawHandler handler);
  void add_raw_stream(std::string_view method, MethodRules rules, RawStreamHandler handler);

  // Listens on every address. Errors: kError naming the address that cannot be bound.
  Status start();

  // The port of the first address that has one; 0 before start().
  [[nodiscard]] int port() const;

  // Threads that run a handler at this moment.
  [[nodiscard]] uint32_t threads_at_work() const;

  // Stops taking calls, gives those that run up to `grace` to be answered, then cancels them.
  // Returns when no call is left. Called once.
  void shutdown(Duration grace = Duration(0));

  // Runs a unary method's handler in this process, without network and authentication: the caller
  // vouches for `context`. Errors (through the responder): kNotSupported for an unknown method.
  void dispatch(const CallContext& context, std::string_view method, std::string_view request,
                RawResponder responder) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::net
