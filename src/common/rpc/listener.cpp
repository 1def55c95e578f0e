#include "common/rpc/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "common/base/errno_text.hpp"
#include "common/log/log.hpp"
#include "common/os/back_off.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/guard/connection_guard.hpp"
#include "common/rpc/guard/flood_lines.hpp"
#include "common/rpc/guard/peer_name.hpp"

namespace sluice::net {
namespace {

// who has said nothing yet; beyond it the oldest go
constexpr size_t kMostWaiting = 1024;
constexpr Duration kFirstWord = std::chrono::seconds(10);  // until it is said
constexpr Duration kLastWord = std::chrono::seconds(2);    // for who was refused, to read why
constexpr Duration kNoRoom = std::chrono::milliseconds(50);
constexpr Duration kForOthersToGo = std::chrono::milliseconds(1);
constexpr int kMostAtOnce = 256;  // taken before those that wait are looked at again
// of those that ask nothing yet, given to gRPC at once: each costs it a fifth of a millisecond, and
// who opens thousands only to have them is not to hold up those who ask
constexpr int kMostIdleAtOnce = 16;
constexpr uint8_t kHandshake = 22;
// "protocol version", fatal, which is how one that speaks TLS says no.
constexpr std::array<uint8_t, 7> kAlert{21, 3, 3, 0, 2, 2, 70};

// Whether the first bytes of HTTP/2 have headers among them: a call. What speaks otherwise is not
// looked at by frames.
bool asks_something(int fd) {
  constexpr size_t kPreface = 24, kHead = 9;
  constexpr uint8_t kHeaders = 1;
  std::array<uint8_t, 512> bytes{};
  const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK);
  for (size_t at = kPreface; size > 0 && at + kHead <= static_cast<size_t>(size);) {
    if (bytes[at + 3] == kHeaders) return true;
    at += kHead + (static_cast<size_t>(bytes[at]) << 16 | static_cast<size_t>(bytes[at + 1]) << 8 |
                   bytes[at + 2]);
  }
  return false;
}

}  // namespace

class Listener::Impl {
 public:
  Impl(const ListeningSocket& socket, bool tls, std::shared_ptr<ConnectionQuota> quota)
      : listener_(socket.fd),
        port_(socket.port),
        tls_(tls),
        quota_(std::move(quota)),
        wake_(::eventfd(0, EFD_CLOEXEC)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (thread_.joinable()) {
      ::eventfd_write(wake_, 1);
      thread_.join();
    }
    for (const Peer& peer : peers_) ::close(peer.fd);
    ::close(wake_);
    ::close(listener_);
  }
  [[nodiscard]] int port() const { return port_; }
  void start(std::unique_ptr<Acceptor> server) {
    server_ = std::move(server);
    thread_ = std::thread([this] { run(); });
  }

 private:
  struct Peer {
    int fd = -1;
    SteadyTime until{};
    bool refused = false;
    sockaddr_storage name{};
    std::string host;
  };
  enum class Turn { kWaits, kHandedOver, kOver };

  void run() {
    std::vector<pollfd> watched;
    while (true) {
      watched.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
      SteadyTime next = kNoDeadline;
      for (const Peer& peer : peers_) {
        watched.push_back({peer.fd, POLLIN, 0});
        next = std::min(next, peer.until);
      }
      // EINTR
      if (::poll(watched.data(), watched.size(), next < kNoDeadline ? poll_timeout(next) : -1) < 0)
        continue;
      if (watched[0].revents != 0) return;
      idle_left_ = kMostIdleAtOnce;
      size_t at = 2;
      for (auto peer = peers_.begin(); peer != peers_.end(); ++at) {
        const bool ready = watched[at].revents != 0;
        const Turn turn = ready                         ? look_at(*peer)
                          : steady_now() >= peer->until ? Turn::kOver
                                                        : Turn::kWaits;
        if (turn == Turn::kOver) ::close(peer->fd);
        peer = turn == Turn::kWaits ? std::next(peer) : peers_.erase(peer);
      }
      if (watched[1].revents != 0) accept_some();
    }
  }

