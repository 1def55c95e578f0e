// OpenSSL's objects with an owner, and how they come of texts (PEM) and go into them. Internal to
// net and rpc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace sluice::net {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;
using TlsPtr = std::unique_ptr<SSL, FreedBy<SSL_free>>;

// Before the first use of TLS. Without what would take as long as a command has: the host's
// openssl.cnf, texts of errors, ciphers of other protocols, and a clean-up at the end of the
// process. No-op but for the first time.
void start_openssl();
// The texts of errors, for who has time.
void load_openssl_texts();

// All that stand there; none: it holds none.
[[nodiscard]] std::vector<CertificatePtr> certificates_in(std::string_view pem);
// Null: there is none, or one with a password, which nobody is asked for.
[[nodiscard]] KeyPtr private_key_in(std::string_view pem);

[[nodiscard]] BioPtr empty_text();  // to write to
[[nodiscard]] std::string text_in(BIO* bio);

// What OpenSSL has to say on the thread's last failure; empties its queue.
[[nodiscard]] std::string openssl_problem();

}  // namespace sluice::net
