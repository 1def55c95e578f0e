// Hands out auth/slurm tokens on a host: a daemon that can read the key listens on a Unix socket,
// and the kernel says which user is at the other end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "common/auth/auth.hpp"
#include "common/auth/token.hpp"

namespace sluice::net {

// Listens until destroyed, on a thread of its own. Packets (SOCK_SEQPACKET), one described
// TokenRequest answered by one TokenReply; a connection may ask again and again.
class TokenServer {
 public:
  // `path` is replaced when it is a stale socket; anyone on the host may connect. `path`.lock is
  // held meanwhile. Errors: kPathMissing when the socket cannot be made, kDuplicateName when
  // another process serves it. The lock belongs to `owner` (SlurmUser) where this process is
  // root's, so that daemons of both can wait for it.
  [[nodiscard]] static Result<std::unique_ptr<TokenServer>> start(
      const std::string& path, std::shared_ptr<const TokenMaker> maker, uint32_t owner = 0);
  TokenServer(const TokenServer&) = delete;
  TokenServer& operator=(const TokenServer&) = delete;
  ~TokenServer();  // removes the socket

 private:
  class Impl;
  explicit TokenServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Hands out tokens on this host while no other daemon does: when that one ends, one of the others
// takes its place within kTokenTakeover, or kNextTakeover when that one has gone, too.
class TokenService {
 public:
  ~TokenService();
  TokenService(const TokenService&) = delete;
  TokenService& operator=(const TokenService&) = delete;
  [[nodiscard]] bool serves() const;

 private:
  friend Result<std::unique_ptr<TokenService>> serve_tokens(const AuthOptions& options);
  TokenService(AuthOptions options, std::shared_ptr<const TokenMaker> maker,
               std::unique_ptr<TokenServer> server);
  void wait_for_turn(const std::stop_token& stop);

  const AuthOptions options_;
  const std::shared_ptr<const TokenMaker> maker_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::unique_ptr<TokenServer> server_;  // guarded by mutex_; null: another daemon serves
  std::jthread waiting_;
};
inline constexpr std::chrono::milliseconds kTokenTakeover{500};
inline constexpr std::chrono::milliseconds kNextTakeover{5000};

// Daemons of auth/slurm. Null for other kinds. Errors: an unusable key, a socket that cannot be
// made.
[[nodiscard]] Result<std::unique_ptr<TokenService>> serve_tokens(const AuthOptions& options);

}  // namespace sluice::net
