// A port of a server. It takes connections itself: gRPC's own listeners never take one again once
// the process was out of descriptors. A connection is handed to gRPC when its first byte is there;
// who says nothing is closed. On a port with TLS, who speaks plain text is told so in a word that
// any client of ours understands, and named in the log. Internal to rpc.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/server_builder.h>

#include "common/base/result.hpp"
#include "common/net/address.hpp"
#include "common/rpc/connection_quota.hpp"

namespace sluice::net {

class Listener {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  // Nobody is let in before start(), and no more than `quota` lets. Errors: kError, the address
  // cannot be bound.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> bind(
      const std::string& address, const NumericAddress& numeric, bool tls,
      std::shared_ptr<ConnectionQuota> quota);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();  // before the server goes

  [[nodiscard]] int port() const;
  // `server` has started.
  void start(std::unique_ptr<Acceptor> server);

 private:
  class Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::net
