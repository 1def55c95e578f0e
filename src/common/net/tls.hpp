// Whom a client believes that speaks TLS: who shows a certificate which the site's CA has signed,
// which is valid now, and which names the daemon that was meant. OpenSSL is set up at the first
// use: where nothing is encrypted it costs nothing.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/types.h>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

struct ssl_session_st;  // SSL_SESSION

namespace sluice::net {

// Which file it was that was read: another one, or the same written again, differs.
struct FileStamp {
  uint64_t inode = 0;
  int64_t changed_ns = 0;
  int64_t bytes = -1;  // -1: it is not there
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path);

// Under which names the daemon `receiver` (kController, kAccountingDaemon or a node) at `address`
// may be certified: as "slurmctld", as "slurmdbd", a node by its name or as "slurmd", each by the
// host of its address, too. What names another is refused, though the CA has signed it.
[[nodiscard]] std::vector<std::string> certified_names(std::string_view receiver,
                                                       std::string_view address);

// The CA's file is read again when it has changed. A second connection to a peer goes on where the
// first one began, without the certificate: it was seen, and the tickets for that are in this
// process's memory alone. Thread-safe.
class TlsTrust {
 public:
  // Errors: kInvalidConfig naming the file and what is wrong with it.
  [[nodiscard]] static Result<std::shared_ptr<TlsTrust>> open(std::string ca_file);
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;

  // For a new connection, which is to check the name of its peer (check_names). Errors: as open().
  [[nodiscard]] Result<std::shared_ptr<SSL_CTX>> context();
  // The CA's certificates as in the file. Errors: as open().
  [[nodiscard]] Result<std::string> roots();
  // Whether `chain` (PEM, the peer's own certificate first) is one to believe. No names: whosever
  // it is. Errors: kAuthentication, as check_names and for what is not of this CA or not valid now.
  [[nodiscard]] Status check_chain(std::string_view chain, const std::vector<std::string>& names);

 private:
  friend struct TlsPeer;
  struct SessionEnd {
    void operator()(ssl_session_st* session) const;
  };
  using Session = std::unique_ptr<ssl_session_st, SessionEnd>;
  explicit TlsTrust(std::string ca_file) : ca_file_(std::move(ca_file)) {}
  [[nodiscard]] Status refresh();  // under mutex_

  const std::string ca_file_;
  std::mutex mutex_;
  FileStamp stamp_;
  std::string roots_;
  std::shared_ptr<SSL_CTX> context_;
  std::map<std::string, Session> sessions_;  // of context_, by the peer's name; each is used once
};

// To whom a connection goes. It has to be there as long as the connection's SSL is used.
struct TlsPeer {
  std::shared_ptr<TlsTrust> trust;
  std::shared_ptr<SSL_CTX> context;  // of trust
  std::string name;                  // address and the names that it may be certified under
  // Before the handshake: takes up the last session with this peer, where there is one, and keeps
  // those that come.
  void resume(SSL* tls);
  static int keep(SSL* tls, ssl_session_st* session);  // OpenSSL's callback
};

// Errors: kAuthentication for a certificate of somebody else.
[[nodiscard]] Status check_names(X509* certificate, const std::vector<std::string>& names);
// Why a certificate is not believed, in words; `code` is X509_V_ERR_….
[[nodiscard]] std::string why_not_valid(int code, const X509* certificate);
// "Jan  2 03:04:05 2027 GMT"
[[nodiscard]] std::string expiry_of(const X509* certificate);

}  // namespace sluice::net
