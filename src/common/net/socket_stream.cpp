#include "common/net/socket_stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/auth/openssl_objects.hpp"

namespace sluice::net {
namespace {

// OpenSSL's own BIO for sockets writes with write(2): a peer that went away would end a command by
// SIGPIPE.
BIO_METHOD* socket_method() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): BIO_new() takes it so
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) {
      const int fd = *static_cast<const int*>(BIO_get_data(bio));
      BIO_clear_retry_flags(bio);
      const ssize_t sent = ::send(fd, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
      return static_cast<int>(sent);
    });
    BIO_meth_set_read(made, [](BIO* bio, char* bytes, int size) {
      const int fd = *static_cast<const int*>(BIO_get_data(bio));
      BIO_clear_retry_flags(bio);
      const ssize_t got = ::recv(fd, bytes, static_cast<size_t>(size), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
      return static_cast<int>(got);
    });
    BIO_meth_set_ctrl(
        made, [](BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1L : 0L; });
    return made;
  }();
  return method;
}

// Why a handshake came to nothing that was not for want of time.
Status broken_handshake(SSL* tls, const std::string& address) {
  const long verdict = SSL_get_verify_result(tls);
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const auto refuse = [&](const std::string& why) {
    return failure(ErrorCode::kAuthentication, fmt::format("{}: {}", address, why));
  };
  if (verdict != X509_V_OK) {
    const std::string why =
        why_not_valid(static_cast<int>(verdict), SSL_get0_peer_certificate(tls));
    ERR_clear_error();
    return refuse(why);
  }
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_UNEXPECTED_MESSAGE ||
      reason == SSL_R_HTTP_REQUEST) {
    ERR_clear_error();
    return refuse(
        "speaks no TLS, which TLSType asks for here: nothing is sent to it in plain text");
  }
  if (code == 0)
    return failure(ErrorCode::kUnreachable,
                   fmt::format("{}: closed the connection before TLS was set up", address));
  return refuse("TLS: " + openssl_problem());
}

}  // namespace

SocketStream::~SocketStream() {
  if (tls_ != nullptr) {
    ERR_clear_error();
    if (SSL_is_init_finished(tls_) != 0) SSL_shutdown(tls_);
    SSL_free(tls_);
    ERR_clear_error();
  }
  ::close(fd_);
}

Status SocketStream::secure(const std::shared_ptr<TlsTrust>& trust,
                            const std::vector<std::string>& names, const std::string& address,
                            SteadyTime until) {
  auto context = trust->context();
  if (!context) return tl::unexpected<Error>(std::move(context.error()));
  peer_ = {trust, std::move(*context), fmt::format("{}/{}", address, fmt::join(names, ","))};
  tls_ = SSL_new(peer_.context.get());
  BIO* bio = tls_ != nullptr ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) return failure(ErrorCode::kAuthentication, "TLS: " + openssl_problem());
  peer_.resume(tls_);
  BIO_set_data(bio, &fd_);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_, bio, bio);
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(tls_);
    if (result == 1) break;
    const int wants = SSL_get_error(tls_, result);
    if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE)
      return broken_handshake(tls_, address);
    pollfd ready{fd_, static_cast<short>(wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    ::poll(&ready, 1, poll_timeout(until));
    if (steady_now() >= until) {
      // though bytes come: one that sends them drop by drop would never be done
      return failure(ErrorCode::kUnreachable,
                     fmt::format("{}: takes connections, but sets up no TLS", address));
    }
  }
  if (Status known = check_names(SSL_get0_peer_certificate(tls_), names); !known) {
    return failure(known.error().code, fmt::format("{}: {}", address, known.error().text));
  }
  return {};
}

ssize_t SocketStream::outcome(int result) {
  if (result > 0) return result;
  switch (SSL_get_error(tls_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default:
      ERR_clear_error();
      errno = ECONNRESET;
      return -1;
  }
}

ssize_t SocketStream::send(const void* bytes, size_t size) {
  if (tls_ == nullptr) return ::send(fd_, bytes, size, MSG_NOSIGNAL);
  ERR_clear_error();
  return outcome(SSL_write(tls_, bytes, static_cast<int>(size)));
}

ssize_t SocketStream::receive(void* bytes, size_t size) {
  if (tls_ == nullptr) return ::recv(fd_, bytes, size, 0);
  ERR_clear_error();
  return outcome(SSL_read(tls_, bytes, static_cast<int>(size)));
}

bool SocketStream::is_overheard() const { return tls_ == nullptr && leaves_host(fd_); }

bool SocketStream::is_resumed() const { return tls_ != nullptr && SSL_session_reused(tls_) == 1; }

bool SocketStream::holds_bytes() const { return tls_ != nullptr && SSL_pending(tls_) > 0; }

}  // namespace sluice::net
