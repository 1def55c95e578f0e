#include "common/rpc/guard/connection_guard.hpp"

#include <openssl/ssl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/rpc/guard/connection_frames.hpp"
#include "common/rpc/guard/flood_lines.hpp"
#include "common/rpc/guard/served_calls.hpp"
#include "common/rpc/guard/peer_name.hpp"

namespace sluice::net {
namespace {

struct Connection {
  Connection(bool encrypted, const sockaddr_storage& name) : tls(encrypted), peer(name) {}
  const bool tls;
  const sockaddr_storage peer;
  std::atomic<Trust> trust{Trust::kNobody};
  std::mutex mutex;
  ConnectionFrames frames;  // guarded by mutex: one thread reads while another one sends
};
using Shared = std::shared_ptr<Connection>;

// By descriptor. A place is made once and used again: close() may run between fork and exec, where
// nothing is freed, nor waited for.
struct Place {
  std::atomic<bool> is_guarded{false};
  std::mutex mutex;
  Shared connection;  // guarded by mutex; the last one that was here
};
constexpr size_t kMostDescriptors = 1U << 17;

// Null: there is no room for so high a descriptor.
std::atomic<Place*>* room_of(int fd) {
  // of the process, as descriptors are
  static std::array<std::atomic<Place*>, kMostDescriptors> places{};
  return fd >= 0 && static_cast<size_t>(fd) < places.size() ? &places[static_cast<size_t>(fd)]
                                                            : nullptr;
}

Place* place_of(int fd) {
  const std::atomic<Place*>* room = room_of(fd);
  Place* place = room == nullptr ? nullptr : room->load(std::memory_order_acquire);
  return place != nullptr && place->is_guarded.load(std::memory_order_acquire) ? place : nullptr;
}

Shared connection_of(int fd) {
  Place* place = place_of(fd);
  if (place == nullptr) return nullptr;
  const std::lock_guard lock(place->mutex);
  return place->connection;
}

// What this thread hands to gRPC, which makes the connection's part of OpenSSL at once.
Shared& handed_over() {
  static thread_local Shared connection;
  return connection;
}

void note(const Connection& connection, std::string_view why) {
  static FloodLines lines;
  if (const auto others = lines.next(steady_now()))
    log::error("the connection of {} was closed: {}{}", peer_name(connection.peer), why, *others);
}

// The parts of a message up to a size.
template <class Take>
void each_part(const msghdr& message, size_t size, Take&& take) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const size_t part = std::min(size, message.msg_iov[i].iov_len);
    take(std::string_view(static_cast<const char*>(message.msg_iov[i].iov_base), part));
    size -= part;
  }
}

// False: the connection is to be closed.
bool receive(Connection& connection, const msghdr& message, size_t size) {
  const size_t most = most_open(connection.trust.load(std::memory_order_relaxed), served_calls());
  const SteadyTime time = steady_now();
  std::string_view why;
  {
    const std::lock_guard lock(connection.mutex);
    each_part(message, size,
              [&](std::string_view bytes) { why = connection.frames.receive(bytes, time, most); });
  }
  if (!why.empty()) note(connection, why);
  return why.empty();
}

void sent(Connection& connection, const msghdr& message, size_t size) {
  const SteadyTime time = steady_now();
  const std::lock_guard lock(connection.mutex);
  each_part(message, size, [&](std::string_view bytes) { connection.frames.send(bytes, time); });
}

msghdr message_of(iovec& part) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return message;
}

// Of a connection with TLS: kept and let go with it.
int index_in_ssl() {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* kept, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<Shared*>(kept);
      });
  return index;
}

void keep_in(SSL* ssl, Shared connection) {
  if (index_in_ssl() < 0) return;
  auto kept = std::make_unique<Shared>(std::move(connection));
  if (SSL_set_ex_data(ssl, index_in_ssl(), kept.get()) == 1) (void)kept.release();
}

// Null: it is a client's.
Connection* connection_of(const SSL* ssl) {
  if (SSL_is_server(ssl) == 0 || index_in_ssl() < 0) return nullptr;
  const auto* kept = static_cast<Shared*>(SSL_get_ex_data(ssl, index_in_ssl()));
  return kept == nullptr ? nullptr : kept->get();
}

}  // namespace

bool guard_connection(int fd, bool tls, const sockaddr_storage& peer) {
  std::atomic<Place*>* room = room_of(fd);
  if (room == nullptr) return false;
  Place* place = room->load(std::memory_order_acquire);
  if (place == nullptr) room->store(place = new Place, std::memory_order_release);
  auto connection = std::make_shared<Connection>(tls, peer);
  handed_over() = tls ? connection : nullptr;
  {
    const std::lock_guard lock(place->mutex);
    place->connection = std::move(connection);
  }
  place->is_guarded.store(true, std::memory_order_release);
  return true;
}

void trust_connection(int fd, Trust trust) {
  if (const Shared connection = connection_of(fd))
    connection->trust.store(trust, std::memory_order_relaxed);
}

}  // namespace sluice::net

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
ssize_t __real_recvmsg(int fd, msghdr* message, int flags);
ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
int __real_close(int fd);
SSL* __real_SSL_new(SSL_CTX* context);
int __real_SSL_read(SSL* ssl, void* buffer, int size);
int __real_SSL_write(SSL* ssl, const void* buffer, int size);

ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t size = __real_recvmsg(fd, message, flags);
  if (size <= 0 || (flags & MSG_PEEK) != 0) return size;
  const auto connection = sluice::net::connection_of(fd);
  if (connection == nullptr || connection->tls) return size;
  if (sluice::net::receive(*connection, *message, static_cast<size_t>(size))) return size;
  ::shutdown(fd, SHUT_RDWR);
  errno = ECONNRESET;
  return -1;
}

ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t size = __real_sendmsg(fd, message, flags);
  if (size <= 0) return size;
  const auto connection = sluice::net::connection_of(fd);
  if (connection != nullptr && !connection->tls)
    sluice::net::sent(*connection, *message, static_cast<size_t>(size));
  return size;
}

int __wrap_close(int fd) {
  if (sluice::net::Place* place = sluice::net::place_of(fd))
    place->is_guarded.store(false, std::memory_order_release);
  return __real_close(fd);
}

SSL* __wrap_SSL_new(SSL_CTX* context) {
  SSL* ssl = __real_SSL_new(context);
  if (ssl != nullptr && sluice::net::handed_over() != nullptr)
    sluice::net::keep_in(ssl, std::exchange(sluice::net::handed_over(), nullptr));
  return ssl;
}

int __wrap_SSL_read(SSL* ssl, void* buffer, int size) {
  const int got = __real_SSL_read(ssl, buffer, size);
  if (got <= 0) return got;
  sluice::net::Connection* connection = sluice::net::connection_of(ssl);
  iovec part{buffer, static_cast<size_t>(got)};
  if (connection == nullptr ||
      sluice::net::receive(*connection, sluice::net::message_of(part), part.iov_len))
    return got;
  return -1;  // gRPC closes the connection on an error that it does not know
}

int __wrap_SSL_write(SSL* ssl, const void* buffer, int size) {
  const int done = __real_SSL_write(ssl, buffer, size);
  if (done <= 0) return done;
  sluice::net::Connection* connection = sluice::net::connection_of(ssl);
  iovec part{const_cast<void*>(buffer), static_cast<size_t>(done)};
  if (connection != nullptr)
    sluice::net::sent(*connection, sluice::net::message_of(part), part.iov_len);
  return done;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
