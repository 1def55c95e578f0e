// The certificate that a daemon shows, and its key. Both files may be replaced while it runs: the
// next connection gets the new ones, once they are whole, belong together, and are the CA's; until
// then the old ones stay. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/net/tls_config.hpp"

namespace sluice::net {

class TlsIdentity {
 public:
  // `owner`: the key may be this user's. Errors: kInvalidConfig naming the file and what is wrong
  // with it.
  [[nodiscard]] static Result<std::shared_ptr<TlsIdentity>> open(TlsFiles files,
                                                                 uint32_t owner = 0);
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  struct Pair {
    std::string certificate;  // PEM, with those between it and the CA
    std::string key;
    std::string roots;     // of the CA
    uint64_t version = 0;  // counts changes
  };
  // As the files are now.
  [[nodiscard]] Pair current();

 private:
  TlsIdentity(TlsFiles files, uint32_t owner) : files_(std::move(files)), owner_(owner) {}
  struct Stamps {
    FileStamp ca, certificate, key;
    friend bool operator==(const Stamps&, const Stamps&) = default;
  };
  [[nodiscard]] Stamps stamps() const;
  [[nodiscard]] Result<Pair> read();
  void watch_expiry();

  const TlsFiles files_;
  const uint32_t owner_;
  std::shared_ptr<TlsTrust> trust_;
  std::mutex mutex_;
  Stamps seen_;  // as last read, whether it could be used or not
  Pair pair_;
  int64_t expires_s_ = 0;
  bool said_expired_ = false;
};

}  // namespace sluice::net
