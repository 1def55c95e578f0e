#include "common/rpc/connection_guard.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>

#include "common/log/log.hpp"
#include "common/rpc/header_blocks.hpp"

namespace sluice::net {
namespace {

// By descriptor. A place is made once and used again: close() may run between fork and exec, where
// nothing is freed.
struct Place {
  std::atomic<bool> is_guarded{false};
  HeaderBlocks blocks;  // of the thread that reads the connection, one at a time
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

void note(std::string_view what) {
  static std::atomic<uint64_t> seen{0};
  const uint64_t count = ++seen;
  // a flood is not written down
  if ((count & (count - 1)) == 0)
    log::error("a connection was closed: {} ({} so far)", what, count);
}
constexpr std::string_view kTooLong = "its headers are longer than 64 KiB, or broken";

// What was read into the parts of the message.
bool read_all(HeaderBlocks& blocks, const msghdr& message, size_t size) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const size_t part = std::min(size, message.msg_iov[i].iov_len);
    if (!blocks.read({static_cast<const char*>(message.msg_iov[i].iov_base), part})) return false;
    size -= part;
  }
  return true;
}

// Of a connection with TLS: kept and freed with it.
HeaderBlocks* blocks_of(SSL* ssl) {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* kept, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<HeaderBlocks*>(kept);
      });
  if (index < 0) return nullptr;
  if (void* kept = SSL_get_ex_data(ssl, index)) return static_cast<HeaderBlocks*>(kept);
  auto made = std::make_unique<HeaderBlocks>();
  return SSL_set_ex_data(ssl, index, made.get()) == 1 ? made.release() : nullptr;
}

}  // namespace

bool guard_connection(int fd, bool tls) {
  if (tls) return true;  // by SSL_read()
  std::atomic<Place*>* room = room_of(fd);
  if (room == nullptr) return false;
  Place* place = room->load(std::memory_order_acquire);
  if (place == nullptr) room->store(place = new Place, std::memory_order_release);
  place->blocks = HeaderBlocks();
  place->is_guarded.store(true, std::memory_order_release);
  return true;
}

}  // namespace sluice::net

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
ssize_t __real_recvmsg(int fd, msghdr* message, int flags);
int __real_close(int fd);
int __real_SSL_read(SSL* ssl, void* buffer, int size);

ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t size = __real_recvmsg(fd, message, flags);
  if (size <= 0 || (flags & MSG_PEEK) != 0) return size;
  sluice::net::Place* place = sluice::net::place_of(fd);
  if (place == nullptr || sluice::net::read_all(place->blocks, *message, static_cast<size_t>(size)))
    return size;
  sluice::net::note(sluice::net::kTooLong);
  ::shutdown(fd, SHUT_RDWR);
  errno = ECONNRESET;
  return -1;
}

int __wrap_close(int fd) {
  if (sluice::net::Place* place = sluice::net::place_of(fd))
    place->is_guarded.store(false, std::memory_order_release);
  return __real_close(fd);
}

int __wrap_SSL_read(SSL* ssl, void* buffer, int size) {
  const int got = __real_SSL_read(ssl, buffer, size);
  if (got <= 0 || SSL_is_server(ssl) == 0) return got;
  sluice::net::HeaderBlocks* blocks = sluice::net::blocks_of(ssl);
  if (blocks == nullptr ||
      blocks->read({static_cast<const char*>(buffer), static_cast<size_t>(got)}))
    return got;
  sluice::net::note(sluice::net::kTooLong);
  return -1;  // gRPC closes the connection on an error that it does not know
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
