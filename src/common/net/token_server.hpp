// Hands out auth/slurm tokens on a host: a daemon that can read the key listens on a Unix socket,
// and the kernel says which user is at the other end.
#pragma once

#include <memory>
#include <string>

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

struct TokenRequest {
  std::string digest;
  template <class V>
  static void describe(V&& field) {
    field(1, "digest", &TokenRequest::digest);
  }
};
struct TokenReply {
  std::string token;
  std::string problem;  // set when there is no token
  template <class V>
  static void describe(V&& field) {
    field(1, "token", &TokenReply::token);
    field(2, "problem", &TokenReply::problem);
  }
};

}  // namespace sluice::net
