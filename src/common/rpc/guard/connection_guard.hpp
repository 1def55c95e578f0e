// Looks at what gRPC reads of the connections that servers took and at what it sends there, and
// ends those whose peers send what would fill the memory (connection_frames.hpp). It stands between
// gRPC and recvmsg(), sendmsg(), close() and OpenSSL: the linker's --wrap puts it there
// (cmake/SluiceDependencies.cmake). Internal to rpc.
#pragma once

#include <sys/socket.h>

#include "common/rpc/guard/open_streams.hpp"

namespace sluice::net {

// From now until it is closed the descriptor is one that is looked at; on one with TLS, what it
// decrypts is. False: there is no room. Who gives connections to gRPC calls it right before, in the
// same thread.
[[nodiscard]] bool guard_connection(int fd, bool tls, const sockaddr_storage& peer);

// A valid token came on the connection. Nothing happens where it is looked at no more.
void trust_connection(int fd, Trust trust);

}  // namespace sluice::net
