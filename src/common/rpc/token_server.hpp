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

#include <sys/types.h>

#include "common/auth/auth.hpp"
#include "common/auth/token.hpp"
#include "common/os/clock.hpp"

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
  // The same beside a process that has the lock and does not answer: its socket is replaced. Who
  // has the lock takes the place back when it finds out.
  [[nodiscard]] static Result<std::unique_ptr<TokenServer>> replace_silent(
      const std::string& path, std::shared_ptr<const TokenMaker> maker);
  TokenServer(const TokenServer&) = delete;
  TokenServer& operator=(const TokenServer&) = delete;
  ~TokenServer();  // removes the socket, unless another one is in its place
  // What is at the path is the socket that this one listens at.
  [[nodiscard]] bool is_in_place() const;

 private:
  class Impl;
  [[nodiscard]] static Result<std::unique_ptr<TokenServer>> listen(
      const std::string& path, int lock, std::shared_ptr<const TokenMaker> maker);
  explicit TokenServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Why this user's daemons cannot lock the socket at `path`: its lock file is another user's. Empty:
// it is not, or an agent, which is root and has the key, serves it.
[[nodiscard]] std::string foreign_token_lock(const std::string& path, uint32_t user);

// The process that serves the socket at `path` where it does not answer within `limit`; 0: it
// answers, or nobody is there.
[[nodiscard]] pid_t silent_server(const std::string& path, std::chrono::milliseconds limit,
                                  const std::stop_token& stop = {});

// A trouble that lasts is said when it begins, and once a minute from then on.
class LastingTrouble {
 public:
  [[nodiscard]] bool is_to_be_said(SteadyTime now) {
    if (now < next_) return false;
    next_ = now + std::chrono::minutes(1);
    return true;
  }
  void over() { next_ = {}; }

 private:
  SteadyTime next_{};
};

// Hands out tokens on this host while no other daemon does: when that one ends, one of the others
// takes its place within kTokenTakeover, or kNextTakeover when that one has gone, too. Who serves
// sees to it that its socket stays where it is; who waits, that it is answered there.
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
  using Lock = std::unique_lock<std::mutex>;
  void run(const std::stop_token& stop);
  void keep_in_place(Lock& lock, const std::stop_token& stop);
  void wait_for_turn(Lock& lock, const std::stop_token& stop);
  void try_to_serve();
  void take(std::unique_ptr<TokenServer> server);

  const AuthOptions options_;
  const std::shared_ptr<const TokenMaker> maker_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  // guarded by mutex_, as the next one; null: another daemon serves
  std::unique_ptr<TokenServer> server_;
  LastingTrouble trouble_;
  std::jthread thread_;  // last: it uses the others
};
inline constexpr std::chrono::milliseconds kTokenTakeover{500};
inline constexpr std::chrono::milliseconds kNextTakeover{5000};
inline constexpr std::chrono::milliseconds kTokenLook{1000};     // of who serves, at its socket
inline constexpr std::chrono::milliseconds kTokenSilence{5000};  // then another one serves

// Daemons of auth/slurm. Null for other kinds. Errors: an unusable key, a socket that cannot be
// made.
[[nodiscard]] Result<std::unique_ptr<TokenService>> serve_tokens(const AuthOptions& options);

}  // namespace sluice::net
