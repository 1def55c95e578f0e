// TLS as gRPC takes it. Internal to rpc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "common/net/tls.hpp"
#include "common/rpc/tls_identity.hpp"

namespace sluice::net {

// For channels to who is certified under one of these names. Errors: as TlsTrust::roots.
[[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(
    std::shared_ptr<TlsTrust> trust, std::vector<std::string> names);

// Asked for the certificate at each connection. Who connects proves who it is by the token of each
// call.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> server_credentials(
    std::shared_ptr<TlsIdentity> identity);

}  // namespace sluice::net
