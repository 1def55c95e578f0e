// The client's addresses, its gRPC channels to them for calls with callbacks, and what each call
// needs. Internal to rpc.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/net/client_endpoints.hpp"
#include "common/rpc/grpc_support.hpp"

namespace sluice::net {

struct Connection {
  std::string address;  // as configured
  std::string target;   // "ipv4:///10.0.0.1:6817"
  std::shared_ptr<grpc::Channel> channel;

  // Of a call that failed. Its peer is the channel's target until it has a connection, and then
  // the address, which is written in another way.
  [[nodiscard]] Error explain(const grpc::Status& status, const grpc::ClientContext& call) const {
    return to_error(from_grpc(status), call.peer() != target, address);
  }
};

class ClientChannels {
 public:
  explicit ClientChannels(ClientOptions options);

  [[nodiscard]] ClientEndpoints& endpoints() { return endpoints_; }

  // Makes the connection when there is none, or when the old one is known to be broken: gRPC would
  // refuse calls until its back-off is over. Errors: kUnreachable, and as TlsTrust::roots.
  [[nodiscard]] Result<Connection> get(size_t index);

  // Puts a token for the request, where one is wanted, into the call's metadata, and its deadline.
  // The key is that of the answer (check_answer). Errors: kAuthentication.
  [[nodiscard]] Result<std::string> prepare(grpc::ClientContext& context, std::string_view method,
                                            std::string_view request, SteadyTime deadline) const;

 private:
  [[nodiscard]] Result<std::shared_ptr<grpc::Channel>> connect(const Connection& to) const;

  ClientEndpoints endpoints_;
  std::mutex mutex_;
  std::vector<Connection> connections_;
};

}  // namespace sluice::net
