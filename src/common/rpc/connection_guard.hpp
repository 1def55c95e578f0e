// Looks at what gRPC reads of the connections that servers took, and ends those whose headers are
// too long (header_blocks.hpp). It stands between gRPC and recvmsg(), close() and SSL_read(): the
// linker's --wrap puts it there (cmake/SluiceDependencies.cmake). Internal to rpc.
#pragma once

namespace sluice::net {

// From now until it is closed the descriptor is one that is looked at; on one with TLS, what it
// decrypts is. False: there is no room. Who gives connections to gRPC calls it before gRPC reads.
[[nodiscard]] bool guard_connection(int fd, bool tls);

}  // namespace sluice::net
