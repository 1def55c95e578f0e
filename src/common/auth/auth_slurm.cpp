#include "common/auth/auth_slurm.hpp"

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/back_off.hpp"
#include "common/os/host_name.hpp"
#include "common/os/clock.hpp"
#include "common/os/local_address.hpp"
#include "common/auth/crypto.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

constexpr int kAnswerSeconds = 5;
// A daemon that was killed leaves its socket behind, and another of the host takes its place within
// a second.
constexpr Duration kHandOver = std::chrono::seconds(2);
constexpr Duration kBetweenTries = std::chrono::milliseconds(50);

class KeyAuth final : public AuthProvider {
 public:
  KeyAuth(const ClusterKey& key, const std::string& cluster, Duration lifetime)
      : key_(key),
        maker_(key, cluster, short_host_name(), lifetime),
        verifier_(key, cluster, now(), lifetime) {}
  [[nodiscard]] std::string_view name() const override { return "auth/slurm"; }
  Result<std::string> create_token(const RequestDigest& digest) override {
    return maker_.make(::geteuid(), ::getegid(), digest.bytes, now());
  }
  Result<KeyedToken> create_keyed_token(const RequestDigest& digest) override {
    std::string token = maker_.make(::geteuid(), ::getegid(), digest.bytes, now(), true);
    std::string key = key_.answer_key(token);
    return KeyedToken{std::move(token), std::move(key)};
  }
  Result<Proof> open(std::string_view token) override { return verifier_.open(token, now()); }

 private:
  ClusterKey key_;
  TokenMaker maker_;
  TokenVerifier verifier_;
};

// Keeps its connection; one question at a time.
class SocketAuth final : public AuthProvider {
 public:
  SocketAuth(std::string path, bool own) : path_(std::move(path)), own_(own) {}
  ~SocketAuth() override { disconnect(); }
  [[nodiscard]] std::string_view name() const override { return "auth/slurm"; }

  Result<std::string> create_token(const RequestDigest& digest) override {
    auto reply = get({digest.bytes});
    if (!reply) return tl::unexpected<Error>(std::move(reply.error()));
    return std::move(reply->token);
  }
  Result<KeyedToken> create_keyed_token(const RequestDigest& digest) override {
    auto reply = get({digest.bytes, true});
    if (!reply) return tl::unexpected<Error>(std::move(reply.error()));
    if (reply->answer_key.empty()) {
      return failure(ErrorCode::kAuthentication,
                     "auth/slurm: the daemon that gives tokens at " + path_ +
                         " cannot have answers signed: it is of an earlier version");
    }
    return KeyedToken{std::move(reply->token), std::move(reply->answer_key)};
  }
  Result<Proof> open(std::string_view) override {
    return failure(ErrorCode::kAuthentication,
                   "auth/slurm: tokens cannot be verified without the cluster's key");
  }

 private:
  Result<TokenReply> get(const TokenRequest& request) {
    const std::string question = wire::encode(request);
    const std::lock_guard lock(mutex_);
    const SteadyTime until = steady_now() + kHandOver;
    bool kept = fd_ >= 0;
    Result<TokenReply> reply = ask(question);
    // the daemon was restarted since, or ended in the middle of it, and another takes its place
    while (!reply && may_change_hands(reply.error()) && steady_now() < until) {
      if (!std::exchange(kept, false)) std::this_thread::sleep_for(kBetweenTries);
      reply = ask(question);
    }
    if (reply && !reply->problem.empty()) {
      return failure(ErrorCode::kAuthentication, "auth/slurm: " + reply->problem);
    }
    return reply;
  }
  // A host without such a daemon has no socket, and is told so at once.
  bool may_change_hands(const Error& error) const {
    if (error.code != ErrorCode::kRetry) return false;
    if (problem_ == ENOENT) return ::access(path_.c_str(), F_OK) == 0;
    return problem_ == ECONNREFUSED || problem_ == ECONNRESET || problem_ == EPIPE;
  }
  tl::unexpected<Error> broken() {
    const int problem = problem_ = errno;
    disconnect();
    const std::string why = problem == EAGAIN && peer_ > 0
                                ? fmt::format("process {} does not answer", peer_)
                                : std::string(errno_text(problem));
    return failure(ErrorCode::kRetry, fmt::format("{} at {}: {}", kNoTokensText, path_, why));
  }
  Status connect() {
    const auto address = local_address(path_);
    if (!address) return broken();
    fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return broken();
    const timeval limit{.tv_sec = kAnswerSeconds, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const auto* generic = reinterpret_cast<const sockaddr*>(&*address);
    if (::connect(fd_, generic, sizeof *address) != 0) return broken();
    ucred peer{};
    peer_ = 0;
    socklen_t length = sizeof peer;
    if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return broken();
    peer_ = peer.pid;
    if (own_ && peer.uid != 0 && peer.uid != ::geteuid()) {
      disconnect();
      return failure(
          ErrorCode::kAuthentication,
          fmt::format("auth/slurm: who gives tokens at {} is user {}, not root: it is not believed",
                      path_, peer.uid));
    }
    return {};
  }
  Result<TokenReply> ask(const std::string& question) {
    if (fd_ < 0) {
      if (const Status connected = connect(); !connected) {
        return tl::unexpected<Error>(connected.error());
      }
    }
    if (::send(fd_, question.data(), question.size(), MSG_NOSIGNAL) < 0) return broken();
    char bytes[4096];
    // who is told to end is not to wait any longer
    const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
    if (size == 0) errno = ECONNRESET;
    if (size <= 0) return broken();
    return wire::decode<TokenReply>({bytes, static_cast<size_t>(size)});
  }
  void disconnect() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const std::string path_;
  const bool own_;
  std::mutex mutex_;
  int fd_ = -1;
  int problem_ = 0;  // errno of the last failure
  pid_t peer_ = 0;   // who gives the tokens
};

}  // namespace

std::shared_ptr<AuthProvider> make_key_auth(const ClusterKey& key, const std::string& cluster,
                                            Duration lifetime) {
  return std::make_shared<KeyAuth>(key, cluster, lifetime);
}

std::shared_ptr<AuthProvider> make_socket_auth(std::string socket_path, bool own) {
  return std::make_shared<SocketAuth>(std::move(socket_path), own);
}

}  // namespace sluice::net
