// A connected socket that does not block, with TLS on it or without. Internal to net.
#pragma once

#include <string>
#include <vector>

#include <openssl/types.h>
#include <sys/types.h>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/net/tls.hpp"

namespace sluice::net {

class SocketStream {
 public:
  explicit SocketStream(int fd) : fd_(fd) {}  // takes it over
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;
  ~SocketStream();

  // From here on all is encrypted, to a peer that `trust` believes to have one of `names`. Before
  // anything is sent. Errors: kUnreachable when it does not come about in time, kAuthentication
  // when the peer is not to be believed or speaks no TLS.
  [[nodiscard]] Status secure(const std::shared_ptr<TlsTrust>& trust,
                              const std::vector<std::string>& names, const std::string& address,
                              SteadyTime until);

  // Others can read what goes over it.
  [[nodiscard]] bool is_overheard() const;
  // By a session of an earlier connection, without a certificate.
  [[nodiscard]] bool is_resumed() const;

  [[nodiscard]] int fd() const { return fd_; }
  // As send(2) and recv(2): what was taken or came; 0: the end; -1 with errno, EAGAIN: poll(2).
  [[nodiscard]] ssize_t send(const void* bytes, size_t size);
  [[nodiscard]] ssize_t receive(void* bytes, size_t size);
  // There is more to receive, of which poll(2) knows nothing.
  [[nodiscard]] bool holds_bytes() const;

 private:
  [[nodiscard]] ssize_t outcome(int result);

  int fd_;  // its address is given to OpenSSL
  SSL* tls_ = nullptr;
  TlsPeer peer_;  // of tls_
};

}  // namespace sluice::net
