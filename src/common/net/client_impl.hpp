// What an RpcClient is made of. Internal to net.
#pragma once

#include <memory>

#include "common/net/client_channels.hpp"
#include "common/net/rpc_client.hpp"

namespace sluice::net {

struct RpcClient::Impl {
  explicit Impl(std::shared_ptr<ClientChannels> c) : channels(std::move(c)) {}
  std::shared_ptr<ClientChannels> channels;  // shared with the calls under way
};

}  // namespace sluice::net