  void accept_some() {
    for (int i = 0; i < kMostAtOnce; ++i) {
      Peer peer;
      socklen_t size = sizeof peer.name;
      peer.fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&peer.name), &size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (peer.fd < 0 && (errno == EMFILE || errno == ENFILE)) std::this_thread::sleep_for(kNoRoom);
      if (peer.fd < 0) return;
      if (!is_within_quota(peer)) {
        ::close(peer.fd);
        continue;
      }
      const int one = 1;
      ::setsockopt(peer.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      peer.until = steady_now() + kFirstWord;
      const Turn turn = look_at(peer);  // its first word is mostly there already
      if (turn == Turn::kOver) ::close(peer.fd);
      else if (turn == Turn::kWaits) keep(std::move(peer));
    }
  }

  // Where too many wait the oldest of its own host goes, else the oldest of all.
  void keep(Peer peer) {
    peer.host = ConnectionQuota::host_of(peer.name);
    if (peers_.size() >= kMostWaiting) {
      auto gone = std::ranges::find(peers_, peer.host, &Peer::host);
      if (gone == peers_.end()) gone = peers_.begin();
      if (!gone->refused) quota_->send_away(gone->fd, kCrowdedHost);
      ::close(gone->fd);
      peers_.erase(gone);
    }
    peers_.push_back(std::move(peer));
  }

  bool is_within_quota(const Peer& peer) {
    const ConnectionQuota::Verdict verdict = quota_->take(peer.fd, peer.name);
    if (quota_->is_crowded(peer.fd)) std::this_thread::sleep_for(kForOthersToGo);
    switch (verdict) {
      case ConnectionQuota::Verdict::kTaken: return true;
      case ConnectionQuota::Verdict::kTooMany: note(peer, "there are too many connections"); break;
      case ConnectionQuota::Verdict::kTooManyOfHost:
        note(peer, "its host has too many connections");
        break;
    }
    return false;
  }

  Turn look_at(Peer& peer) {
    if (peer.refused) return drain(peer);
    uint8_t first = 0;
    const ssize_t size = ::recv(peer.fd, &first, 1, MSG_PEEK);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Turn::kWaits;
    if (size <= 0) return Turn::kOver;
    if (tls_ && first != kHandshake) return refuse(peer);
    const bool idle = tls_ || !asks_something(peer.fd);
    if (idle && idle_left_ == 0) return Turn::kWaits;
    if (idle) --idle_left_;
    if (!guard_connection(peer.fd, tls_, peer.name)) return Turn::kOver;
    Acceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_;
    connection.fd = peer.fd;
    server_->HandleNewConnection(&connection);
    return Turn::kHandedOver;
  }

  Turn refuse(Peer& peer) {
    note(peer, "it does not speak TLS, which TLSType asks for");
    (void)::send(peer.fd, kAlert.data(), kAlert.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(peer.fd, SHUT_WR);
    peer.refused = true;
    peer.until = steady_now() + kLastWord;
    return drain(peer);
  }
  // To close a socket with bytes that nobody read resets it, and the peer would lose the word that
  // was sent to it.
  static Turn drain(const Peer& peer) {
    std::array<char, 4096> bytes;
    ssize_t size = 0;
    for (int i = 0; i < 16; ++i) {
      size = ::recv(peer.fd, bytes.data(), bytes.size(), 0);
      if (size <= 0) break;
    }
    if (size > 0) return Turn::kWaits;
    return size < 0 && (errno == EAGAIN || errno == EINTR) ? Turn::kWaits : Turn::kOver;
  }
  void note(const Peer& peer, std::string_view why) {
    if (const auto others = lines_.next(steady_now()))
      log::error("{}{} was refused: {}{}", tls_ ? "TLS: " : "", peer_name(peer.name), why, *others);
  }

  const int listener_;
  const int port_;
  const bool tls_;
  const std::shared_ptr<ConnectionQuota> quota_;
  const int wake_;
  std::unique_ptr<Acceptor> server_;
  std::list<Peer> peers_;            // oldest first; those that were refused in between
  int idle_left_ = kMostIdleAtOnce;  // of this turn
  FloodLines lines_;
  std::thread thread_;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;
int Listener::port() const { return impl_->port(); }
void Listener::start(std::unique_ptr<Acceptor> server) { impl_->start(std::move(server)); }

Result<std::unique_ptr<Listener>> Listener::bind(const std::string& address,
                                                 const NumericAddress& numeric, bool tls,
                                                 std::shared_ptr<ConnectionQuota> quota) {
  auto bound = listen_at(numeric, address);
  if (!bound) return tl::unexpected<Error>(std::move(bound.error()));
  return std::unique_ptr<Listener>(
      new Listener(std::make_unique<Impl>(*bound, tls, std::move(quota))));
}

}  // namespace sluice::net
