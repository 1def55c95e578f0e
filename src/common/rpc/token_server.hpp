// Hands out auth/slurm tokens on a host: a daemon that can read the key listens on a Unix socket,
// and the kernel says which user is at the other end.
#pragma once

#include <memory>
#include <string>

#include "common/net/auth.hpp"
#include "common/net/token.hpp"

namespace sluice::net {

// Listens until destroyed, on a thread of its own. Packets (SOCK_SEQPACKET), one described
// TokenRequest answered by one TokenReply; a connection may ask again and again.
class TokenServer {
 public:
  // `path` is replaced when it is a stale socket; anyone on the host may connect.
  // Errors: kPathMissing when the socket cannot be made, kDuplicateName when another process
  // serves it.
  [[nodiscard]] static Result<std::unique_ptr<TokenServer>> start(
      const std::string& path, std::shared_ptr<const TokenMaker> maker);
  TokenServer(const TokenServer&) = delete;
  TokenServer& operator=(const TokenServer&) = delete;
  ~TokenServer();  // removes the socket

 private:
  class Impl;
  explicit TokenServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Daemons of auth/slurm: hands out tokens on this host. Null for other kinds. Errors: an unusable key;
// kDuplicateName when another daemon of the host serves the socket already, which is as good.
[[nodiscard]] Result<std::unique_ptr<TokenServer>> serve_tokens(const AuthOptions& options);

}  // namespace sluice::net
