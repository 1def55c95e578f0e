#include "common/rpc/tls_identity.hpp"

#include <ctime>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "common/base/errno_text.hpp"
#include "common/base/read_file.hpp"
#include "common/log/log.hpp"
#include "common/net/clock.hpp"
#include "common/net/crypto.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostFileBytes = 1 << 20;
constexpr int64_t kWarnBefore = 30 * INT64_C(86400);  // seconds

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

tl::unexpected<Error> bad(const std::string& path, std::string_view why) {
  return failure(ErrorCode::kInvalidConfig, fmt::format("TLS: {}: {}", path, why));
}

BioPtr reader(std::string_view text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all}; }

CertificatePtr first_certificate(std::string_view pem) {
  CertificatePtr out(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  return out;
}

// A key with a password is none that a daemon can use: it is not asked for one.
KeyPtr private_key(std::string_view pem) {
  KeyPtr out(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr), EVP_PKEY_free);
  ERR_clear_error();
  return out;
}

int64_t expiry_seconds(const X509* certificate) {
  std::tm when{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) != 1) return 0;
  return ::timegm(&when);
}

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::open(TlsFiles files, uint32_t owner) {
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
  const CertificatePtr own = first_certificate(*certificate);
  if (own == nullptr) return bad(files_.certificate, "it holds no certificate in PEM");
  const KeyPtr secret = private_key(*key);
  if (secret == nullptr) return bad(files_.key, "it holds no private key in PEM without a password");
  const bool fits = X509_check_private_key(own.get(), secret.get()) == 1;
  ERR_clear_error();
  if (!fits) return bad(files_.key, "it is not the key of " + files_.certificate);
  if (Status valid = trust_->check_chain(*certificate, {}); !valid) return bad(files_.certificate, valid.error().text);
  auto roots = trust_->roots();
  if (!roots) return tl::unexpected<Error>(std::move(roots.error()));
  expires_s_ = expiry_seconds(own.get());
  said_expired_ = false;
  const int64_t left = expires_s_ - to_seconds(now());
  if (left < kWarnBefore) {
    log::error("TLS: the certificate {} is valid until {}, {} days from now", files_.certificate, expiry_of(own.get()), left / 86400);
  } else {
    log::verbose("TLS: the certificate {} is valid until {}", files_.certificate, expiry_of(own.get()));
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
  log::error("TLS: the certificate {} has expired: nobody believes it any more", files_.certificate);
}

}  // namespace sluice::net
