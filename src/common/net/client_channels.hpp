// The client's addresses, its gRPC channels to them for calls with callbacks, and what each call needs. Internal to net.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/net/grpc_support.hpp"
#include "common/net/rpc_client.hpp"

namespace sluice::net {

struct Connection {
  std::string address;  // as configured
  std::string target;   // "ipv4:10.0.0.1:6817"
  std::shared_ptr<grpc::Channel> channel;

  [[nodiscard]] Error explain(const grpc::Status& status) const {
    return to_error(status, channel->GetState(false) == GRPC_CHANNEL_READY, address);
  }
};

class ClientChannels {
 public:
  explicit ClientChannels(ClientOptions options);

  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] size_t count() const { return options_.addresses.size(); }
  [[nodiscard]] size_t preferred() const { return preferred_; }  // the last one that answered
  void prefer(size_t index) { preferred_ = index; }

  // Makes the connection when there is none, or when the old one is known to be broken: gRPC would
  // refuse calls until its back-off is over. Errors: kUnreachable.
  [[nodiscard]] Result<Connection> get(size_t index);

  // A token for the request; empty where none is wanted. Errors: kAuthentication.
  [[nodiscard]] Result<std::string> token_for(std::string_view method, std::string_view request) const;
  // The same in the call's metadata, and its deadline.
  [[nodiscard]] Status prepare(grpc::ClientContext& context,
                               std::string_view method,
                               std::string_view request,
                               Time deadline) const;

 private:
  [[nodiscard]] std::shared_ptr<grpc::Channel> connect(const std::string& target) const;

  ClientOptions options_;
  std::atomic<size_t> preferred_{0};
  std::mutex mutex_;
  std::vector<Connection> connections_;
};

// When a call with this timeout ends; kNever for one without end.
[[nodiscard]] Time deadline_after(Duration timeout);

}  // namespace sluice::net
