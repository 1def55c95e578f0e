#include "common/rpc/tls_identity.hpp"

#include <ctime>

#include <fmt/format.h>
#include <openssl/err.h>

#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/openssl_objects.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostFileBytes = 1 << 20;
constexpr int64_t kWarnBefore = 30 * INT64_C(86400);  // seconds

tl::unexpected<Error> bad(const std::string& path, std::string_view why) {
  return failure(ErrorCode::kInvalidConfig, fmt::format("TLS: {}: {}", path, why));
}

int64_t expiry_seconds(const X509* certificate) {
  std::tm when{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) != 1) return 0;
  return ::timegm(&when);
}

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::open(TlsFiles files, uint32_t owner) {
  start_openssl();
  load_openssl_texts();  // gRPC shows them, too
  auto trust = TlsTrust::open(files.ca);
  if (!trust) return tl::unexpected<Error>(std::move(trust.error()));
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity(std::move(files), owner));
  identity->trust_ = std::move(*trust);
  identity->seen_ = identity->stamps();
  auto pair = identity->read();
  if (!pair) return tl::unexpected<Error>(std::move(pair.error()));
  identity->pair_ = std::move(*pair);
  return identity;
}

TlsIdentity::Stamps TlsIdentity::stamps() const {
  return {stamp_of(files_.ca), stamp_of(files_.certificate), stamp_of(files_.key)};
}

Result<TlsIdentity::Pair> TlsIdentity::read() {
  errno = 0;
  auto certificate = read_file(files_.certificate, kMostFileBytes);
  if (!certificate) return bad(files_.certificate, errno_text(errno));
  auto key = read_secret(files_.key, 1, kMostFileBytes, owner_);
  if (!key) return failure(ErrorCode::kInvalidConfig, "TLS: " + key.error().text);
  const std::vector<CertificatePtr> chain = certificates_in(*certificate);
  if (chain.empty()) return bad(files_.certificate, "it holds no certificate in PEM");
  X509* own = chain.front().get();
  const KeyPtr secret = private_key_in(*key);
  if (secret == nullptr)
    return bad(files_.key, "it holds no private key in PEM without a password");
  const bool fits = X509_check_private_key(own, secret.get()) == 1;
  ERR_clear_error();
  if (!fits) return bad(files_.key, "it is not the key of " + files_.certificate);
  if (Status valid = trust_->check_chain(*certificate, {}); !valid)
    return bad(files_.certificate, valid.error().text);
  auto roots = trust_->roots();
  if (!roots) return tl::unexpected<Error>(std::move(roots.error()));
  expires_s_ = expiry_seconds(own);
  said_expired_ = false;
  const int64_t left = expires_s_ - to_seconds(now());
  if (left < kWarnBefore) {
    log::error("TLS: the certificate {} is valid until {}, {} days from now", files_.certificate,
               expiry_of(own), left / 86400);
  } else {
    log::verbose("TLS: the certificate {} is valid until {}", files_.certificate, expiry_of(own));
  }
  return Pair{std::move(*certificate), std::move(*key), std::move(*roots), pair_.version + 1};
}

TlsIdentity::Pair TlsIdentity::current() {
  const std::lock_guard lock(mutex_);
  if (const Stamps fresh = stamps(); fresh != seen_) {
    seen_ = fresh;
    auto pair = read();
    if (pair) {
      pair_ = std::move(*pair);
      log::info("TLS: the certificate {} was renewed", files_.certificate);
    } else {
      log::error("{}; the certificate that was there before is still in use", pair.error().text);
    }
  }
  watch_expiry();
  return pair_;
}

void TlsIdentity::watch_expiry() {
  if (said_expired_ || to_seconds(now()) < expires_s_) return;
  said_expired_ = true;
  log::error("TLS: the certificate {} has expired: nobody believes it any more",
             files_.certificate);
}

}  // namespace sluice::net
