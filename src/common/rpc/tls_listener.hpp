// A port of a server that speaks TLS. It takes connections itself and looks at how they begin: who speaks plain text is told so in a word
// that any client of ours understands, and named in the log; the others are handed to gRPC. Internal to rpc.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/server_builder.h>

#include "common/base/result.hpp"
#include "common/net/address.hpp"

namespace sluice::net {

class TlsListener {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  // Nobody is let in before start(). Errors: kError, the address cannot be bound.
  [[nodiscard]] static Result<std::unique_ptr<TlsListener>> bind(const std::string& address, const NumericAddress& numeric);
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;
  ~TlsListener();  // before the server goes

  [[nodiscard]] int port() const;
  // `server` has started.
  void start(std::unique_ptr<Acceptor> server);

 private:
  class Impl;
  explicit TlsListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::net
