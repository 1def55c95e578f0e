// The daemons' client: calls and streams whose answers come by callback, on gRPC's threads. Its
// addresses, errors and promises are those of the client that waits (net/rpc_client.hpp). All
// functions are thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/net/client_endpoints.hpp"
#include "common/net/method_name.hpp"
#include "common/wire/instances.hpp"

namespace sluice::net {

class ClientChannels;

// Ends a stream; dropping it does too. No callback runs after cancel() or the destructor has
// returned, unless it is called from within one.
class StreamHandle {
 public:
  class Call;
  StreamHandle() = default;
  explicit StreamHandle(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  StreamHandle(StreamHandle&&) noexcept = default;
  StreamHandle& operator=(StreamHandle&& other) noexcept;
  ~StreamHandle();
  void cancel();

 private:
  std::shared_ptr<Call> call_;
};

class AsyncClient {
 public:
  explicit AsyncClient(ClientOptions options);
  AsyncClient(const AsyncClient&) = delete;
  AsyncClient& operator=(const AsyncClient&) = delete;
  ~AsyncClient();  // calls under way go on to their end

  // Calls from now on go to these addresses; those under way go on. False: they are the same.
  bool use_addresses(std::vector<std::string> addresses);

  // `done` runs exactly once, possibly before this returns.
  template <class Reply, class Request>
  void call(std::string_view method, const Request& request, Duration timeout,
            std::function<void(Result<Reply>)> done) {
    call_raw(method, wire::encode(request), timeout,
             [done = std::move(done)](Result<std::string> bytes) {
               done(bytes ? wire::decode<Reply>(*bytes)
                          : tl::unexpected<Error>(std::move(bytes.error())));
             });
  }
  template <class Reply, class Request>
  requires Answers<Reply, Request>
  void call(const Request& request, Duration timeout,
            std::type_identity_t<std::function<void(Result<Reply>)>> done) {
    call<Reply, Request>(method_name<Request>(), request, timeout, std::move(done));
  }

  // Opens a stream: `on_chunk` for each chunk, one at a time, then `on_end` once.
  template <class Chunk, class Request>
  [[nodiscard]] StreamHandle listen(std::string_view method, const Request& request,
                                    std::function<void(Chunk)> on_chunk,
                                    // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                    std::function<void(Status)> on_end) {
    return listen_raw(
        method, wire::encode(request),
        [on_chunk = std::move(on_chunk)](std::string_view bytes) -> Status {
          Result<Chunk> chunk = wire::decode<Chunk>(bytes);
          if (!chunk) return tl::unexpected<Error>(std::move(chunk.error()));
          on_chunk(std::move(*chunk));
          return {};
        },
        std::move(on_end));
  }
  template <class Chunk, class Request>
  requires Answers<Chunk, Request>
  [[nodiscard]] StreamHandle listen(const Request& request,
                                    std::type_identity_t<std::function<void(Chunk)>> on_chunk,
                                    std::function<void(Status)> on_end) {
    return listen<Chunk, Request>(method_name<Request>(), request, std::move(on_chunk),
                                  std::move(on_end));
  }

  // The same on bytes.
  void call_raw(std::string_view method, std::string request, Duration timeout,
                std::function<void(Result<std::string>)> done);
  StreamHandle listen_raw(std::string_view method, std::string request,
                          std::function<Status(std::string_view)> on_chunk,
                          std::function<void(Status)> on_end);

 private:
  [[nodiscard]] std::shared_ptr<ClientChannels> channels() const;

  mutable std::mutex mutex_;
  std::shared_ptr<ClientChannels> channels_;  // shared with the calls under way
};

}  // namespace sluice::net
