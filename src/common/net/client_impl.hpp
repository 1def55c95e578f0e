// What an RpcClient is made of. Internal to net.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/net/client_channels.hpp"
#include "common/net/http2_connection.hpp"
#include "common/net/rpc_client.hpp"

namespace sluice::net {

struct RpcClient::Impl {
  explicit Impl(std::shared_ptr<ClientChannels> c) : channels(std::move(c)) {}
  std::shared_ptr<ClientChannels> channels;  // shared with the calls under way

  // A connection to the first address that answers, on which the call has been started.
  // Errors: kUnreachable, kAuthentication.
  struct Started {
    std::unique_ptr<Http2Connection> connection;
    size_t index = 0;  // of the address
  };
  [[nodiscard]] Result<Started> start(size_t index, std::string_view method, const std::string& request,
                                      Time deadline);
  // For the next call, which looks whether it is still good.
  void give_back(Started started);

 private:
  std::mutex mutex_;
  Started idle_;  // guarded by mutex_
};

}  // namespace sluice::net
